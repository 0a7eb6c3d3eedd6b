// Published MLPerf logs: totals against an independent reading of the same lines, and
// against the expected table of the reference data.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/mllog.h"

namespace stepslack::trace {
namespace {

std::string Shared(std::string_view path) {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) {
    return base::JoinPath(given, path);
  }
  const char* source = std::getenv("STEPSLACK_SOURCE");
  if (source == nullptr) return "";
  return base::JoinPath(base::JoinPath(base::ParentFolder(source), "shared"), path);
}

constexpr int64_t kMs = 1'000'000;

struct Sample {
  const char* file;
  int64_t run_ms;
  int64_t init_ms;
  int64_t eval_ms;  // -1: the log has no evaluation intervals
  size_t accuracies;
  size_t throughputs;
  const char* status;
  int64_t lines;
};

class MllogSamples : public testing::TestWithParam<Sample> {};

TEST_P(MllogSamples, TotalsAgreeWithAnIndependentReading) {
  const Sample& sample = GetParam();
  const std::string path =
      Shared(std::string("data/traces/mllog/") + sample.file + "__result_0.txt.gz");
  if (!base::PathExists(path)) GTEST_SKIP() << "no log at " << path;
  const auto run = ReadMllog(path);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->run_ns, sample.run_ms * kMs);
  EXPECT_EQ(run->init_ns, sample.init_ms * kMs);
  EXPECT_EQ(run->status, sample.status);
  EXPECT_EQ(run->lines, sample.lines);
  EXPECT_EQ(run->eval_accuracy.size(), sample.accuracies);
  EXPECT_EQ(run->throughput.size(), sample.throughputs);
  EXPECT_EQ(run->stats.Count("broken line"), 0);
  if (sample.eval_ms < 0) {
    EXPECT_FALSE(run->eval_ns.has_value());
    return;
  }
  EXPECT_EQ(run->eval_ns, sample.eval_ms * kMs);
  EXPECT_EQ(run->train_ns, (sample.run_ms - sample.eval_ms) * kMs);
}

INSTANTIATE_TEST_SUITE_P(
    Logs, MllogSamples,
    testing::Values(
        Sample{"Dell__XE8640x4H100-SXM-80GB__unet3d", 1924675, 29016, 287455, 82, 132,
               "success", 720},
        Sample{"JuniperNetworks__h100_n1_ngc24.1_pytorch_deepspeed__llama2_70b_lora",
               6916764, 2191, -1, 7, 0, "success", 89},
        Sample{"JuniperNetworks__h100_n4_ngc24.1_pytorch_deepspeed__llama2_70b_lora",
               2812520, 1916, -1, 15, 0, "success", 88},
        Sample{"NVIDIA__eos_n128_ngc24.04_nemo__llama2_70b_lora", 89207, 55443, 12893,
               11, 11, "success", 88},
        Sample{"NVIDIA__eos_n316_ngc24.04_mxnet__resnet", 13944, 89534, 336, 18, 70,
               "success", 495},
        Sample{"NVIDIA__eos_n64_ngc24.04_dgl__gnn", 64420, 38894, 5443, 48, 3,
               "success", 746},
        Sample{"NVIDIA__eos_n8_ngc24.04_dgl__gnn", 164542, 32348, 19651, 25, 2,
               "success", 170},
        Sample{"NVIDIA__eos_n8_ngc24.04_mxnet__resnet", 150326, 58663, 956, 9, 35,
               "success", 345},
        Sample{"NVIDIA__eos_n8_ngc24.04_nemo__llama2_70b_lora", 343293, 53087, 51121, 6,
               6, "success", 58},
        Sample{"NVIDIA__eos_ngc24.04_dgl__gnn", 685987, 237395, 80593, 17, 1, "success",
               80},
        Sample{"NVIDIA__eos_ngc24.04_mxnet__resnet", 798372, 42467, 3635, 9, 35,
               "success", 345},
        Sample{"NVIDIA__eos_ngc24.04_nemo__llama2_70b_lora", 1629043, 69325, 186536, 5,
               5, "success", 52}));

using Row = std::map<std::string, std::string>;

std::vector<Row> ExpectedRuns(const std::string& text) {
  std::vector<Row> rows;
  std::vector<std::string_view> names;
  for (const std::string_view line : base::Split(text, '\n')) {
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

// The table holds minutes rounded to 8 decimals.
void ExpectMinutes(const std::optional<int64_t>& ns, const std::string& minutes) {
  ASSERT_TRUE(ns.has_value());
  EXPECT_NEAR(static_cast<double>(*ns) / 60e9, *base::ParseDouble(minutes), 1e-8);
}

TEST(MllogExpectedRuns, TimesStatusAndAccuracyAgree) {
  const std::string table = Shared("data/mlperf/expected_runs.csv");
  if (!base::PathExists(table)) GTEST_SKIP() << "no table at " << table;
  const auto text = base::ReadFile(table);
  ASSERT_TRUE(text.has_value());
  int checked = 0;
  for (Row& row : ExpectedRuns(*text)) {
    if (row["set"] != "D01" && row["set"] != "D05") continue;  // the unpacked ones
    const std::string path =
        Shared("data/mlperf/results/" + row["set"] + "/" + row["system"] + "/" +
               row["benchmark"] + "/" + row["run"]);
    SCOPED_TRACE(path);
    const auto run = ReadMllog(path);
    ASSERT_TRUE(run.has_value());
    ExpectMinutes(run->run_ns, row["ttt_min"]);
    ExpectMinutes(run->init_ns, row["init_min"]);
    ExpectMinutes(run->eval_ns, row["eval_min"]);
    EXPECT_EQ(run->status, row["status"]);
    EXPECT_EQ(run->global_batch_size, base::ParseInt(row["gbs"]));
    EXPECT_EQ(run->seed, base::ParseInt(row["seed"]));
    ASSERT_EQ(static_cast<int64_t>(run->eval_accuracy.size()),
              base::ParseInt(row["n_evals"]));
    EXPECT_NEAR(run->eval_accuracy.back().value, *base::ParseDouble(row["final_eval"]),
                1e-8);
    ++checked;
  }
  EXPECT_EQ(checked, 60);
}

}  // namespace
}  // namespace stepslack::trace
