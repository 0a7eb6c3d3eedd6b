// Published MLPerf logs against tables that were computed independently of this code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "stepslack/analyze/run_compare.h"
#include "stepslack/analyze/run_files.h"
#include "stepslack/analyze/run_sets.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

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

using Row = std::map<std::string, std::string>;

std::vector<Row> Table(const std::string& name) {
  const auto text = base::ReadFile(Shared("data/mlperf/" + name));
  std::vector<Row> rows;
  if (!text.has_value()) return rows;
  std::vector<std::string_view> names;
  for (const std::string_view line : base::Split(*text, '\n')) {
    if (base::Trim(line).empty()) continue;
    const std::vector<std::string_view> cells = base::Split(base::Trim(line), ',');
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row row;
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) {
      row[std::string(names[i])] = cells[i];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double Number(const Row& row, const std::string& name) {
  return base::ParseDouble(row.at(name)).value_or(-1e300);
}

RunFiles Read(const std::string& set) {
  const std::vector<std::string> paths = {
      Shared("data/mlperf/results/" + set + ".tar.gz")};
  auto files = ReadRunFiles(paths);
  EXPECT_TRUE(files.has_value()) << base::Describe(files.error());
  return files.has_value() ? *std::move(files) : RunFiles{};
}

class MlperfSet : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!base::PathExists(Shared("data/mlperf/results"))) GTEST_SKIP() << "no logs";
    report_ = GroupRuns(Read(GetParam()).runs);
  }
  const RunSet* Find(const std::string& system) const {
    for (const RunSet& set : report_.sets) {
      if (set.system == system) return &set;
    }
    return nullptr;
  }
  const RunOutcome* FindRun(const Row& row) const {
    const std::string tail =
        row.at("system") + "/" + row.at("benchmark") + "/" + row.at("run");
    for (const RunOutcome& run : report_.runs) {
      if (run.source.ends_with("/" + tail)) return &run;
    }
    return nullptr;
  }
  RunSetReport report_;
};

// Absent in the table means absent here. Tables hold 8 decimals.
void ExpectNear(const std::optional<double>& value, const Row& row,
                const std::string& name, double tolerance) {
  if (row.at(name).empty()) {
    EXPECT_FALSE(value.has_value()) << name;
    return;
  }
  ASSERT_TRUE(value.has_value()) << name;
  EXPECT_NEAR(*value, Number(row, name), tolerance) << name;
}

std::optional<double> AsDouble(const std::optional<int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

TEST_P(MlperfSet, EveryRunHasTheTimeSamplesAndSizeOfTheTable) {
  size_t rows = 0;
  for (const Row& row : Table("expected_runs.csv")) {
    if (row.at("set") != GetParam()) continue;
    ++rows;
    const RunOutcome* run = FindRun(row);
    ASSERT_NE(run, nullptr) << row.at("run");
    SCOPED_TRACE(run->source);
    EXPECT_EQ(run->benchmark, row.at("benchmark"));
    EXPECT_EQ(run->system, row.at("system"));
    EXPECT_EQ(run->submitter, row.at("submitter"));
    const std::string status = row.at("status");
    EXPECT_EQ(ToString(run->status), status.empty() ? "truncated" : status);
    EXPECT_EQ(run->unit, row.at("unit"));
    ExpectNear(AsDouble(run->world_size), row, "chips", 0);
    ExpectNear(AsDouble(run->global_batch), row, "gbs", 0);
    ExpectNear(run->ttt_min, row, "ttt_min", 1e-8);
    ExpectNear(AsDouble(run->samples_to_target), row, "samples", 0);
    if (!row.at("init_min").empty() && run->ttt_min) {
      ExpectNear(run->init_min, row, "init_min", 1e-8);
    }
    EXPECT_EQ(run->world_size_reason, "");
  }
  EXPECT_GT(rows, 0u);
  EXPECT_EQ(report_.runs.size(), rows);
}

TEST_P(MlperfSet, EverySetHasTheScoreAndTheMediansOfTheTable) {
  for (const Row& row : Table("expected.csv")) {
    if (row.at("set") != GetParam()) continue;
    const RunSet* set = Find(row.at("system"));
    ASSERT_NE(set, nullptr) << row.at("system");
    SCOPED_TRACE(set->name);
    EXPECT_EQ(set->name, row.at("system") + "/" + row.at("benchmark"));
    ExpectNear(static_cast<double>(set->runs), row, "n_runs", 0);
    ExpectNear(static_cast<double>(set->successes), row, "n_success", 0);
    ExpectNear(static_cast<double>(set->drop_each_side), row, "drop_each_side", 0);
    ExpectNear(set->olympic_min, row, "olympic_raw_min", 1e-6);
    ExpectNear(set->mean_min, row, "mean_min", 1e-6);
    ExpectNear(set->samples, row, "samples_olympic", 0.01);
    // Throughputs reach 5e6 a second, so the tolerance is relative.
    ExpectNear(set->throughput, row, "throughput", 1e-8 * Number(row, "throughput"));
    ExpectNear(set->throughput_per_worker, row, "throughput_per_chip",
               1e-8 * Number(row, "throughput"));
    ExpectNear(set->eval_grid_share, row, "eval_grid_frac", 1e-7);
    ExpectNear(set->init_min, row, "init_median_min", 1e-7);
    if (set->benchmark != "stable_diffusion") {
      ExpectNear(set->eval_share, row, "eval_share", 1e-7);
    } else {
      EXPECT_FALSE(set->eval_share.has_value());
    }
  }
}

TEST_P(MlperfSet, EfficiencyIsThatOfTheTableAndSplitsExactly) {
  size_t rows = 0;
  for (const Row& row : Table("expected_scaling.csv")) {
    if (row.at("set") != GetParam()) continue;
    ++rows;
    const RunSet* set = Find(row.at("system"));
    ASSERT_NE(set, nullptr) << row.at("system");
    SCOPED_TRACE(set->name);
    EXPECT_EQ(set->no_scaling, "");
    ExpectNear(set->speedup, row, "speedup", 1e-6);
    ExpectNear(set->E, row, "eff_total", 1e-7);
    ExpectNear(set->Es, row, "eff_stat", 1e-7);
    ExpectNear(set->Eh, row, "eff_hw", 1e-7);
    ExpectNear(set->se_log_E, row, "se_log_eff", 1e-7);
    EXPECT_NEAR(*set->E, *set->Es * *set->Eh, 1e-14);
  }
  EXPECT_EQ(report_.sets.size(), rows);
}

TEST_P(MlperfSet, KaplanMeierQuantilesAreThoseOfTheTable) {
  for (const Row& row : Table("expected_km.csv")) {
    if (row.at("set") != GetParam()) continue;
    const RunSet* set = Find(row.at("system"));
    ASSERT_NE(set, nullptr) << row.at("system");
    SCOPED_TRACE(set->name);
    ExpectNear(set->quantiles.q25, row, "km_q25", 1e-8);
    ExpectNear(set->quantiles.median_censor_at_stop, row, "km_median_censor_at_stop",
               1e-8);
    ExpectNear(set->quantiles.median_censor_at_inf, row, "km_median_censor_at_inf",
               1e-8);
    ExpectNear(set->quantiles.q75, row, "km_q75", 1e-8);
    ExpectNear(set->success_share.value, row, "p_success", 1e-12);
    if (set->successes < set->runs) {
      ExpectNear(set->ttt.value, row, "km_median_censor_at_stop", 1e-8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Published, MlperfSet,
                         testing::Values("D01", "D02", "D03", "D04", "D05", "D06",
                                         "D07", "D08", "D09", "D10"));

class MlperfLogs : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::PathExists(Shared("data/mlperf/results"))) GTEST_SKIP() << "no logs";
  }
};

TEST_F(MlperfLogs, LogsThatEndTooEarlySaySo) {
  std::vector<std::string> reasons;
  for (const char* set : {"D03", "D04", "D07", "D08"}) {
    for (const RunOutcome& run : Read(set).runs) {
      if (run.status == RunStatus::kSuccess) continue;
      const std::vector<std::string_view> parts = PathParts(run.source);
      reasons.push_back(std::string(set) + " " + std::string(parts.back()) + " " +
                        run.reason.substr(0, run.reason.find("; no evaluation")));
    }
  }
  EXPECT_EQ(
      reasons,
      (std::vector<std::string>{
          "D03 result_5.txt truncated: the log has no run_stop; it has no evaluation; "
          "samples are not known: the log has no evaluation",
          "D04 result_4.txt truncated: the log has no run_stop; its last evaluation, "
          "0.720406, meets the target of at least 0.72",
          "D07 result_2.txt aborted after 4.793 min: run_stop has status aborted; its "
          "last evaluation, 0.75838, misses the target of at least 0.759",
          "D08 result_32.txt aborted after 0.8419 min: run_stop has status aborted; "
          "its last evaluation, 6.65766e-11, misses the target of at least 0.908",
          "D08 result_33.txt aborted after 0.6179 min: run_stop has status aborted; "
          "its last evaluation, 6.65766e-11, misses the target of at least 0.908"}));
}

// "<round>/<submitter>/<system>/<benchmark>" of the table; the archives have the last
// two, and "v1.1/Azure" and "v1.1/NVIDIA" in AB_extra.
std::vector<RunOutcome> RunsOf(const std::vector<RunOutcome>& all,
                               const std::string& side) {
  const std::vector<std::string_view> parts = base::Split(side, '/');
  const std::string folder =
      "/" + std::string(parts[2]) + "/" + std::string(parts[3]) + "/";
  std::vector<RunOutcome> runs;
  for (const RunOutcome& run : all) {
    if (run.source.find(folder) != std::string::npos) runs.push_back(run);
  }
  return runs;
}

void ExpectComparison(const RunComparison& comparison, const Row& row) {
  EXPECT_EQ(comparison.a.runs - comparison.a.reached, Number(row, "notconvA"));
  EXPECT_EQ(comparison.b.runs - comparison.b.reached, Number(row, "notconvB"));
  EXPECT_EQ(comparison.a.reached, Number(row, "nA"));
  EXPECT_EQ(comparison.b.reached, Number(row, "nB"));
  ExpectNear(comparison.a.mean_min, row, "meanA", 1e-6);
  ExpectNear(comparison.b.median_min, row, "medianB", 1e-6);
  ExpectNear(comparison.mann_whitney.u, row, "mwu_U_A", 1e-9);
  ExpectNear(comparison.mann_whitney_p, row, "mwu_p", 1e-6);
  ExpectNear(comparison.welch.t, row, "welch_t", 1e-6);
  ExpectNear(comparison.welch.p, row, "welch_p", 1e-6);
  ExpectNear(comparison.permutation_p, row, "perm_mean_p", 1e-6);
  ExpectNear(comparison.hodges_lehmann.value, row, "hl_shift_BminusA", 1e-6);
  ExpectNear(comparison.hodges_lehmann.low, row, "hl_ci_lo", 1e-6);
  ExpectNear(comparison.hodges_lehmann.high, row, "hl_ci_hi", 1e-6);
  ExpectNear(comparison.ratio.value, row, "geo_ratio_B_over_A", 1e-6);
  ExpectNear(comparison.ratio.low, row, "geo_ratio_lo", 1e-6);
  ExpectNear(comparison.ratio.high, row, "geo_ratio_hi", 1e-6);
  ExpectNear(comparison.cliffs_delta, row, "cliffs_delta_BgtA", 1e-8);
}

TEST_F(MlperfLogs, ComparisonsAreThoseOfTheTable) {
  std::vector<RunOutcome> all;
  for (const char* set : {"D04", "D05", "D07", "D08", "D10", "AB_extra"}) {
    for (RunOutcome& run : Read(set).runs) all.push_back(std::move(run));
  }
  const std::map<std::string, EffectVerdict> verdicts = {
      {"AB05", EffectVerdict::kRegressed}};
  size_t rows = 0;
  for (const Row& row : Table("expected_ab.csv")) {
    SCOPED_TRACE(row.at("pair"));
    ++rows;
    const auto comparison =
        CompareRuns(RunsOf(all, row.at("A")), RunsOf(all, row.at("B")));
    ASSERT_TRUE(comparison.has_value());
    ExpectComparison(*comparison, row);
    const auto verdict = verdicts.find(row.at("pair"));
    EXPECT_EQ(comparison->verdict, verdict == verdicts.end()
                                       ? EffectVerdict::kInconclusive
                                       : verdict->second)
        << comparison->reason;
  }
  EXPECT_EQ(rows, 6u);
}

TEST_F(MlperfLogs, SystemWithoutDescriptionHasNoSizeAndNoEfficiency) {
  const RunSetReport report = GroupRuns(Read("AB_extra").runs);
  size_t azure = 0;
  for (const RunSet& set : report.sets) {
    if (set.system.find("nd96amsr") == std::string::npos) continue;
    ++azure;
    EXPECT_FALSE(set.world_size.has_value());
    EXPECT_FALSE(set.E.has_value());
    EXPECT_EQ(set.no_scaling, "the world size is not known");
    EXPECT_EQ(report.runs[set.members[0]].world_size_reason,
              "the log does not say how many accelerators it used, and no system "
              "description goes with this path");
  }
  EXPECT_EQ(azure, 3u);
}

// These logs bring the description along as a line of their own.
TEST_F(MlperfLogs, WorldSizeComesFromTheLogWhereItSaysSo) {
  const std::vector<std::string> paths = {
      Shared("data/traces/mllog/NVIDIA__eos_n64_ngc24.04_dgl__gnn__result_0.txt.gz"),
      Shared("data/traces/mllog/"
             "NVIDIA__eos_n316_ngc24.04_mxnet__resnet__result_0.txt.gz")};
  if (!base::PathExists(paths[0])) GTEST_SKIP() << "no log at " << paths[0];
  RunFileOptions options;
  options.look_beside = false;
  const auto files = ReadRunFiles(paths, options);
  ASSERT_TRUE(files.has_value());
  ASSERT_EQ(files->runs.size(), 2u);
  // Paths are visited in order of name.
  EXPECT_EQ(files->runs[0].world_size, 316 * 8);
  EXPECT_EQ(files->runs[1].world_size, 64 * 8);
  EXPECT_EQ(files->runs[1].system, "eos_n64_ngc24.04_dgl");
}

}  // namespace
}  // namespace stepslack::analyze
