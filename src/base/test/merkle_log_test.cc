#include "stepslack/base/merkle_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "stepslack/base/byte_text.h"

namespace stepslack::base {
namespace {

std::vector<MerkleDigest> Leaves(size_t count) {
  std::vector<MerkleDigest> leaves;
  for (size_t i = 0; i < count; ++i) leaves.push_back(MerkleLeaf(std::to_string(i)));
  return leaves;
}

TEST(MerkleRoot, SplitsAtTheLargestPowerOfTwoBelow) {
  const auto l = Leaves(3);
  EXPECT_EQ(MerkleRoot(l), MerkleNode(MerkleNode(l[0], l[1]), l[2]));
  EXPECT_EQ(HexOf(MerkleRoot({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(MerkleLeaf, IsNeverANode) {
  const auto l = Leaves(2);
  EXPECT_NE(MerkleLeaf(l[0] + l[1]), MerkleNode(l[0], l[1]));
}

RC_GTEST_PROP(InclusionProof, HoldsForItsLeafAndPlaceOnly, ()) {
  const auto size = *rc::gen::inRange<size_t>(1, 40);
  const auto index = *rc::gen::inRange<size_t>(0, size);
  const auto leaves = Leaves(size);
  const auto proof = InclusionProof(leaves, index);
  RC_ASSERT(proof.has_value());
  const auto root = MerkleRoot(leaves);
  RC_ASSERT(VerifyInclusion(leaves[index], index, size, *proof, root));
  RC_ASSERT(!VerifyInclusion(MerkleLeaf("other"), index, size, *proof, root));
  for (size_t other = 0; other < size; ++other) {
    if (other == index) continue;
    RC_ASSERT(!VerifyInclusion(leaves[index], other, size, *proof, root));
  }
}

RC_GTEST_PROP(ConsistencyProof, HoldsForPrefixesOnly, ()) {
  const auto size = *rc::gen::inRange<size_t>(2, 40);
  const auto old_size = *rc::gen::inRange<size_t>(1, size);
  auto leaves = Leaves(size);
  const auto old_root = MerkleRoot(std::span(leaves).first(old_size));
  const auto good = ConsistencyProof(leaves, old_size);
  RC_ASSERT(VerifyConsistency(old_size, old_root, size, MerkleRoot(leaves), *good));
  leaves[*rc::gen::inRange<size_t>(0, old_size)] = MerkleLeaf("rewritten");
  const auto forged = ConsistencyProof(leaves, old_size);
  const auto root = MerkleRoot(leaves);
  RC_ASSERT(!VerifyConsistency(old_size, old_root, size, root, *forged));
  RC_ASSERT(!VerifyConsistency(old_size, old_root, size, root, *good));
}

TEST(MerkleProofs, DoNotExistOutsideTheTree) {
  const auto l = Leaves(3);
  EXPECT_FALSE(InclusionProof(l, 3).has_value());
  EXPECT_FALSE(ConsistencyProof(l, 0).has_value());
  EXPECT_FALSE(ConsistencyProof(l, 4).has_value());
  EXPECT_FALSE(VerifyInclusion(l[0], 0, 0, {}, l[0]));
  EXPECT_FALSE(VerifyConsistency(3, MerkleRoot(l), 2, MerkleRoot(l), {}));
}

TEST(NextChainHead, DependsOnTheOrderOfEntries) {
  const auto ab = NextChainHead(NextChainHead(FirstChainHead(), "a"), "b");
  const auto ba = NextChainHead(NextChainHead(FirstChainHead(), "b"), "a");
  EXPECT_EQ(ab.size(), 32U);
  EXPECT_NE(ab, ba);
}

}  // namespace
}  // namespace stepslack::base
