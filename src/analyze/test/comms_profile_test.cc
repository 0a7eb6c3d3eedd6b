#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "made_runs.h"
#include "stepslack/analyze/phase_names.h"
#include "stepslack/analyze/phases.h"

namespace stepslack::analyze {
namespace {

CommsProfile Profile(const std::vector<record::RunRecord>& runs,
                     std::span<const trace::EventStore> traces = {}) {
  std::vector<RunEvidence> evidence;
  for (const record::RunRecord& run : runs) evidence.push_back({&run, traces});
  return ProfileComms(evidence);
}

constexpr StepShape kShape = {.samples = 8,
                              .step = 100,
                              .data = 10,
                              .forward = 20,
                              .backward = 40,
                              .comm_wait = 15,
                              .optimizer = 5};

TEST(TracedSteps, ExposedTimeIsWhatNoComputationHides) {
  const auto traces = TwoRankStep();
  const auto steps = PhasesOfTraces(traces, MatchCollectives(traces));
  ASSERT_EQ(steps.size(), 2u);
  const TracedStep& zero = steps[0];
  EXPECT_EQ(zero.step, 7);
  EXPECT_EQ(zero.rank, 0);
  EXPECT_EQ(zero.comm_ns, 430);     // [400,600) and [650,880)
  EXPECT_EQ(zero.compute_ns, 700);  // [100,700) and [900,1000)
  EXPECT_EQ(zero.overlapped_ns, 250);
  EXPECT_EQ(zero.exposed_ns, 180);      // [700,880)
  EXPECT_EQ(zero.exposed_wait_ns, 60);  // until rank 1 arrives at 760
  EXPECT_EQ(zero.exposed_transfer_ns, 120);
  EXPECT_EQ(zero.exposed_unmatched_ns, 0);
  EXPECT_EQ(zero.wait_ns, 210);
  EXPECT_EQ(zero.transfer_ns, 220);
  EXPECT_EQ(zero.collectives, 2);
  const TracedStep& one = steps[1];
  EXPECT_EQ(one.comm_ns, 240);
  EXPECT_EQ(one.overlapped_ns, 110);
  EXPECT_EQ(one.exposed_ns, 130);
  EXPECT_EQ(one.exposed_wait_ns, 0);
  EXPECT_EQ(one.wait_ns, 0);
}

TEST(TracedSteps, AStepCutsASpanThatCrossesItsBorder) {
  std::vector<trace::EventStore> traces = {MadeStore(0)};
  AddSpan(traces[0], "ProfilerStep#1", 0, 100);
  AddSpan(traces[0], "ProfilerStep#2", 100, 200);
  AddCollective(traces[0], 0, 90, 130, 8);
  traces[0].Sort();
  const auto steps = PhasesOfTraces(traces, MatchCollectives(traces));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].comm_ns, 10);
  EXPECT_EQ(steps[1].comm_ns, 30);
  EXPECT_EQ(steps[1].exposed_unmatched_ns, 30);
  EXPECT_EQ(steps[0].collectives + steps[1].collectives, 1);
}

TEST(TracedSteps, OnAGpuKernelsAreTheComputation) {
  std::vector<trace::EventStore> traces = {MadeStore(0)};
  AddSpan(traces[0], "ProfilerStep#1", 0, 100);
  AddSpan(traces[0], "backward", 0, 100);  // host side only
  traces[0].Append(20, 50, 0, 0, 7, traces[0].strings.Intern("kernel"),
                   traces[0].strings.Intern("gemm"));
  AddCollective(traces[0], 0, 40, 80, 8);
  traces[0].Sort();
  const auto steps = PhasesOfTraces(traces, MatchCollectives(traces));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].exposed_ns, 30);
  EXPECT_EQ(steps[0].compute_ns, 30);
}

TEST(RunPhases, PartsAddUpAndLeaveOther) {
  const record::RunRecord run = MadeRun({kShape, kShape}, 8);
  StepCoverage coverage;
  const auto steps = PhasesOfRun(run, 2, &coverage);
  EXPECT_EQ(coverage.warmup_steps, 2);
  EXPECT_EQ(coverage.steps_used, 6);
  ASSERT_EQ(steps.size(), 12u);
  EXPECT_EQ(steps[0].step, 2);
  EXPECT_EQ(steps[0].exposed_comm_ns, 15'000'000);
  EXPECT_EQ(steps[0].other_ns, 10'000'000);
}

TEST(RunPhases, OddRecordsAreCountedAndMadeHarmless) {
  record::RunRecord run = MadeRun({kShape, kShape}, 8);
  run.steps[0][1].step_ns = 0;  // zero on both ranks: left out
  run.steps[1][1].step_ns = 0;
  run.steps[1].erase(run.steps[1].begin() + 5);  // missing on rank 1
  run.steps[0].push_back(run.steps[0][7]);       // written twice
  run.steps[0][7].step_ns = -5;
  run.steps[0][6].backward_ns = 200'000'000;  // longer than its step
  StepCoverage coverage;
  const auto steps = PhasesOfRun(run, 0, &coverage);
  EXPECT_EQ(coverage.steps_seen, 8);
  EXPECT_EQ(coverage.zero_steps, 1);
  EXPECT_EQ(coverage.incomplete_steps, 1);
  EXPECT_EQ(coverage.repeated_records, 1);
  EXPECT_EQ(coverage.overfull_records, 1);
  EXPECT_EQ(coverage.steps_used, 6);
  for (const StepPhases& p : steps) {
    EXPECT_GE(p.other_ns, 0);
    EXPECT_EQ(p.data_ns + p.forward_ns + p.backward_ns + p.exposed_comm_ns +
                  p.optimizer_ns + p.other_ns,
              p.step_ns);
  }
}

TEST(CommsProfile, SharesAreSumsOverRanksOfStepTime) {
  StepShape slow = kShape;
  slow.comm_wait = 5;
  slow.backward = 50;
  const CommsProfile profile = Profile({MadeRun({kShape, slow}, 40)});
  EXPECT_EQ(profile.interval_over, "step blocks");
  EXPECT_DOUBLE_EQ(*profile.exposed_share.value, 0.10);  // (15 + 5) / 200
  EXPECT_DOUBLE_EQ(*profile.backward_share.value, 0.45);
  EXPECT_NEAR(*profile.step_seconds.value, 0.1, 1e-12);
  EXPECT_EQ(profile.exposed_share.n, 10);
  EXPECT_EQ(profile.exposed_share.n_of, "step blocks");
  EXPECT_NEAR(*profile.exposed_share.low, 0.10, 1e-12);  // all blocks are equal
  EXPECT_NEAR(*profile.load_balance.value, 70.0 / 75.0, 1e-12);
  EXPECT_EQ(profile.slowest_rank, 1);
  EXPECT_NEAR(*profile.slowest_over_others.value, 75.0 / 65.0, 1e-12);
  EXPECT_DOUBLE_EQ(*profile.bytes_per_step.value, 4096);
  EXPECT_DOUBLE_EQ(*profile.faults_per_step.value, 10);
  EXPECT_FALSE(profile.wait_share.value.has_value());
  EXPECT_EQ(profile.wait_share.method, "no traced step");
}

TEST(CommsProfile, TheIntervalIsATIntervalOverBlocks) {
  // Four steps in two blocks: exposed 10 and 20 of 100 ms. Mean 0.15, t(1) = 12.7062,
  // s / sqrt(2) = 0.05.
  record::RunRecord run = MadeRun({kShape, kShape}, 4);
  for (auto& rank : run.steps) {
    for (size_t i = 0; i < 4; ++i)
      rank[i].comm_wait_ns = i < 2 ? 10'000'000 : 20'000'000;
  }
  const std::vector<RunEvidence> evidence = {{&run, {}}};
  const CommsProfile profile = ProfileComms(evidence, {.warmup_steps = 0, .blocks = 2});
  EXPECT_NEAR(*profile.exposed_share.value, 0.15, 1e-12);
  EXPECT_NEAR(*profile.exposed_share.high, 0.15 + 12.706205 * 0.05, 1e-6);
  EXPECT_DOUBLE_EQ(*profile.exposed_share.low, 0.0);  // cut
}

TEST(CommsProfile, ThreeRunsAreTheSampleOfTheInterval) {
  std::vector<record::RunRecord> runs;
  for (const double wait : {10.0, 12.0, 14.0}) {
    StepShape shape = kShape;
    shape.comm_wait = wait;
    runs.push_back(MadeRun({shape, shape}, 20));
  }
  const CommsProfile profile = Profile(runs);
  EXPECT_EQ(profile.interval_over, "runs");
  EXPECT_EQ(profile.exposed_share.n, 3);
  EXPECT_NEAR(*profile.exposed_share.value, 0.12, 1e-12);
  // t(2) = 4.302653, s = 0.02.
  EXPECT_NEAR(*profile.exposed_share.high, 0.12 + 4.302653 * 0.02 / std::sqrt(3.0),
              1e-6);
}

TEST(CommsProfile, TracesGiveWaitTransferAndTheTableOfCollectives) {
  const auto traces = TwoRankStep();
  const CommsProfile profile = Profile({MadeRun({kShape, kShape}, 8)}, traces);
  EXPECT_EQ(profile.traced_steps, 2);
  EXPECT_DOUBLE_EQ(*profile.traced_exposed_share.value, 310.0 / 2000);
  EXPECT_DOUBLE_EQ(*profile.comm_share.value, 670.0 / 2000);
  EXPECT_DOUBLE_EQ(*profile.overlap_share.value, 360.0 / 670);
  EXPECT_DOUBLE_EQ(*profile.wait_share.value, 210.0 / 2000);
  EXPECT_DOUBLE_EQ(*profile.transfer_share.value, 460.0 / 2000);
  EXPECT_DOUBLE_EQ(*profile.exposed_wait_share.value, 60.0 / 2000);
  EXPECT_DOUBLE_EQ(*profile.exposed_transfer_share.value, 250.0 / 2000);
  ASSERT_EQ(profile.collectives.size(), 2u);
  const CollectiveRow& longest = profile.collectives[0];
  EXPECT_EQ(longest.bytes, 1300);
  EXPECT_EQ(longest.count, 1);
  EXPECT_NEAR(*longest.wait_us.value, 0.055, 1e-12);  // mean of 110 and 0 ns
  EXPECT_NEAR(*longest.transfer_us.value, 0.130, 1e-12);
  EXPECT_NEAR(*longest.bus_bandwidth.value, 10.0, 1e-9);  // 1300 B in 130 ns
  ASSERT_EQ(profile.ranks.size(), 2u);
  EXPECT_EQ(profile.ranks[1].times_last, 2);
  EXPECT_EQ(profile.ranks[1].wait_caused_ns, 210);
  EXPECT_EQ(profile.ranks[0].wait_ns, 210);
  EXPECT_EQ(profile.ranks[0].times_last, 0);
  EXPECT_TRUE(profile.matching.valid);
}

TEST(CommsProfile, AnInvalidMatchingRefusesWaitAndTransfer) {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  for (int r = 0; r < 2; ++r) {
    auto& store = traces[static_cast<size_t>(r)];
    AddSpan(store, "ProfilerStep#1", 0, 2'000'000);
    AddCollective(store, 0, r * 1'000'000, r * 1'000'000 + 100'000, 8);
    store.Sort();
  }
  const CommsProfile profile = Profile({MadeRun({kShape, kShape}, 8)}, traces);
  EXPECT_FALSE(profile.matching.valid);
  EXPECT_FALSE(profile.wait_share.value.has_value());
  EXPECT_TRUE(profile.wait_share.method.starts_with("refused: "));
  EXPECT_FALSE(profile.collectives[0].bus_bandwidth.value.has_value());
  EXPECT_DOUBLE_EQ(*profile.traced_exposed_share.value, 0.05);  // needs no partner
}

TEST(CommsProfile, OneRankHasNoCommunication) {
  const CommsProfile profile = Profile({MadeRun({kShape}, 12)});
  EXPECT_DOUBLE_EQ(*profile.exposed_share.value, 0);
  EXPECT_DOUBLE_EQ(*profile.wait_share.value, 0);
  EXPECT_NEAR(*profile.other_share.value, 0.25, 1e-12);  // its comm_wait is other
  EXPECT_EQ(profile.slowest_rank, -1);
  EXPECT_DOUBLE_EQ(*profile.load_balance.value, 1);
}

TEST(CommsProfile, EmptyRunsGiveAbsentEstimatesWithReasons) {
  for (const auto& runs : {std::vector<record::RunRecord>{},
                           {record::RunRecord{}},
                           {MadeRun({kShape, kShape}, 0)}}) {
    const CommsProfile profile = Profile(runs);
    EXPECT_FALSE(profile.exposed_share.value.has_value());
    EXPECT_FALSE(profile.exposed_share.method.empty());
    EXPECT_FALSE(profile.load_balance.value.has_value());
    EXPECT_FALSE(ToJson(profile).Dump().empty());
  }
}

TEST(CommsProfile, OneStepGivesAValueWithoutAnInterval) {
  const CommsProfile profile = Profile({MadeRun({kShape, kShape}, 1)});
  EXPECT_DOUBLE_EQ(*profile.exposed_share.value, 0.15);
  EXPECT_FALSE(profile.exposed_share.low.has_value());
}

TEST(CommsProfile, AMissingRankIsNamed) {
  record::RunRecord run = MadeRun({kShape, kShape, kShape}, 8);
  run.steps[1].clear();
  const CommsProfile profile = Profile({run});
  EXPECT_EQ(profile.coverage.missing_ranks, std::vector<int>{1});
  EXPECT_DOUBLE_EQ(*profile.exposed_share.value, 0.15);
  ASSERT_EQ(profile.ranks.size(), 2u);
  EXPECT_EQ(profile.ranks[1].rank, 2);
}

TEST(CommsProfile, JsonNamesSchemaAndUnits) {
  const base::Json json = ToJson(Profile({MadeRun({kShape, kShape}, 8)}));
  EXPECT_EQ(json["schema"].AsString(), "stepslack.comms_profile/1");
  EXPECT_DOUBLE_EQ(json["exposed_share"]["value"].AsDouble(), 0.15);
  EXPECT_EQ(json["ranks"].AsArray()[0]["exposed_comm_ns"].AsInt(), 6 * 15'000'000);
}

TEST(PhaseNames, AnnotationsOfSeveralTrainersAreKnown) {
  EXPECT_EQ(PhaseOfSpan("forward"), Phase::kForward);
  EXPECT_EQ(PhaseOfSpan("## Backward ##"), Phase::kBackward);
  EXPECT_EQ(PhaseOfSpan("Optimizer.step#Adam.step"), Phase::kOptimizer);
  EXPECT_EQ(PhaseOfSpan("enumerate(DataLoader)#_SingleProcess.__next__"), Phase::kData);
  EXPECT_EQ(PhaseOfSpan("comm_wait"), Phase::kCommWait);
  EXPECT_EQ(PhaseOfSpan("aten::forward"), Phase::kOther);
  EXPECT_EQ(StepOfSpan("ProfilerStep#12"), 12);
  EXPECT_EQ(StepOfSpan("ProfilerStep#x"), -1);
  EXPECT_EQ(StepOfSpan("ProfilerStep"), -1);
}

std::vector<trace::EventStore> RandomTraces() {
  std::vector<trace::EventStore> traces;
  for (int r = 0; r < 2; ++r) {
    trace::EventStore store = MadeStore(r);
    AddSpan(store, "ProfilerStep#1", 0, 500);
    AddSpan(store, "ProfilerStep#2", 500, 1000);
    for (const char* name : {"forward", "backward", "comm_wait", "optimizer"}) {
      const int64_t start = *rc::gen::inRange<int64_t>(0, 900);
      AddSpan(store, name, start, start + *rc::gen::inRange<int64_t>(0, 300));
    }
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t start = *rc::gen::inRange<int64_t>(0, 900);
      AddCollective(store, k, start, start + *rc::gen::inRange<int64_t>(0, 300), 64);
    }
    traces.push_back(std::move(store));
  }
  return traces;
}

RC_GTEST_PROP(TracedStepsProperty, PartsOfCommunicationAddUp, ()) {
  const auto traces = RandomTraces();
  for (const TracedStep& s : PhasesOfTraces(traces, MatchCollectives(traces))) {
    RC_ASSERT(s.exposed_ns <= s.comm_ns);
    RC_ASSERT(s.exposed_ns + s.overlapped_ns == s.comm_ns);
    RC_ASSERT(s.wait_ns + s.transfer_ns == s.comm_ns);  // all are matched
    RC_ASSERT(s.exposed_wait_ns + s.exposed_transfer_ns == s.exposed_ns);
    RC_ASSERT(s.exposed_unmatched_ns == 0);
    RC_ASSERT(s.comm_ns <= s.end_ns - s.start_ns);
  }
}

RC_GTEST_PROP(TracedStepsProperty, TheOrderOfEventsChangesNothing, ()) {
  auto traces = RandomTraces();
  const auto unsorted = PhasesOfTraces(traces, MatchCollectives(traces));
  for (auto& store : traces) store.Sort();
  const auto sorted = PhasesOfTraces(traces, MatchCollectives(traces));
  RC_ASSERT(unsorted.size() == sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    RC_ASSERT(unsorted[i].exposed_ns == sorted[i].exposed_ns);
    RC_ASSERT(unsorted[i].wait_ns == sorted[i].wait_ns);
    RC_ASSERT(unsorted[i].compute_ns == sorted[i].compute_ns);
    RC_ASSERT(unsorted[i].exposed_transfer_ns == sorted[i].exposed_transfer_ns);
  }
}

}  // namespace
}  // namespace stepslack::analyze
