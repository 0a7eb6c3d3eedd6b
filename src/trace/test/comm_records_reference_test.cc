// Real communication records: Flight Recorder dumps and benchmark results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/trace/collective_bench.h"
#include "stepslack/trace/flight_recorder.h"
#include "stepslack/trace/nccl_debug.h"
#include "stepslack/trace/nccl_inspector.h"

namespace stepslack::trace {
namespace {

// Empty when the reference data are not there.
std::string SharedText(const std::string& path) {
  const char* given = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  std::string shared = given != nullptr ? given : "";
  if (shared.empty() && source != nullptr) {
    shared = base::JoinPath(base::ParentFolder(source), "shared");
  }
  return base::ReadMaybeGzip(base::JoinPath(shared, path)).value_or("");
}

TEST(FlightRecorderReference, ReadsADumpOfTorch29) {
  const std::string text =
      SharedText("data/traces/flight_recorder/gpu_error_2nd/_dump_0");
  if (text.empty()) GTEST_SKIP() << "no reference dumps";
  EXPECT_TRUE(LooksLikeFlightRecorder(text.substr(0, 4096)));
  const auto dump = ParseFlightRecorder(text, "_dump_0");
  ASSERT_TRUE(dump.has_value());
  EXPECT_EQ(dump->rank, 0);
  EXPECT_EQ(dump->version, "2.9");
  EXPECT_EQ(dump->comm_library_version, "2.27.3");
  EXPECT_EQ(dump->groups.size(), 13u);
  EXPECT_EQ(dump->groups.at("71").description, "EXPERT_MODEL_PARALLEL_GROUP");
  EXPECT_EQ(dump->groups.at("39").ranks, (std::vector<int32_t>{0, 8}));
  EXPECT_EQ(dump->status.at(5).last_enqueued, 84036);
  EXPECT_EQ(dump->status.at(5).last_completed, 84031);
  ASSERT_EQ(dump->entries.size(), 11u);
  const FlightEntry& first = dump->entries.front();
  EXPECT_EQ(first.record_id, 188337);
  EXPECT_EQ(first.operation, "send 0->1");
  EXPECT_EQ(first.group_name, "39");
  EXPECT_EQ(first.p2p_seq_id, 13999);
  EXPECT_EQ(first.time_created_ns, 1758580155793872443);
  EXPECT_EQ(first.input_sizes, (std::vector<std::vector<int64_t>>{{2048, 1, 5120}}));
  EXPECT_TRUE(first.is_p2p);
  EXPECT_FALSE(first.retired);
  EXPECT_EQ(first.state, FlightState::kScheduled);
}

TEST(FlightRecorderReference, RankWithALockedInterpreterHasNoEntries) {
  const std::string text =
      SharedText("data/traces/flight_recorder/lock_gil_1st/_dump_9");
  if (text.empty()) GTEST_SKIP() << "no reference dumps";
  const auto dump = ParseFlightRecorder(text, "_dump_9");
  ASSERT_TRUE(dump.has_value());
  EXPECT_TRUE(dump->entries.empty());
  EXPECT_EQ(dump->status.at(11).last_enqueued, 45264);
}

TEST(FlightRecorderReference, KinetoTracesAreNotTakenForOurs) {
  for (const char* file : {"ddp2_a100_rank0/nccl_data.json.gz",
                           "dlrm8_v100/worker0_step_12.1694128201545.pt.trace.json.gz",
                           "resnet_ddp8_mi300x_rank0/resnet_act_checkpoint.json.gz",
                           "gpuonly_mi210/gpu_only_trace.json.gz"}) {
    const std::string text = SharedText(std::string("data/traces/kineto/") + file);
    if (text.empty()) GTEST_SKIP() << "no reference traces";
    const std::string_view head = std::string_view(text).substr(0, 65536);
    EXPECT_FALSE(LooksLikeFlightRecorder(head)) << file;
    EXPECT_FALSE(LooksLikeNcclInspector(head)) << file;
    EXPECT_FALSE(LooksLikeCollectiveBench(head)) << file;
    EXPECT_FALSE(LooksLikeNcclDebug(head)) << file;
  }
}

// 128 MiB in 5749.8 us is 23.34 GB/s: with two ranks bus and algorithm rates are equal.
TEST(CollectiveBenchReference, ReadsTheCurveWithPassThroughIommu) {
  const std::string text =
      SharedText("data/diagnosis/nccl_logs/rccl_allreduce_2gpu_iommu_pt.csv");
  if (text.empty()) GTEST_SKIP() << "no reference logs";
  EXPECT_TRUE(LooksLikeCollectiveBench(text));
  const auto bench = ParseCollectiveBench(text, "csv");
  ASSERT_TRUE(bench.has_value());
  EXPECT_EQ(bench->format, BenchFormat::kCsv);
  ASSERT_EQ(bench->rows.size(), 25u);
  EXPECT_TRUE(bench->stats.counts().empty());
  const BenchRow& last = bench->rows.back();
  EXPECT_EQ(last.bytes, 134217728);
  EXPECT_EQ(last.out_of_place->time_ns, 5749800);
  EXPECT_DOUBLE_EQ(last.out_of_place->bus_gb_per_s, 23.34);
  ASSERT_EQ(bench->notes.size(), 1u);
  EXPECT_NE(bench->notes[0].find("are GB/s"), std::string::npos) << bench->notes[0];
}

TEST(CollectiveBenchReference, ReadsTheCurveWithoutPeerAccess) {
  const std::string text =
      SharedText("data/diagnosis/nccl_logs/rccl_allreduce_2gpu_p2p_disabled_tail.csv");
  if (text.empty()) GTEST_SKIP() << "no reference logs";
  const auto bench = ParseCollectiveBench(text, "csv");
  ASSERT_TRUE(bench.has_value());
  ASSERT_EQ(bench->rows.size(), 3u);
  EXPECT_DOUBLE_EQ(bench->rows.back().out_of_place->bus_gb_per_s, 11.01);
}

struct PerRankFile {
  const char* file;
  int64_t world_size;
};

// The lines of ranks are mixed; every measurement is found, of the same 4 GB.
TEST(CollectiveBenchReference, ReadsMixedPerRankText) {
  for (const PerRankFile& tested : {PerRankFile{"all_reduce_bench-32gb-n4", 16},
                                    PerRankFile{"all_reduce_bench-a100-n4", 32},
                                    PerRankFile{"n16_32gb_all_reduce_bench", 64},
                                    PerRankFile{"n1_32gb_all_reduce_bench", 4}}) {
    const std::string text =
        SharedText(std::string("data/logs/bandwidth__") + tested.file + ".txt");
    if (text.empty()) GTEST_SKIP() << "no reference logs";
    EXPECT_TRUE(LooksLikeCollectiveBench(text.substr(0, 4096)));
    const auto bench = ParseCollectiveBench(text, tested.file);
    ASSERT_TRUE(bench.has_value());
    EXPECT_EQ(bench->format, BenchFormat::kPerRankText);
    EXPECT_EQ(bench->world_size, tested.world_size) << tested.file;
    size_t expected = 0;
    for (size_t at = text.find("busbw:"); at != std::string::npos;
         at = text.find("busbw:", at + 1)) {
      ++expected;
    }
    EXPECT_EQ(bench->rows.size(), expected) << tested.file;
    EXPECT_TRUE(bench->stats.counts().empty()) << ToJson(bench->stats).Dump();
    for (const BenchRow& row : bench->rows) {
      EXPECT_EQ(row.bytes, 4'000'000'000) << tested.file;
      const double seconds = static_cast<double>(row.out_of_place->time_ns) * 1e-9;
      EXPECT_NEAR(row.out_of_place->algorithm_gb_per_s * seconds, 4.0, 0.01);
      // all_reduce: bus over algorithm is 2 (n - 1) / n.
      const auto n = static_cast<double>(tested.world_size);
      EXPECT_NEAR(row.out_of_place->bus_gb_per_s / row.out_of_place->algorithm_gb_per_s,
                  2 * (n - 1) / n, 0.01);
    }
  }
}

}  // namespace
}  // namespace stepslack::trace
