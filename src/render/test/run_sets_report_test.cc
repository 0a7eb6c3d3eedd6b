#include "stepslack/render/run_sets_report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::render {
namespace {

analyze::RunSet Set(int64_t workers, int64_t batch, double speedup, double e) {
  analyze::RunSet set;
  set.name = "s" + std::to_string(workers);
  set.benchmark = "resnet";
  set.submitter = "us";
  set.world_size = workers;
  set.global_batch = batch;
  set.speedup = speedup;
  set.E = e;
  set.Es = 1;
  set.Eh = e;
  set.se_log_E = 0.1;
  set.throughput_per_worker = 100 * e;
  set.unit = "samples";
  return set;
}

const LineChart& Line(const Section& section, size_t i) {
  return std::get<LineChart>(section.figures.at(i));
}

TEST(RunSetSections, DrawSpeedupAgainstTheIdealWithIntervals) {
  analyze::RunSetReport report;
  report.sets = {Set(8, 64, 1, 1), Set(32, 64, 3, 0.75)};
  const auto sections = RunSetSections(report);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].tables.at(0).rows.size(), 2u);
  ASSERT_EQ(sections[1].figures.size(), 3u);  // no run: no survival
  const LineChart& speedup = Line(sections[1], 0);
  EXPECT_TRUE(speedup.log2_x);
  EXPECT_EQ(speedup.series.at(0).y, (std::vector<double>{1, 3}));
  EXPECT_EQ(speedup.series.at(1).y, (std::vector<double>{1, 4}));  // ideal
  EXPECT_NEAR(speedup.series[0].high[1], 3 * std::exp(0.1959964), 1e-12);
  EXPECT_EQ(Line(sections[1], 1).references.at(0).y, 1);
  const Series& rate = Line(sections[1], 2).series.at(0);
  EXPECT_EQ(rate.x, (std::vector<double>{2, 8}));  // per-rank batch, ascending
  EXPECT_EQ(rate.y, (std::vector<double>{75, 100}));
}

TEST(RunSetSections, DrawTheShareOfRunsStillOnTheirWay) {
  analyze::RunSetReport report;
  report.sets = {Set(8, 64, 1, 1)};
  report.sets[0].runs = 2;
  report.sets[0].successes = 1;
  report.sets[0].members = {0, 1};
  report.runs.resize(2);
  report.runs[0].ttt_min = 10;
  report.runs[0].watched_min = 10;
  report.runs[0].status = analyze::RunStatus::kSuccess;
  report.runs[1].watched_min = 20;
  report.runs[1].status = analyze::RunStatus::kAborted;
  ASSERT_TRUE(report.runs[0].reached());
  const auto sections = RunSetSections(report);
  const LineChart& chart = Line(sections.at(1), 0);
  EXPECT_TRUE(chart.series.at(0).steps);
  EXPECT_EQ(chart.series[0].x, (std::vector<double>{0, 10, 20}));
  EXPECT_EQ(chart.series[0].y, (std::vector<double>{1, 0.5, 0.5}));
}

TEST(RunSetSections, AreNoneWithoutSets) { EXPECT_TRUE(RunSetSections({}).empty()); }

TEST(ProjectionDocument, ShowsMeasuredAndPredictedAndTheReasonOfNone) {
  analyze::ScaleFamily family;
  family.name = "f";
  family.points = {{8, 64, 1, 640, 0}, {16, 64, 0.5, 640, 0}};
  analyze::ScaleFamily one = family;
  one.points.pop_back();
  analyze::ProjectOptions options;
  options.world_sizes = {32};
  const Document document =
      ProjectionDocument(analyze::Project({family, one}, options));
  ASSERT_EQ(document.sections.size(), 2u);
  const LineChart& rate = Line(document.sections[0], 0);
  EXPECT_EQ(rate.series.at(0).y, (std::vector<double>{64, 128}));
  ASSERT_EQ(rate.series.at(1).x, (std::vector<double>{32}));
  EXPECT_LE(rate.series[1].low[0], rate.series[1].y[0]);
  EXPECT_EQ(document.sections[0].tables.at(0).rows.size(), 1u);
  EXPECT_TRUE(document.sections[1].figures.empty());
  EXPECT_NE(document.sections[1].text.at(0).find("No projection"), std::string::npos);
}

}  // namespace
}  // namespace stepslack::render
