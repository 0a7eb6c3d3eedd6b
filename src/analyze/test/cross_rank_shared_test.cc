// Eight ranks of a real training job against a reference of exact integer arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "made_ranks.h"
#include "stepslack/analyze/critical_path.h"
#include "stepslack/analyze/cross_rank.h"
#include "stepslack/analyze/pop_factors.h"
#include "stepslack/base/file.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::analyze {
namespace {

std::string SharedFolder() {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) return given;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : base::JoinPath(base::ParentFolder(source), "shared");
}

bool IsDevice(std::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}

RankTrace Reduce(const trace::EventStore& store) {
  RankTrace rank;
  rank.rank = store.file_rank;
  rank.world_size = store.world_size;
  std::vector<trace::Interval> compute;
  std::vector<trace::Interval> memory;
  std::vector<trace::Interval> comm;
  rank.window_start_ns = store.start_ns.front();
  for (size_t i = 0; i < store.size(); ++i) {
    rank.window_end_ns = std::max(rank.window_end_ns, store.end_ns[i]);
    const std::string_view name = store.NameOf(i);
    const trace::Interval span{store.start_ns[i], store.end_ns[i]};
    if (name.starts_with("ProfilerStep#")) {
      AddStep(rank, std::atoll(std::string(name.substr(13)).c_str()), span.start_ns,
              span.end_ns);
    }
    if (!IsDevice(store.CategoryOf(i))) continue;
    if (store.collective[i] == trace::kNoCollective) {
      (store.CategoryOf(i) == "kernel" ? compute : memory).push_back(span);
      continue;
    }
    const trace::CollectiveArgs& args =
        store.collectives[static_cast<size_t>(store.collective[i])];
    comm.push_back(span);
    rank.collectives.push_back({span.start_ns, span.end_ns, rank.strings.Intern(name),
                                rank.strings.Intern(store.strings.Get(args.name)),
                                rank.strings.Intern(store.strings.Get(args.group)),
                                args.seq, args.bytes, args.group_size, -1, -1});
  }
  rank.compute = trace::IntervalSet(std::move(compute));
  rank.memory = trace::IntervalSet(std::move(memory));
  rank.comm = trace::IntervalSet(std::move(comm));
  return rank;
}

class EightRanks : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder =
        base::JoinPath(SharedFolder(), "data/traces/kineto/dlrm8_v100");
    if (!base::PathExists(folder)) GTEST_SKIP() << "no reference traces at " << folder;
    const auto names = base::ListFolder(folder);
    ASSERT_TRUE(names.has_value());
    for (const std::string& name : *names) {
      const auto store = trace::ReadKinetoTrace(base::JoinPath(folder, name));
      ASSERT_TRUE(store.has_value());
      ranks_.push_back(Reduce(*store));
    }
    const auto text =
        base::ReadFile(base::JoinPath(SharedFolder(), "reference/traces/dlrm8.json"));
    ASSERT_TRUE(text.has_value());
    const auto reference = base::ParseJson(*text, "dlrm8.json");
    ASSERT_TRUE(reference.has_value());
    reference_ = (*reference)["exact"]["cross_rank"];
  }

  std::vector<RankTrace> ranks_;
  base::Json reference_;
};

TEST_F(EightRanks, WaitsOrderAndTransferAreTheReferenceToTheNanosecond) {
  const CrossRank cross = MeasureCrossRank(ranks_);
  EXPECT_EQ(cross.matched, 8);
  EXPECT_EQ(cross.refused, 0);
  EXPECT_EQ(cross.unmatched, 0);
  ASSERT_TRUE(cross.waits.has_value());
  for (const RankWaits& of : cross.waits->by_rank) {
    const std::string rank = std::to_string(of.rank);
    EXPECT_EQ(of.wait_ns, reference_["wait_ns"][rank].AsInt()) << rank;
    EXPECT_EQ(of.times_last, reference_["times_last"][rank].AsInt()) << rank;
  }
  EXPECT_EQ(cross.waits->transfer_estimate_ns,
            reference_["transfer_estimate_ns_per_rank"].AsInt());
  EXPECT_EQ(cross.waits->comm_ns, reference_["comm_kernel_sum_ns_all_ranks"].AsInt());
  EXPECT_NEAR(cross.waits->wait_share_estimate, 0.964, 0.0005);
  ASSERT_EQ(cross.rows.size(), reference_["collectives"].AsArray().size());
  for (size_t i = 0; i < cross.rows.size(); ++i) {
    const base::Json& expected = reference_["collectives"].AsArray()[i];
    EXPECT_EQ(cross.rows[i].start_skew_ns, expected["start_skew_ns"].AsInt());
    EXPECT_EQ(cross.rows[i].shortest_ns, expected["min_dur_ns"].AsInt());
    EXPECT_EQ(cross.collectives[i].end_skew_ns, expected["end_skew_ns"].AsInt());
    EXPECT_EQ(cross.collectives[i].last_rank, expected["last_arriver"].AsInt());
  }
}

TEST_F(EightRanks, TheFirstSkewWasThereWhenTheStepBegan) {
  const CrossRank cross = MeasureCrossRank(ranks_);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->first_skew_ns, 7'624'000);
  EXPECT_EQ(cross.waits->inherited_skew_ns, 7'624'000);
  EXPECT_EQ(cross.waits->entry_skew_ns, 7'513'000);  // of the two ProfilerStep starts
}

TEST_F(EightRanks, ClocksOfOneHostAgreeAndAreLeftAlone) {
  const CrossRank cross = MeasureCrossRank(ranks_);
  for (const ClockOffset& offset : cross.clock_offsets) {
    ASSERT_TRUE(offset.offset_ns.has_value());
    EXPECT_LE(std::llabs(*offset.offset_ns), 7'000);  // the largest end skew there is
    EXPECT_FALSE(offset.applied);
  }
  EXPECT_EQ(cross.clock_residual_max_ns, 7'000);
}

TEST_F(EightRanks, OtherHostsClocksGiveTheSameWaits) {
  const CrossRank truth = MeasureCrossRank(ranks_);
  for (size_t r = 4; r < 8; ++r) ranks_[r] = OnOtherClock(ranks_[r], 3'000'000'000);
  const CrossRank cross = MeasureCrossRank(ranks_);
  ASSERT_TRUE(cross.waits.has_value());
  for (size_t r = 0; r < 8; ++r) {
    // Eight collectives, each off by no more than the offsets are: the end skews.
    EXPECT_NEAR(static_cast<double>(cross.waits->by_rank[r].wait_ns),
                static_cast<double>(truth.waits->by_rank[r].wait_ns), 8 * 7'000);
    EXPECT_EQ(cross.waits->by_rank[r].times_last, truth.waits->by_rank[r].times_last);
  }
}

TEST_F(EightRanks, PathAddsUpAndFactorsMultiply) {
  const CrossRank cross = MeasureCrossRank(ranks_);
  const auto path = FindCriticalPath(ranks_, cross);
  ASSERT_TRUE(path.path.has_value());
  EXPECT_EQ(path.path->times.TotalNs(), path.path->end_ns - path.path->start_ns);
  const PopFactors pop = MeasurePop(ranks_, cross);
  ASSERT_TRUE(pop.transfer.has_value());
  EXPECT_EQ(pop.window, "steps 10 to 10");
  // First step start 147 us, last step end 20,970 us.
  EXPECT_EQ(pop.runtime_ns, 20'823'000);
  EXPECT_NEAR(*pop.load_balance * *pop.serialisation * *pop.transfer,
              *pop.parallel_efficiency, 1e-12);
  // No more than every exposed transfer can be gained.
  EXPECT_GE(*pop.ideal_runtime_ns, pop.runtime_ns - 8 * 217'000);
  EXPECT_LE(*pop.ideal_runtime_ns, pop.runtime_ns);
}

}  // namespace
}  // namespace stepslack::analyze
