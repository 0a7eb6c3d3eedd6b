// Real traces against an independent exact reference: integer-nanosecond arithmetic
// over GPU events (kernels, copies, sets; the 2021 names too).
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/trace/intervals.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {
namespace {

std::string SharedFolder() {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) return given;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : base::JoinPath(base::ParentFolder(source), "shared");
}

struct GpuTotals {
  int64_t events = 0;
  int64_t comm_events = 0;
  IntervalSet all;
  IntervalSet comm;
  IntervalSet compute;
};

GpuTotals Measure(const EventStore& store) {
  static const std::set<std::string_view> kKernel = {"kernel", "Kernel"};
  static const std::set<std::string_view> kMemory = {"gpu_memcpy", "Memcpy",
                                                     "gpu_memset", "Memset"};
  GpuTotals totals;
  std::vector<Interval> all;
  std::vector<Interval> comm;
  std::vector<Interval> compute;
  for (size_t i = 0; i < store.size(); ++i) {
    const bool kernel = kKernel.contains(store.CategoryOf(i));
    if (!kernel && !kMemory.contains(store.CategoryOf(i))) continue;
    const Interval span{store.start_ns[i], store.end_ns[i]};
    ++totals.events;
    all.push_back(span);
    if (!kernel) continue;
    const bool is_comm = store.collective[i] != kNoCollective;
    totals.comm_events += is_comm ? 1 : 0;
    (is_comm ? comm : compute).push_back(span);
  }
  totals.all = IntervalSet(std::move(all));
  totals.comm = IntervalSet(std::move(comm));
  totals.compute = IntervalSet(std::move(compute));
  return totals;
}

struct Case {
  const char* set;
  const char* file;
  int rank_entry;
};

class ReferenceTraces : public testing::TestWithParam<Case> {};

TEST_P(ReferenceTraces, BusyCommunicationAndExposedTimeAreExact) {
  const std::string shared = SharedFolder();
  const std::string path =
      base::JoinPath(shared, std::string("data/traces/kineto/") + GetParam().file);
  if (!base::PathExists(path)) GTEST_SKIP() << "no reference traces at " << path;
  const auto reference_text = base::ReadFile(base::JoinPath(
      shared, std::string("reference/traces/") + GetParam().set + ".json"));
  ASSERT_TRUE(reference_text.has_value());
  const auto reference = base::ParseJson(*reference_text, GetParam().set);
  ASSERT_TRUE(reference.has_value());
  const base::Json& expected =
      (*reference)["exact"]["ranks"]
          .AsArray()[static_cast<size_t>(GetParam().rank_entry)];
  const auto store = ReadKinetoTrace(path);
  ASSERT_TRUE(store.has_value());
  const GpuTotals totals = Measure(*store);
  EXPECT_FALSE(store->truncated);
  EXPECT_EQ(store->stats.Count("malformed event"), 0);
  EXPECT_EQ(totals.events, expected["n_gpu"].AsInt());
  EXPECT_EQ(totals.comm_events, expected["n_comm"].AsInt());
  EXPECT_EQ(totals.all.LengthNs(), expected["busy_ns"].AsInt());
  EXPECT_EQ(totals.compute.LengthNs(), expected["comp_ns"].AsInt());
  EXPECT_EQ(totals.comm.LengthNs(), expected["comm_ns"].AsInt());
  EXPECT_EQ(totals.comm.Intersection(totals.compute).LengthNs(),
            expected["comm_ovl_comp_ns"].AsInt());
  EXPECT_EQ(totals.comm.Difference(totals.compute).LengthNs(),
            expected["exposed_comm_ns"].AsInt());
  if (expected["rank"].is_int()) {
    EXPECT_EQ(store->file_rank, expected["rank"].AsInt());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sets, ReferenceTraces,
    testing::Values(
        Case{"dlrm8", "dlrm8_v100/worker0_step_12.1694128201545.pt.trace.json.gz", 0},
        Case{"dlrm8", "dlrm8_v100/worker1_step_12.1694128201556.pt.trace.json.gz", 1},
        Case{"dlrm8", "dlrm8_v100/worker2_step_12.1694128201554.pt.trace.json.gz", 2},
        Case{"dlrm8", "dlrm8_v100/worker3_step_12.1694128201557.pt.trace.json.gz", 3},
        Case{"dlrm8", "dlrm8_v100/worker4_step_12.1694128201547.pt.trace.json.gz", 4},
        Case{"dlrm8", "dlrm8_v100/worker5_step_12.1694128201549.pt.trace.json.gz", 5},
        Case{"dlrm8", "dlrm8_v100/worker6_step_12.1694128201553.pt.trace.json.gz", 6},
        Case{"dlrm8", "dlrm8_v100/worker7_step_12.1694128201553.pt.trace.json.gz", 7},
        Case{"hta_nccl1", "ddp2_a100_rank0/nccl_data.json.gz", 0},
        Case{"hta_diff_control", "recsys8_a100_rank3/control.json.gz", 0},
        Case{"hta_amd", "minitoy_mi250/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 0},
        Case{"kin_nw0",
             "resnet50_v100_dl_workers0/worker0.1623143566756.pt.trace.json.gz", 0},
        Case{"tl_resnet_ckpt", "resnet_ddp8_mi300x_rank0/resnet_act_checkpoint.json.gz",
             0},
        Case{"tl_mi210", "gpuonly_mi210/gpu_only_trace.json.gz", 0},
        Case{"tl_bert_h100", "bert_h100/gaunernst_bert-small-uncased__1016001.json.gz",
             0},
        Case{"tl_b200", "infer8_b200_rank0/eager_trace.json.gz", 0},
        Case{"hta_alexnet",
             "alexnet_a100_cudasync/benchmark_result_2869224_1695835535_trace.json.gz",
             0}),
    [](const testing::TestParamInfo<Case>& tested) {
      return std::string(tested.param.set) + "_" +
             std::to_string(tested.param.rank_entry);
    });

}  // namespace
}  // namespace stepslack::trace
