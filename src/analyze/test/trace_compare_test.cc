#include "stepslack/analyze/trace_compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::analyze {
namespace {

TraceStep MadeStep(int64_t number, int64_t exposed_ns, int64_t forward_ns) {
  TraceStep step;
  step.step = number;
  step.start_ns = number * 1000;
  step.end_ns = number * 1000 + 1000;
  step.device.span_ns = 1000;
  step.device.exposed_comm_ns = exposed_ns;
  step.phases.forward_ns = forward_ns;
  return step;
}

void AddKernel(RankTrace& trace, std::string_view name, KernelKind kind, int64_t count,
               int64_t total_ns) {
  KernelRow row;
  row.name = trace.strings.Intern(name);
  row.kind = kind;
  row.count = count;
  row.total_ns = total_ns;
  trace.kernels.push_back(row);
}

void AddCollective(RankTrace& trace, std::string_view op, int64_t start, int64_t end) {
  CollectiveSpan span;
  span.op = trace.strings.Intern(op);
  span.start_ns = start;
  span.end_ns = end;
  trace.collectives.push_back(span);
}

const TimeDelta& Named(const std::vector<TimeDelta>& deltas, std::string_view name) {
  for (const TimeDelta& delta : deltas) {
    if (delta.name == name) return delta;
  }
  static const TimeDelta kNone;
  ADD_FAILURE() << "no delta named " << name;
  return kNone;
}

TEST(TraceCompare, KernelsArePerRankStepAndSortedByChange) {
  // A: 2 ranks x 2 steps; B: 1 rank x 2 steps.
  std::vector<RankTrace> a(2);
  std::vector<RankTrace> b(1);
  for (RankTrace& rank : a) {
    rank.steps = {MadeStep(0, 10, 100), MadeStep(1, 10, 100)};
    AddKernel(rank, "gemm<128>", KernelKind::kCompute, 4, 400);
    AddKernel(rank, "old", KernelKind::kCompute, 2, 20);
  }
  b[0].steps = {MadeStep(0, 10, 100), MadeStep(1, 10, 100)};
  AddKernel(b[0], "gemm<128>", KernelKind::kCompute, 4, 600);
  AddKernel(b[0], "ncclDevKernel", KernelKind::kCommunication, 1, 8);
  const TraceComparison result = CompareTraces(a, b);
  EXPECT_TRUE(result.per_step);
  EXPECT_EQ(result.a.rank_steps, 4);
  EXPECT_EQ(result.b.rank_steps, 2);
  ASSERT_EQ(result.kernels.size(), 3u);
  const TimeDelta& gemm = result.kernels[0];
  EXPECT_EQ(gemm.name, "gemm<128>");
  EXPECT_EQ(gemm.total_a_ns, 800);
  EXPECT_DOUBLE_EQ(gemm.a_ns, 200);
  EXPECT_DOUBLE_EQ(gemm.b_ns, 300);
  EXPECT_DOUBLE_EQ(gemm.delta_ns, 100);
  EXPECT_DOUBLE_EQ(gemm.calls_a, 2);
  EXPECT_DOUBLE_EQ(gemm.call_a_ns, 100);
  EXPECT_DOUBLE_EQ(gemm.call_b_ns, 150);
  EXPECT_DOUBLE_EQ(gemm.ratio.value.value_or(0), 1.5);
  EXPECT_FALSE(gemm.ratio.low.has_value());
  EXPECT_EQ(result.kernels[1].name, "old");
  EXPECT_EQ(result.kernels[1].presence, Presence::kOnlyA);
  EXPECT_DOUBLE_EQ(result.kernels[1].delta_ns, -10);
  EXPECT_EQ(result.kernels[2].presence, Presence::kOnlyB);
  EXPECT_EQ(result.kernels[2].kind, "communication");
  EXPECT_FALSE(result.kernels[2].ratio.value.has_value());
}

TEST(TraceCompare, ThreeStepsASideGiveAnIntervalOnTheRatio) {
  std::vector<RankTrace> a(2);
  std::vector<RankTrace> b(1);
  // Means over the two ranks: 100, 200, 400; B: 200, 400, 800.
  a[0].steps = {MadeStep(0, 50, 1), MadeStep(1, 100, 1), MadeStep(2, 300, 1)};
  a[1].steps = {MadeStep(0, 150, 1), MadeStep(1, 300, 1), MadeStep(2, 500, 1)};
  b[0].steps = {MadeStep(5, 200, 1), MadeStep(6, 400, 1), MadeStep(7, 800, 1)};
  const TraceComparison result = CompareTraces(a, b);
  const TimeDelta& exposed = Named(result.device, "exposed_comm");
  EXPECT_DOUBLE_EQ(exposed.a_ns, 1400.0 / 6);
  EXPECT_DOUBLE_EQ(exposed.b_ns, 1400.0 / 3);
  EXPECT_NEAR(exposed.ratio.value.value_or(0), 2.0, 1e-12);
  EXPECT_EQ(exposed.ratio.n, 6);
  // Logs on each side: variance ln(2)^2, so the standard error is ln(2) sqrt(2/3);
  // 4 degrees of freedom, t = 2.7764451.
  const double half = 2.7764451052 * std::log(2.0) * std::sqrt(2.0 / 3.0);
  EXPECT_NEAR(exposed.ratio.low.value_or(0), 2.0 * std::exp(-half), 1e-6);
  EXPECT_NEAR(exposed.ratio.high.value_or(0), 2.0 * std::exp(half), 1e-6);
}

TEST(TraceCompare, TwoStepsGiveNoIntervalAndSaySo) {
  std::vector<RankTrace> a(1);
  a[0].steps = {MadeStep(0, 10, 100), MadeStep(1, 20, 100)};
  std::vector<RankTrace> b = a;
  b[0].steps.push_back(MadeStep(2, 30, 130));
  const TraceComparison result = CompareTraces(a, b);
  const TimeDelta& forward = Named(result.phases, "forward");
  EXPECT_DOUBLE_EQ(forward.delta_ns, 10);
  EXPECT_FALSE(forward.ratio.low.has_value());
  EXPECT_NE(forward.ratio.method.find("fewer than 3 steps"), std::string::npos);
}

TEST(TraceCompare, AStepWithoutTheTimeGivesNoInterval) {
  std::vector<RankTrace> a(1);
  a[0].steps = {MadeStep(0, 0, 1), MadeStep(1, 20, 1), MadeStep(2, 10, 1)};
  const TraceComparison result = CompareTraces(a, a);
  const TimeDelta& exposed = Named(result.device, "exposed_comm");
  EXPECT_DOUBLE_EQ(exposed.ratio.value.value_or(0), 1.0);
  EXPECT_FALSE(exposed.ratio.low.has_value());
  EXPECT_NE(exposed.ratio.method.find("a step has none"), std::string::npos);
}

TEST(TraceCompare, CollectivesCountInTheStepTheyStartIn) {
  std::vector<RankTrace> a(1);
  a[0].steps = {MadeStep(0, 1, 1), MadeStep(1, 1, 1), MadeStep(2, 1, 1)};
  AddCollective(a[0], "all_reduce", -50, -10);  // before the first step
  AddCollective(a[0], "all_reduce", 990, 1090);
  AddCollective(a[0], "all_reduce", 1500, 1700);
  AddCollective(a[0], "all_gather", 2999, 3009);
  AddCollective(a[0], "all_gather", 3000, 3010);  // at the end of the last step
  std::vector<RankTrace> b = a;
  b[0].collectives.clear();
  const TraceComparison result = CompareTraces(a, b);
  EXPECT_EQ(result.a.collectives_outside, 2);
  ASSERT_EQ(result.collectives.size(), 2u);
  EXPECT_EQ(result.collectives[0].name, "all_reduce");
  EXPECT_EQ(result.collectives[0].total_a_ns, 300);
  EXPECT_EQ(result.collectives[0].count_a, 2);
  EXPECT_DOUBLE_EQ(result.collectives[0].delta_ns, -100);
  EXPECT_EQ(result.collectives[0].presence, Presence::kOnlyA);
}

TEST(TraceCompare, WithoutStepsTotalsArePerRank) {
  std::vector<RankTrace> a(2);
  a[0].total.compute_ns = 300;
  a[1].total.compute_ns = 500;
  a[1].steps = {MadeStep(0, 1, 1)};
  std::vector<RankTrace> b(1);
  b[0].total.compute_ns = 100;
  const TraceComparison result = CompareTraces(a, b);
  EXPECT_FALSE(result.per_step);
  const TimeDelta& compute = Named(result.device, "compute");
  EXPECT_DOUBLE_EQ(compute.a_ns, 400);
  EXPECT_DOUBLE_EQ(compute.delta_ns, -300);
  EXPECT_NE(result.basis.find("not every rank has steps"), std::string::npos);
}

TEST(TraceCompare, NothingAgainstNothingIsEmpty) {
  const TraceComparison result = CompareTraces({}, {});
  EXPECT_TRUE(result.kernels.empty() && result.device.empty());
  EXPECT_FALSE(result.per_step);
}

TEST(TraceCompare, JsonHoldsTheDeltas) {
  std::vector<RankTrace> a(1);
  a[0].steps = {MadeStep(0, 1, 1)};
  AddKernel(a[0], "k", KernelKind::kMemory, 2, 10);
  const base::Json json = ToJson(CompareTraces(a, {}));
  EXPECT_EQ(json["schema"].AsString(), "stepslack.trace_comparison/1");
  const base::Json& kernel = json["kernels"].AsArray().at(0);
  EXPECT_EQ(kernel["presence"].AsString(), "vanished");
  EXPECT_EQ(kernel["kind"].AsString(), "memory");
  EXPECT_EQ(kernel["total_a_ns"].AsInt(), 10);
}

}  // namespace
}  // namespace stepslack::analyze
