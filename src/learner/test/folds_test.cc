#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "stepslack/learner/learner.h"

namespace stepslack::learner {
namespace {

TEST(Folds, AGroupStaysTogetherAndFoldsAreBalanced) {
  std::vector<int64_t> group;
  for (int64_t g = 0; g < 12; ++g) group.insert(group.end(), 5, g * 1000 - 3);
  const std::vector<int> fold = FoldsByGroup(group, 4, 7);
  std::map<int64_t, int> of;
  std::vector<int> size(4, 0);
  for (size_t i = 0; i < group.size(); ++i) {
    EXPECT_EQ(of.emplace(group[i], fold[i]).first->second, fold[i]);
    ++size[static_cast<size_t>(fold[i])];
  }
  EXPECT_EQ(size, (std::vector<int>{15, 15, 15, 15}));
}

TEST(Folds, OrderOfRowsDoesNotMoveAGroup) {
  const std::vector<int64_t> group = {4, 4, 9, 1, 1, 1, 7};
  std::vector<int64_t> reversed(group.rbegin(), group.rend());
  std::vector<int> fold = FoldsByGroup(group, 2, 3);
  std::vector<int> back = FoldsByGroup(reversed, 2, 3);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(fold, back);
}

TEST(Folds, SeedMovesGroups) {
  std::vector<int64_t> group(40);
  for (size_t i = 0; i < group.size(); ++i) group[i] = static_cast<int64_t>(i);
  EXPECT_NE(FoldsByGroup(group, 4, 1), FoldsByGroup(group, 4, 2));
}

TEST(Folds, RandomFoldsDifferInSizeByOneAtMost) {
  const std::vector<int> fold = RandomFolds(11, 3, 1);
  std::vector<int64_t> size;
  for (int k = 0; k < 3; ++k) size.push_back(std::count(fold.begin(), fold.end(), k));
  EXPECT_EQ(size, (std::vector<int64_t>{4, 4, 3}));
  EXPECT_NE(fold, RandomFolds(11, 3, 2));
}

}  // namespace
}  // namespace stepslack::learner
