#include "stepslack/base/merkle_log.h"

#include <bit>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/digest.h"

namespace stepslack::base {
namespace {

using Digests = std::span<const MerkleDigest>;

std::string RawSha256(std::string_view bytes) { return *BytesOfHex(Sha256Of(bytes)); }

// Largest power of two below n >= 2. The recursions below halve, so their depth is at
// most the bits of a size.
size_t SplitOf(size_t n) { return std::bit_floor(n - 1); }

void AppendPath(Digests leaves, size_t index, std::vector<MerkleDigest>& path) {
  if (leaves.size() < 2) return;
  const size_t k = SplitOf(leaves.size());
  if (index < k) {
    AppendPath(leaves.first(k), index, path);
    path.push_back(MerkleRoot(leaves.subspan(k)));
  } else {
    AppendPath(leaves.subspan(k), index - k, path);
    path.push_back(MerkleRoot(leaves.first(k)));
  }
}

// SUBPROOF of RFC 6962: `known` says that the verifier holds the root of these leaves.
void AppendSubproof(Digests leaves, size_t old_size, bool known,
                    std::vector<MerkleDigest>& proof) {
  if (old_size == leaves.size()) {
    if (!known) proof.push_back(MerkleRoot(leaves));
    return;
  }
  const size_t k = SplitOf(leaves.size());
  if (old_size <= k) {
    AppendSubproof(leaves.first(k), old_size, known, proof);
    proof.push_back(MerkleRoot(leaves.subspan(k)));
  } else {
    AppendSubproof(leaves.subspan(k), old_size - k, false, proof);
    proof.push_back(MerkleRoot(leaves.first(k)));
  }
}

}  // namespace

MerkleDigest MerkleLeaf(std::string_view entry) {
  return RawSha256(std::string(1, '\0') + std::string(entry));
}

MerkleDigest MerkleNode(std::string_view left, std::string_view right) {
  return RawSha256('\1' + std::string(left) + std::string(right));
}

MerkleDigest MerkleRoot(std::span<const MerkleDigest> leaves) {
  if (leaves.empty()) return RawSha256("");
  if (leaves.size() == 1) return leaves.front();
  const size_t k = SplitOf(leaves.size());
  return MerkleNode(MerkleRoot(leaves.first(k)), MerkleRoot(leaves.subspan(k)));
}

std::optional<std::vector<MerkleDigest>> InclusionProof(
    std::span<const MerkleDigest> leaves, size_t index) {
  if (index >= leaves.size()) return std::nullopt;
  std::vector<MerkleDigest> path;
  AppendPath(leaves, index, path);
  return path;
}

// RFC 9162, section 2.1.3.2.
bool VerifyInclusion(const MerkleDigest& leaf, size_t index, size_t size,
                     std::span<const MerkleDigest> proof, const MerkleDigest& root) {
  if (index >= size) return false;
  size_t at = index;
  size_t last = size - 1;
  MerkleDigest digest = leaf;
  for (const MerkleDigest& sibling : proof) {
    if (last == 0) return false;
    if ((at & 1) == 1 || at == last) {
      digest = MerkleNode(sibling, digest);
      while ((at & 1) == 0 && at != 0) {
        at >>= 1;
        last >>= 1;
      }
    } else {
      digest = MerkleNode(digest, sibling);
    }
    at >>= 1;
    last >>= 1;
  }
  return last == 0 && digest == root;
}

std::optional<std::vector<MerkleDigest>> ConsistencyProof(
    std::span<const MerkleDigest> leaves, size_t old_size) {
  if (old_size == 0 || old_size > leaves.size()) return std::nullopt;
  std::vector<MerkleDigest> proof;
  AppendSubproof(leaves, old_size, true, proof);
  return proof;
}

// RFC 9162, section 2.1.4.2.
bool VerifyConsistency(size_t old_size, const MerkleDigest& old_root, size_t new_size,
                       const MerkleDigest& new_root,
                       std::span<const MerkleDigest> proof) {
  if (old_size == 0 || old_size > new_size) return false;
  if (old_size == new_size) return proof.empty() && old_root == new_root;
  size_t at = old_size - 1;
  size_t last = new_size - 1;
  while ((at & 1) == 1) {
    at >>= 1;
    last >>= 1;
  }
  const bool old_is_complete = std::has_single_bit(old_size);
  if (proof.empty() && !old_is_complete) return false;
  MerkleDigest of_old = old_is_complete ? old_root : proof.front();
  MerkleDigest of_new = of_old;
  for (const MerkleDigest& sibling : proof.subspan(old_is_complete ? 0 : 1)) {
    if (last == 0) return false;
    if ((at & 1) == 1 || at == last) {
      of_old = MerkleNode(sibling, of_old);
      of_new = MerkleNode(sibling, of_new);
      while ((at & 1) == 0 && at != 0) {
        at >>= 1;
        last >>= 1;
      }
    } else {
      of_new = MerkleNode(of_new, sibling);
    }
    at >>= 1;
    last >>= 1;
  }
  return last == 0 && of_old == old_root && of_new == new_root;
}

std::string FirstChainHead() { return std::string(32, '\0'); }

std::string NextChainHead(std::string_view head, std::string_view entry) {
  return RawSha256(std::string(head) + RawSha256(entry));
}

}  // namespace stepslack::base
