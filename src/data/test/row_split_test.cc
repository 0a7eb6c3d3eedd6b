#include "stepslack/data/row_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/data/split_file.h"

namespace stepslack::data {
namespace {

using testing::Contains;
using testing::HasSubstr;

// `groups` groups of `each` rows: ids g0_0, g0_1 ..; time = row; label = row % 2.
Table Sample(int groups, int each, bool backwards = false) {
  Table table;
  table.source = "t.csv";
  table.columns.resize(4);
  const char* names[] = {"id", "family", "time", "label"};
  const ColumnRole roles[] = {ColumnRole::kId, ColumnRole::kGroup, ColumnRole::kTime,
                              ColumnRole::kLabel};
  for (size_t c = 0; c < 4; ++c) {
    table.columns[c].name = names[c];
    table.columns[c].role = roles[c];
    table.columns[c].kind = c < 2 ? ColumnKind::kText : ColumnKind::kNumber;
  }
  table.rows = groups * each;
  for (int i = 0; i < groups * each; ++i) {
    const int row = backwards ? groups * each - 1 - i : i;
    const std::string group = "g" + std::to_string(row / each);
    const std::string texts[] = {group + "_" + std::to_string(row % each), group};
    for (size_t c = 0; c < 2; ++c) {
      table.columns[c].codes.push_back(static_cast<uint32_t>(i));
      table.columns[c].texts.push_back(texts[c]);
    }
    table.columns[2].numbers.push_back(row);
    table.columns[3].numbers.push_back(row % 2);
  }
  return table;
}

std::map<int, int> Sizes(const RowSplit& split) {
  std::map<int, int> sizes;
  for (const int part : split.part) ++sizes[part];
  return sizes;
}

std::string ErrorOf(const Table& table, const RowSplitOptions& options) {
  const auto split = SplitRows(table, options);
  return split.has_value() ? "" : split.error().id + " " + split.error().what;
}

TEST(RowSplitTest, GroupsStayWholeAndTheOrderOfRowsDoesNotMatter) {
  const auto split = SplitRows(Sample(20, 5), {.seed = 3});
  ASSERT_TRUE(split.has_value()) << base::Describe(split.error());
  EXPECT_EQ(Sizes(*split), (std::map<int, int>{{0, 65}, {1, 15}, {2, 20}}));
  std::map<std::string, std::set<int>> parts;
  for (size_t i = 0; i < split->items.size(); ++i) {
    parts[split->items[i].group].insert(split->part[i]);
  }
  for (const auto& [group, in] : parts) EXPECT_EQ(in.size(), 1u) << group;
  EXPECT_TRUE(split->warnings.empty());
  EXPECT_EQ(CsvOf(*split), CsvOf(*SplitRows(Sample(20, 5, true), {.seed = 3})));
  EXPECT_NE(CsvOf(*split), CsvOf(*SplitRows(Sample(20, 5), {.seed = 4})));
}

TEST(RowSplitTest, RandomRowsComeWithAWarning) {
  const auto split = SplitRows(Sample(20, 5), {.policy = RowPolicy::kRandom});
  EXPECT_EQ(Sizes(*split), (std::map<int, int>{{0, 65}, {1, 15}, {2, 20}}));
  EXPECT_THAT(split->warnings, Contains(HasSubstr("relatives")));
}

TEST(RowSplitTest, TheLatestRowsAreTheTest) {
  const auto split = SplitRows(Sample(4, 5), {.policy = RowPolicy::kTime});
  ASSERT_TRUE(split.has_value()) << base::Describe(split.error());
  for (size_t i = 0; i < split->items.size(); ++i) {
    const double time = split->items[i].time;  // 20 rows: 4 test, 3 validation
    EXPECT_EQ(split->part[i], time >= 16 ? 2 : time >= 13 ? 1 : 0) << time;
  }
  EXPECT_THAT(split->warnings, Contains(HasSubstr("2 of 4 groups")));
}

TEST(RowSplitTest, StrataHaveEqualSharesInEveryPart) {
  const auto split =
      SplitRows(Sample(20, 5), {.policy = RowPolicy::kStratified, .group = "row"});
  std::map<std::pair<int, std::string>, int> sizes;
  for (size_t i = 0; i < split->items.size(); ++i) {
    ++sizes[{split->part[i], split->items[i].stratum}];
  }
  EXPECT_EQ((sizes[{2, "0"}]), 10);
  EXPECT_EQ((sizes[{2, "1"}]), 10);
  EXPECT_FALSE(split->warnings.empty());
}

TEST(RowSplitTest, FoldsAreReadBackAndEveryRowIsTestedOnce) {
  const auto split = SplitRows(Sample(9, 2), {.policy = RowPolicy::kKFold, .folds = 3});
  ASSERT_TRUE(split.has_value()) << base::Describe(split.error());
  for (const std::string name : {"folds.csv", "folds.json"}) {
    const std::string path = testing::TempDir() + name;
    const std::string text =
        name == "folds.csv" ? CsvOf(*split) : ToJson(*split).Dump();
    ASSERT_TRUE(base::WriteFileAtomic(path, text).has_value());
    const auto file = ReadSplitFile(path);
    ASSERT_TRUE(file.has_value()) << base::Describe(file.error());
    std::set<std::string> tested;
    for (int fold = 0; fold < 3; ++fold) {
      const auto division = DivisionOf(*file, fold);
      ASSERT_TRUE(division.has_value());
      for (const auto& [part, ids] : division->parts) EXPECT_EQ(ids.size(), 6u) << part;
      for (const auto& id : division->parts.at("test")) tested.insert(id);
    }
    EXPECT_EQ(tested.size(), 18u);
    EXPECT_EQ(DivisionOf(*file, 0)->parts.at("test"), file->parts.at("test"));
    EXPECT_EQ(DivisionOf(*file, 3).error().id, "DATA-0334");
  }
}

TEST(RowSplitTest, TooFewGroupsAndWrongOptionsAreRefused) {
  EXPECT_THAT(ErrorOf(Sample(2, 9), {}), HasSubstr("DATA-0345 there are 2 groups"));
  EXPECT_THAT(ErrorOf(Sample(4, 9), {.policy = RowPolicy::kKFold}),
              HasSubstr("there are 4 groups, but 5 folds"));
  EXPECT_THAT(ErrorOf(Sample(4, 9), {.group = "famly"}), HasSubstr("DATA-0340"));
  EXPECT_THAT(ErrorOf(Sample(4, 9), {.test = 1.0}), HasSubstr("DATA-0342"));
  Table plain = Sample(4, 9);
  for (Column& column : plain.columns) column.role = ColumnRole::kFeature;
  EXPECT_THAT(ErrorOf(plain, {}), HasSubstr("DATA-0343"));
  Table same = Sample(4, 9);
  same.columns[0].codes[1] = 0;
  EXPECT_THAT(ErrorOf(same, {}), HasSubstr("DATA-0341 1 rows"));
}

TEST(RowSplitTest, RowNumbersAreIdsWithoutAnIdColumn) {
  Table table = Sample(12, 1);
  table.columns[0].role = ColumnRole::kFeature;
  const auto split = SplitRows(table, {});
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->items[0].id, "0");
  EXPECT_EQ(split->items[2].id, "2");
  EXPECT_EQ(split->items[11].id, "11");
  EXPECT_THAT(split->notes, Contains(HasSubstr("row numbers")));
}

}  // namespace
}  // namespace stepslack::data
