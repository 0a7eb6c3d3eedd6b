// Known answers of 15,040 flow runs (METRICS 2.1), read with a reader of this test's
// own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "stepslack/audit/doomed_runs.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::audit {
namespace {

std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

void Add(const std::string& text, data::Column& column) {
  const auto number = base::ParseDouble(text);
  if (column.kind == data::ColumnKind::kText) {
    column.codes.push_back(static_cast<uint32_t>(column.texts.size()));
    column.texts.push_back(text);
    return;
  }
  column.numbers.push_back(number.value_or(std::nan("")));
  column.missing.push_back(number ? data::Missing::kPresent : data::Missing::kEmpty);
}

// The rows of one experiment on one platform.
data::Table Read(const std::string& content, const std::string& experiment,
                 const std::string& platform) {
  data::Table table;
  table.source = "runs.csv.gz";
  size_t begin = 0;
  while (begin < content.size()) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const auto cells = Cells(std::string_view(content).substr(begin, end - begin));
    begin = end + 1;
    if (table.columns.empty()) {
      for (size_t c = 0; c < cells.size(); ++c) {
        table.columns.emplace_back();
        table.columns.back().name = cells[c];
        if (c < 5) table.columns.back().kind = data::ColumnKind::kText;
      }
      continue;
    }
    if (cells[0] != experiment || cells[1] != platform) continue;
    for (size_t c = 0; c < cells.size(); ++c) Add(cells[c], table.columns[c]);
    ++table.rows;
  }
  return table;
}

DoomedOptions BeforeDetailedRouting() {
  DoomedOptions options;
  options.label = "dr_drc";
  options.ran = "dr_wl";
  options.before = "dr";
  options.cost = "rt_detailedroute";
  options.group = "k_UTIL";
  return options;
}

class FlowRuns : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("STEPSLACK_SOURCE");
    const std::string path = std::string(source == nullptr ? "." : source) +
                             "/../shared/data/vlsi/metrics21-openroad/runs.csv.gz";
    if (!base::PathExists(path)) GTEST_SKIP() << path << " is not there";
    auto content = base::ReadMaybeGzip(path);
    ASSERT_TRUE(content.has_value());
    content_ = std::move(content).value();
  }
  std::string content_;
};

// Known: 7,299 of 15,821 h went to runs not clean; random rows AUC 1.000 and 7,540 h,
// grouped by utilisation .907 and 3,747 h. A learner of its own: random hours within 3
// % (eight seeds gave 7,475 to 7,573). Eleven settings, bad runs in four of them: over
// the same seeds the grouped AUC went from .82 to .94 (median .91) and the hours from
// 100 to 10,480, so the known answers must lie in the range that is reported.
TEST_F(FlowRuns, FineGrainedGivesTheKnownHoursAndTheRandomSplitFlatters) {
  DoomedOptions options = BeforeDetailedRouting();
  options.before = "gr";  // so that no missing cell tells the outcome
  options.repeats = 7;
  options.threads = 2;
  const auto report =
      JudgeDoomedRuns(Read(content_, "fine_grained", "sky130hd"), options);
  ASSERT_TRUE(report.has_value()) << report.error().what;
  EXPECT_EQ(report->clean, 5403);
  EXPECT_EQ(report->dirty, 843);
  EXPECT_EQ(report->failed, 628);
  EXPECT_EQ(report->unknown, 1);
  EXPECT_NEAR(report->hours, 15820.7, 0.05);
  EXPECT_NEAR(report->bad_hours, 7299.1, 0.05);
  EXPECT_GT(*report->random.auc, 0.999);
  EXPECT_NEAR(report->random.at_good_lost.hours_saved, 7540, 0.03 * 7540);
  EXPECT_NEAR(*report->grouped.auc, 0.907, 0.03);
  EXPECT_LT(report->grouped.hours_low, 3747);
  EXPECT_GT(report->grouped.hours_high, 3747);
  EXPECT_LT(report->grouped.at_good_lost.bad_hours_saved,
            report->random.at_good_lost.bad_hours_saved);
}

// 40.4 h, none of them on bad runs: these die before, so nothing is there to save.
TEST_F(FlowRuns, UtilDensityIsAccurateAndWorthless) {
  const auto report = JudgeDoomedRuns(Read(content_, "util_density_v2.1.2", "sky130hd"),
                                      BeforeDetailedRouting());
  ASSERT_TRUE(report.has_value()) << report.error().what;
  EXPECT_NEAR(report->hours, 40.4, 0.05);
  EXPECT_EQ(report->clean, 463);
  EXPECT_GT(*report->grouped.auc, 0.99);
  EXPECT_LT(report->grouped.at_good_lost.hours_saved, 1);
  EXPECT_TRUE(report->worthless);
}

}  // namespace
}  // namespace stepslack::audit
