#include "stepslack/audit/doomed_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::audit {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

data::Column Numbers(std::string name) {
  data::Column column;
  column.name = std::move(name);
  return column;
}

// 20 settings of 20 runs. A run is bad when gp_wl > 0.5 (one in four, on average);
// every run takes an hour of dr. Columns: k_util, gp_wl, dr_wl, dr_drc, rt_dr, scripts.
data::Table Make() {
  base::Random random(3);
  data::Table table;
  table.source = "made";
  for (const char* name : {"k_util", "gp_wl", "dr_wl", "dr_drc", "rt_dr", "scripts"}) {
    table.columns.push_back(Numbers(name));
  }
  for (int g = 0; g < 20; ++g) {
    for (int i = 0; i < 20; ++i, ++table.rows) {
      const double wl = random.Uniform(-1, 1);
      const double row[] = {static_cast<double>(g), wl,   1,
                            wl > 0.5 ? 7.0 : 0.0,   3600, 1};
      for (size_t c = 0; c < 6; ++c) table.columns[c].numbers.push_back(row[c]);
    }
  }
  return table;
}

DoomedOptions Options() {
  DoomedOptions options;
  options.label = "dr_drc";
  options.ran = "dr_wl";
  options.before = "dr";
  options.cost = "rt_dr";
  options.group = "k_util";
  return options;
}

bool Warns(const DoomedReport& report, const std::string& part) {
  return std::any_of(
      report.warnings.begin(), report.warnings.end(),
      [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(DoomedRuns, HoursOfBadRunsAreSavedAndFeaturesOfLaterStagesAreNotRead) {
  const auto report = JudgeDoomedRuns(Make(), Options());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->features, (std::vector<std::string>{"k_util", "gp_wl"}));
  EXPECT_DOUBLE_EQ(report->hours, 400);
  EXPECT_DOUBLE_EQ(report->bad_hours, static_cast<double>(report->dirty));
  // One cut tells good from bad; only runs next to it can be mistaken.
  EXPECT_GT(*report->grouped.auc, 0.99);
  EXPECT_GT(report->grouped.at_costs.bad_hours_saved, 0.95 * report->bad_hours);
  EXPECT_LT(report->grouped.at_costs.good_lost, 0.03);
  EXPECT_EQ(report->grouped.judged, 400);
  EXPECT_FALSE(report->worthless);
}

TEST(DoomedRuns, ALabelThatIsAbsentIsFailedOrUnknownByWhetherItRan) {
  data::Table table = Make();
  table.columns[3].numbers[0] = kNone;  // ran, no label: unknown
  table.columns[3].numbers[1] = kNone;
  table.columns[2].numbers[1] = kNone;  // neither: failed
  const auto report = JudgeDoomedRuns(table, Options());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->unknown, 1);
  EXPECT_EQ(report->failed, 1);
  EXPECT_EQ(report->clean + report->dirty, 398);
}

TEST(DoomedRuns, AccurateAndWorthlessIsNamedWhenBadRunsDieEarlier) {
  data::Table table = Make();
  for (size_t i = 0; i < 400; ++i) {
    if (table.columns[3].numbers[i] == 0) continue;
    for (size_t c : {2U, 3U, 4U}) table.columns[c].numbers[i] = kNone;
  }
  const auto report = JudgeDoomedRuns(table, Options());
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(*report->grouped.auc, 0.99);
  EXPECT_EQ(report->bad_hours, 0);
  EXPECT_TRUE(report->worthless);
  EXPECT_TRUE(Warns(*report, "accurate but worthless"));
  EXPECT_TRUE(Warns(*report, "an empty cell alone says that a run is bad"));
}

TEST(DoomedRuns, AnUnseenToolVersionIsNotJudged) {
  data::Table table = Make();
  for (size_t i = 0; i < 20; ++i) table.columns[5].numbers[i] = 2;  // one setting
  const auto report = JudgeDoomedRuns(table, Options());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->grouped.abstained, 20);
  EXPECT_EQ(report->grouped.judged, 380);
}

// Stopping a good run costs 99 times as much: p(bad) must be above 0.99.
TEST(DoomedRuns, TheThresholdIsThatOfTheCosts) {
  DoomedOptions options = Options();
  options.cost_false_stop = 99;
  const auto report = JudgeDoomedRuns(Make(), options);
  ASSERT_TRUE(report.has_value());
  EXPECT_DOUBLE_EQ(report->threshold_at_costs, 0.99);
  EXPECT_LE(report->grouped.at_costs.stopped, report->grouped.at_good_lost.stopped);
}

TEST(DoomedRuns, WrongOptionsAreRefusedAndFewGroupsAbstain) {
  const auto id = [](const DoomedOptions& options) {
    const auto report = JudgeDoomedRuns(Make(), options);
    return report.has_value() ? std::string("none") : report.error().id;
  };
  DoomedOptions options = Options();
  options.label = "nowhere";
  EXPECT_EQ(id(options), "PROBE-0001");
  options = Options();
  options.before = "zz";
  EXPECT_EQ(id(options), "PROBE-0002");
  options.before = "k";
  EXPECT_EQ(id(options), "PROBE-0003");
  options = Options();
  options.folds = 1;
  EXPECT_EQ(id(options), "PROBE-0004");
  const auto two = RowsWhere(Make(), "k_util=3");
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->rows, 20);
  const auto report = JudgeDoomedRuns(*two, Options());
  ASSERT_TRUE(report.has_value());
  EXPECT_NE(report->grouped.reason.find("20 runs in 1 groups"), std::string::npos);
}

}  // namespace
}  // namespace stepslack::audit
