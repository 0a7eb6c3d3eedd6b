#include "stepslack/data/table_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stepslack/base/file.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TableSummaryTest, ColumnsAreCountedByKindAndReasonOfMissing) {
  const std::string path = testing::TempDir() + "summary.csv";
  ASSERT_TRUE(base::WriteFileAtomic(path, "x,t\n3,a\nERR,b\n,b\n1,N/A\n9,b\n1,c\n")
                  .has_value());
  const auto table = ReadTable(path);
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  const TableSummary summary = Summarize(*table);
  ASSERT_EQ(summary.columns.size(), 2u);
  const ColumnSummary& x = summary.columns[0];
  EXPECT_EQ(x.present, 4);
  EXPECT_EQ(x.distinct, 3);
  EXPECT_EQ(x.low, 1);
  EXPECT_EQ(x.median, 1);  // of 1 1 3 9 the lower middle
  EXPECT_EQ(x.high, 9);
  EXPECT_EQ(x.missing,
            (std::map<Missing, int64_t>{{Missing::kEmpty, 1}, {Missing::kFailed, 1}}));
  const ColumnSummary& t = summary.columns[1];
  EXPECT_EQ(t.distinct, 3);
  EXPECT_THAT(t.examples, ElementsAre("b (3)", "a (1)", "c (1)"));
  EXPECT_THAT(Describe(summary), HasSubstr("missing: 1 empty, 1 failed"));
  EXPECT_EQ(ToJson(summary)["columns"].AsArray()[1]["missing"]["not available"].AsInt(),
            1);
}

TEST(TableSummaryTest, TablesAreNoMaps) {
  const std::string folder = testing::TempDir() + "summary_folder";
  const std::string path = folder + "/a.csv";
  ASSERT_TRUE(base::WriteFileAtomic(path, "x\n1\n").has_value());
  EXPECT_FALSE(*HoldsMaps(folder));
  EXPECT_FALSE(*HoldsMaps(path));
}

}  // namespace
}  // namespace stepslack::data
