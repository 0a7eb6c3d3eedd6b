#include "stepslack/audit/duplicate_search.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "stepslack/audit/row_hash.h"
#include "stepslack/base/random.h"

namespace stepslack::audit {
namespace {

std::vector<std::vector<int64_t>> Lists(const DuplicateGroups& groups) {
  std::vector<std::vector<int64_t>> out;
  for (int64_t i = 0; i < groups.count(); ++i) {
    const auto group = groups.Group(i);
    out.emplace_back(group.begin(), group.end());
  }
  return out;
}

TEST(DuplicateSearch, GroupsAreThoseOfAPlainMapWithAndWithoutSpilling) {
  base::Random random(3);
  std::vector<uint64_t> hashes(20000);
  for (uint64_t& h : hashes) h = random.Below(15000) * 0x9e3779b97f4a7c15ULL;
  std::map<uint64_t, std::vector<int64_t>> naive;
  for (size_t i = 0; i < hashes.size(); ++i) naive[hashes[i]].push_back(int64_t(i));
  std::map<int64_t, std::vector<int64_t>> expected;
  for (const auto& [hash, rows] : naive) {
    if (rows.size() > 1) expected[rows.front()] = rows;
  }
  DuplicateSearch large;
  ASSERT_TRUE(large.Add(hashes).has_value());
  const auto in_memory = large.Finish();
  ASSERT_TRUE(in_memory.has_value());
  const auto lists = Lists(*in_memory);
  ASSERT_EQ(lists.size(), expected.size());
  size_t at = 0;
  for (const auto& [first, rows] : expected) EXPECT_EQ(lists[at++], rows);
  EXPECT_EQ(in_memory->distinct, int64_t(naive.size()));
  EXPECT_EQ(in_memory->spilled_bytes, 0);

  DuplicateSearch small(1 << 16);
  for (size_t i = 0; i < hashes.size(); i += 1000) {
    ASSERT_TRUE(small.Add(std::span(hashes).subspan(i, 1000)).has_value());
  }
  const auto spilled = small.Finish(2);
  ASSERT_TRUE(spilled.has_value());
  EXPECT_GT(spilled->spilled_bytes, 0);
  EXPECT_EQ(Lists(*spilled), lists);
}

TEST(DuplicateSearch, AnEqualHashOfAnotherRowIsNoDuplicate) {
  DuplicateSearch search;
  const std::vector<uint64_t> hashes = {7, 7, 7, 0, 1};
  ASSERT_TRUE(search.Add(hashes).has_value());
  const auto found =
      search.Finish(1, [](int64_t a, int64_t b) { return a % 2 == b % 2; });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Lists(*found), (std::vector<std::vector<int64_t>>{{0, 2}}));
  EXPECT_EQ(found->distinct, 4);
  EXPECT_EQ(found->collisions, 5);  // of hash 7 and of hash 1, which stands for 0 too
}

TEST(RowHash, RowsOfAMatrixAreFoundByTheirBytes) {
  const std::vector<float> values = {1, 2, 3, 1, 2, 4, 1, 2, 3, -0.0F, 0, 0, 0, 0, 0};
  const auto found = FindDuplicateRows(values, 3, 2);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Lists(*found), (std::vector<std::vector<int64_t>>{{0, 2}}));
}

TEST(RowHash, CanonicalCellsForgetRoundingAndCase) {
  data::Table table;
  table.rows = 3;
  data::Column number{.name = "x", .numbers = {1.23456789, 1.23456791, -0.0}};
  data::Column text{.name = "t",
                    .kind = data::ColumnKind::kText,
                    .codes = {0, 1, 0},
                    .texts = {"AND2 ", "and2"}};
  table.columns = {number, text};
  const std::vector<int64_t> columns = {0, 1};
  const auto exact = HashRows(table, columns, CellForm::kExact);
  EXPECT_NE(exact[0], exact[1]);
  const auto canonical = HashRows(table, columns, CellForm::kCanonical);
  EXPECT_EQ(canonical[0], canonical[1]);
  EXPECT_NE(canonical[0], canonical[2]);
  EXPECT_TRUE(SameRow(table, columns, CellForm::kCanonical, 0, 1));
  EXPECT_FALSE(SameRow(table, columns, CellForm::kExact, 0, 1));
}

}  // namespace
}  // namespace stepslack::audit
