// Append-only logs that prove what they hold: the Merkle tree of RFC 6962 (Certificate
// Transparency), section 2.1, and a plain hash chain. Digests are 32 raw bytes of
// SHA-256; entries are any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::base {

using MerkleDigest = std::string;

MerkleDigest MerkleLeaf(std::string_view entry);  // SHA256(00 || entry)
MerkleDigest MerkleNode(std::string_view left, std::string_view right);  // 01 || l || r
// Root over leaf digests; of none: SHA256 of nothing.
MerkleDigest MerkleRoot(std::span<const MerkleDigest> leaves);

// Audit path of leaf `index`, lowest sibling first. Nothing when index is out of range.
std::optional<std::vector<MerkleDigest>> InclusionProof(
    std::span<const MerkleDigest> leaves, size_t index);
bool VerifyInclusion(const MerkleDigest& leaf, size_t index, size_t size,
                     std::span<const MerkleDigest> proof, const MerkleDigest& root);

// Proof that the tree of the first `old_size` leaves is a prefix of the whole. Nothing
// unless 0 < old_size <= leaves.size().
std::optional<std::vector<MerkleDigest>> ConsistencyProof(
    std::span<const MerkleDigest> leaves, size_t old_size);
bool VerifyConsistency(size_t old_size, const MerkleDigest& old_root, size_t new_size,
                       const MerkleDigest& new_root,
                       std::span<const MerkleDigest> proof);

// Next head of a chain: SHA256(head || SHA256(entry)). The first head is 32 zero bytes.
std::string NextChainHead(std::string_view head, std::string_view entry);
std::string FirstChainHead();

}  // namespace stepslack::base
