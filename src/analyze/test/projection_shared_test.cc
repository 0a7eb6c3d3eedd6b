// Leave the largest scale out of published families and predict it; docs/benchmarks.md
// has the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "stepslack/analyze/projection.h"
#include "stepslack/analyze/run_files.h"
#include "stepslack/base/file.h"

namespace stepslack::analyze {
namespace {

std::string Shared(std::string_view path) {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) {
    return base::JoinPath(given, path);
  }
  const char* source = std::getenv("STEPSLACK_SOURCE");
  if (source == nullptr) return "";
  return base::JoinPath(base::JoinPath(base::ParentFolder(source), "shared"), path);
}

struct Score {
  std::vector<double> errors;  // |predicted / measured - 1|
  int64_t covered = 0;
  void Add(const Interval80& range, double measured) {
    errors.push_back(std::abs(range.value / measured - 1));
    if (range.low <= measured && measured <= range.high) ++covered;
  }
  double Mean() const {
    double sum = 0;
    for (const double e : errors) sum += e;
    return sum / static_cast<double>(errors.size());
  }
  std::string Text(const char* name) const {
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    return fmt::format(
        "{}: {} cases, mean {:.1f} %, median {:.1f} %, max {:.1f} %, "
        "{:.0f} % inside",
        name, sorted.size(), 100 * Mean(), 100 * sorted[sorted.size() / 2],
        100 * sorted.back(),
        100.0 * static_cast<double>(covered) / static_cast<double>(sorted.size()));
  }
};

// When nobody tells the batch.
struct Blind {
  Score step, throughput, ttt;
};

// Predicts the points at the largest world size from the others, at their batches and,
// for `blind`, without them.
void LeaveLargestOut(const ScaleFamily& family, Score& score, Blind* blind) {
  int64_t largest = 0;
  for (const ScalePoint& p : family.points) largest = std::max(largest, p.world_size);
  ScaleFamily rest = family;
  std::erase_if(rest.points,
                [&](const ScalePoint& p) { return p.world_size == largest; });
  ProjectOptions options;
  options.world_sizes = {largest};
  for (const ScalePoint& p : family.points) {
    if (p.world_size != largest) continue;
    options.batches = {p.global_batch};
    const ProjectionReport known = Project({rest}, options);
    if (known.families[0].predictions.empty()) return;
    score.Add(known.families[0].predictions[0].step_seconds.range, p.step_seconds);
    if (blind == nullptr) continue;
    options.batches.clear();
    const Prediction guess = Project({rest}, options).families[0].predictions[0];
    const double rate = p.global_batch / p.step_seconds;
    blind->step.Add(guess.step_seconds.range, p.step_seconds);
    blind->throughput.Add(guess.throughput.range, rate * family.units_per_sample);
    ASSERT_TRUE(guess.ttt_min && p.samples > 0);
    blind->ttt.Add(guess.ttt_min->range, p.samples / rate / 60);
  }
}

// The scale after every two or more, until the last.
void LeaveNextOut(ScaleFamily family, Score& score, Blind& blind) {
  std::ranges::sort(family.points, {}, &ScalePoint::world_size);
  for (; family.points.size() > 2; family.points.pop_back()) {
    LeaveLargestOut(family, score, &blind);
  }
}

TEST(ProjectionOfPublishedRuns, PredictsTheLargestScaleAsWellAsTheReferences) {
  if (!base::PathExists(Shared("data/mlperf/results"))) GTEST_SKIP() << "no logs";
  Score seven, all, next;
  Blind blind, blind_next;
  for (const char* set :
       {"D01", "D02", "D03", "D04", "D06", "D07", "D09", "D05", "D08", "D10"}) {
    const std::vector<std::string> paths = {
        Shared(fmt::format("data/mlperf/results/{}.tar.gz", set))};
    auto files = ReadRunFiles(paths);
    ASSERT_TRUE(files.has_value());
    std::vector<std::string> left_out;
    const auto families = FamiliesOf(GroupRuns(std::move(files->runs)), left_out);
    ASSERT_EQ(families.size(), 1u) << set;
    if (families[0].points.size() >= 4) LeaveLargestOut(families[0], seven, nullptr);
    LeaveLargestOut(families[0], all, &blind);
    LeaveNextOut(families[0], next, blind_next);
  }
  std::puts(seven.Text("four scales or more").c_str());
  std::puts(all.Text("all").c_str());
  std::puts(next.Text("next scale").c_str());
  std::puts(blind.step.Text("batch not told: step").c_str());
  std::puts(blind.throughput.Text("batch not told: throughput").c_str());
  std::puts(blind.ttt.Text("batch not told: ttt").c_str());
  std::puts(blind_next.step.Text("next scale, not told: step").c_str());
  std::puts(blind_next.throughput.Text("next scale, not told: throughput").c_str());
  std::puts(blind_next.ttt.Text("next scale, not told: ttt").c_str());
  EXPECT_EQ(seven.errors.size(), 7u);
  EXPECT_EQ(all.errors.size(), 10u);
  EXPECT_LE(seven.Mean(), 0.052);            // c b + d log2 N; Amdahl 0.130
  EXPECT_LE(blind.throughput.Mean(), 0.11);  // Amdahl 0.24
  EXPECT_LE(blind.step.Mean(), 0.13);
  EXPECT_LE(blind.ttt.Mean(), 0.16);
  for (const Score* score : {&blind.step, &blind.throughput, &blind.ttt}) {
    EXPECT_GE(score->covered, 7);
    EXPECT_LE(score->covered, 9);
  }
  EXPECT_GE(all.covered, 7);
  EXPECT_LE(all.covered, 9);
}

TEST(ProjectionOfMeasuredIterations, HoldsOnTablesOfIterations) {
  if (!base::PathExists(Shared("data/mlperf/vtrain"))) GTEST_SKIP() << "no tables";
  // The multi-node table and bloom_topology_grid.csv have no configuration at two
  // world sizes: nothing to project, and that is said.
  Score score;
  for (const char* path : {"data/mlperf/vtrain/ground_truth_multi_dev.csv",
                           "data/logs/bloom_topology_grid.csv",
                           "data/mlperf/vtrain/ground_truth_single_dev.csv"}) {
    const auto text = base::ReadFile(Shared(path));
    ASSERT_TRUE(text.has_value());
    std::vector<std::string> left_out;
    const auto families = FamiliesOfTable(*text, base::FileName(path), 8, left_out);
    ASSERT_TRUE(families.has_value());
    for (const ScaleFamily& family : *families) LeaveLargestOut(family, score, nullptr);
  }
  ASSERT_FALSE(score.errors.empty());
  std::puts(score.Text("vtrain, one node").c_str());
  EXPECT_LE(score.Mean(), 0.10);
}

}  // namespace
}  // namespace stepslack::analyze
