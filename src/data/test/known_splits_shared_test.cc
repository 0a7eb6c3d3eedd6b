// Divisions and rules on the kept tables, against what their index says about them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/data/row_split.h"
#include "stepslack/data/table_clean.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {
namespace {

class KnownSplitsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("STEPSLACK_SHARED");
    const char* source = std::getenv("STEPSLACK_SOURCE");
    const std::string root = shared != nullptr   ? shared
                             : source != nullptr ? std::string(source) + "/../shared"
                                                 : "../shared";
    path_ = root + "/data/vlsi/own-qor/qor_osu035.csv";
    if (!base::PathExists(path_)) GTEST_SKIP() << path_ << " is not there";
    auto table = ReadTable(path_);
    ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
    table_ = std::move(*table);
  }
  std::string path_;
  Table table_;
};

TEST_F(KnownSplitsTest, EighteenFamiliesAreNeverDivided) {
  const auto split = SplitRows(table_, {.group = "family"});
  ASSERT_TRUE(split.has_value()) << base::Describe(split.error());
  EXPECT_EQ(split->items.size(), 1470u);
  EXPECT_EQ(split->groups, 18);
  std::set<std::string> train, test;
  for (size_t i = 0; i < split->items.size(); ++i) {
    (split->part[i] == 2 ? test : train).insert(split->items[i].group);
  }
  EXPECT_EQ(train.size() + test.size(), 18u);
  EXPECT_EQ(SplitRows(table_, {.group = "design"})->groups, 105);
}

TEST_F(KnownSplitsTest, OneDesignInPicosecondsIsNamedAndNothingElse) {
  const std::vector<TableRule> rules{
      {.id = "jump", .kind = "unit_jump", .column = "wc_delay"}};
  EXPECT_EQ(CleanTable(table_, rules)->rules[0].count, 0);
  Column* delay = table_.Find("wc_delay");
  delay->unit = "ns";
  const Column* design = table_.Find("design");
  for (size_t row = 0; row < delay->numbers.size(); ++row) {
    if (design->texts[design->codes[row]] == "fir_t4_w8") delay->numbers[row] *= 1000;
  }
  const auto cleaning = CleanTable(table_, rules);
  EXPECT_EQ(cleaning->rules[0].count, 14);
  EXPECT_NE(cleaning->rules[0].examples[0].find("x1000: ps for ns?"),
            std::string::npos);
}

}  // namespace
}  // namespace stepslack::data
