#include "pipeline_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace stepslack::analyze {
namespace {

using trace::OpType;

constexpr int64_t kMs = 1'000'000;

PipelineOp Op(OpType type, int32_t stage, int32_t seq, int64_t start_ms, int64_t end_ms,
              int32_t chunk = 0) {
  return {type, stage, seq, chunk, -1, start_ms * kMs, end_ms * kMs};
}

void Sort(std::vector<PipelineOp>& ops) {
  std::sort(ops.begin(), ops.end(), [](const PipelineOp& a, const PipelineOp& b) {
    return std::tie(a.stage, a.type, a.seq) < std::tie(b.stage, b.type, b.seq);
  });
}

OpIndex At(const std::vector<PipelineOp>& ops, OpType type, int32_t stage,
           int32_t seq) {
  for (OpIndex i = 0; i < ops.size(); ++i) {
    if (ops[i].type == type && ops[i].stage == stage && ops[i].seq == seq) return i;
  }
  ADD_FAILURE() << "no such operation";
  return 0;
}

bool Waits(const PipelineLinks& links, OpIndex after, OpIndex before) {
  return std::any_of(links.edges.begin(), links.edges.end(), [&](const OpEdge& e) {
    return e.before == before && e.after == after;
  });
}

bool Grouped(const PipelineLinks& links, std::vector<OpIndex> group) {
  std::sort(group.begin(), group.end());
  return std::any_of(links.groups.begin(), links.groups.end(),
                     [&](std::vector<OpIndex> other) {
                       std::sort(other.begin(), other.end());
                       return other == group;
                     });
}

// Two stages, one micro batch, with everything that ends a step.
std::vector<PipelineOp> WholeStep() {
  std::vector<PipelineOp> ops = {
      Op(OpType::kForwardCompute, 0, 0, 1, 10),
      Op(OpType::kForwardSend, 0, 0, 10, 12),
      Op(OpType::kBackwardRecv, 0, 0, 12, 32),
      Op(OpType::kBackwardCompute, 0, 0, 32, 40),
      Op(OpType::kForwardRecv, 1, 0, 1, 12),
      Op(OpType::kForwardCompute, 1, 0, 12, 20),
      Op(OpType::kBackwardCompute, 1, 0, 20, 30),
      Op(OpType::kBackwardSend, 1, 0, 30, 32),
  };
  for (const int32_t stage : {0, 1}) {
    ops.push_back(Op(OpType::kParamsAllGather, stage, 0, 0, 1));
    ops.push_back(Op(OpType::kGc, stage, 0, 40, 40));
    ops.push_back(Op(OpType::kLayernormGradsAllReduce, stage, 0, 40, 41));
    ops.push_back(Op(OpType::kEmbeddingGradsAllReduce, stage, 0, 41, 43));
    ops.push_back(Op(OpType::kGradsReduceScatter, stage, 0, 43, 45));
    ops.push_back(Op(OpType::kOptimizerClipMainGrad, stage, 0, 45, 46));
    ops.push_back(Op(OpType::kOptimizer, stage, 0, 46, 50));
  }
  Sort(ops);
  return ops;
}

TEST(LinkPipeline, SendsFollowAndReceivesPrecedeTheirComputation) {
  const auto ops = WholeStep();
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_TRUE(links.has_value());
  const auto send = At(ops, OpType::kForwardSend, 0, 0);
  const auto recv = At(ops, OpType::kForwardRecv, 1, 0);
  EXPECT_TRUE(Waits(*links, send, At(ops, OpType::kForwardCompute, 0, 0)));
  EXPECT_TRUE(Waits(*links, At(ops, OpType::kForwardCompute, 1, 0), recv));
  EXPECT_TRUE(Grouped(*links, {send, recv}));
  EXPECT_TRUE(Grouped(*links, {At(ops, OpType::kBackwardSend, 1, 0),
                               At(ops, OpType::kBackwardRecv, 0, 0)}));
}

TEST(LinkPipeline, TheEndOfAStepIsAChain) {
  const auto ops = WholeStep();
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_TRUE(links.has_value());
  const std::vector<OpType> chain = {OpType::kBackwardCompute,
                                     OpType::kGc,
                                     OpType::kLayernormGradsAllReduce,
                                     OpType::kEmbeddingGradsAllReduce,
                                     OpType::kGradsReduceScatter,
                                     OpType::kOptimizerClipMainGrad,
                                     OpType::kOptimizer};
  for (size_t i = 1; i < chain.size(); ++i) {
    EXPECT_TRUE(Waits(*links, At(ops, chain[i], 1, 0), At(ops, chain[i - 1], 1, 0)));
  }
  EXPECT_TRUE(Waits(*links, At(ops, OpType::kForwardCompute, 0, 0),
                    At(ops, OpType::kParamsAllGather, 0, 0)));
}

TEST(LinkPipeline, CollectivesSpanTheirWorkers) {
  const auto ops = WholeStep();
  const auto links = LinkPipeline(ops, {2, 2, 1});
  ASSERT_TRUE(links.has_value());
  const auto other = static_cast<OpIndex>(ops.size());  // data-parallel rank 1
  const auto scatter = At(ops, OpType::kGradsReduceScatter, 1, 0);
  EXPECT_TRUE(Grouped(*links, {scatter, other + scatter}));
  const auto first = At(ops, OpType::kEmbeddingGradsAllReduce, 0, 0);
  const auto last = At(ops, OpType::kEmbeddingGradsAllReduce, 1, 0);
  EXPECT_TRUE(Grouped(*links, {first, last}));
  EXPECT_TRUE(Grouped(*links, {other + first, other + last}));
  const auto clip0 = At(ops, OpType::kOptimizerClipMainGrad, 0, 0);
  const auto clip1 = At(ops, OpType::kOptimizerClipMainGrad, 1, 0);
  EXPECT_TRUE(Grouped(*links, {clip0, clip1, other + clip0, other + clip1}));
}

TEST(LinkPipeline, OverlappedGradientsFollowTheirLastBackward) {
  auto ops = WholeStep();
  for (const int32_t stage : {0, 1}) {
    ops.push_back(Op(OpType::kSeparateGradsAllReduce, stage, 0, 44, 45));
  }
  Sort(ops);
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_TRUE(links.has_value());
  const auto scatter = At(ops, OpType::kGradsReduceScatter, 0, 0);
  EXPECT_TRUE(Waits(*links, scatter, At(ops, OpType::kBackwardCompute, 0, 0)));
  EXPECT_TRUE(Waits(*links, At(ops, OpType::kLayernormGradsAllReduce, 0, 0), scatter));
  EXPECT_TRUE(Waits(*links, At(ops, OpType::kOptimizerClipMainGrad, 0, 0),
                    At(ops, OpType::kSeparateGradsAllReduce, 0, 0)));
}

// Two stages with two chunks each, one micro batch: the model's chunks run on stages
// 0, 1, 0, 1, so messages wrap around.
TEST(LinkPipeline, WithModelChunksMessagesWrapAround) {
  std::vector<PipelineOp> ops;
  for (const int32_t stage : {0, 1}) {
    for (const int32_t chunk : {0, 1}) {
      const int64_t at = 10 * (2 * chunk + stage);
      ops.push_back(Op(OpType::kForwardCompute, stage, chunk, at + 2, at + 8, chunk));
      ops.push_back(Op(OpType::kForwardRecv, stage, chunk, at, at + 2));
      ops.push_back(Op(OpType::kForwardSend, stage, chunk, at + 8, at + 10));
    }
  }
  Sort(ops);
  const auto links = LinkPipeline(ops, {1, 2, 2});
  ASSERT_TRUE(links.has_value());
  const auto send = [&](int32_t s, int32_t k) {
    return At(ops, OpType::kForwardSend, s, k);
  };
  const auto recv = [&](int32_t s, int32_t k) {
    return At(ops, OpType::kForwardRecv, s, k);
  };
  EXPECT_EQ(links->groups.size(), 3u);
  EXPECT_TRUE(Grouped(*links, {send(0, 0), recv(1, 0)}));
  EXPECT_TRUE(Grouped(*links, {send(1, 0), recv(0, 1)}));  // chunk 1 to chunk 2
  EXPECT_TRUE(Grouped(*links, {send(0, 1), recv(1, 1)}));
  // recv(0, 0) and send(1, 1) reach outside the model and have no partner.
}

// Two micro batches, one forward one backward; stage 0 runs F0 F1 B0 B1.
TEST(LinkPipeline, MessagesArePostedAfterTheComputationBefore) {
  std::vector<PipelineOp> ops;
  for (const int32_t k : {0, 1}) {
    ops.push_back(Op(OpType::kForwardCompute, 0, k, 10 * k, 10 * k + 10));
    ops.push_back(Op(OpType::kForwardSend, 0, k, 10 * k + 10, 10 * k + 11));
    ops.push_back(Op(OpType::kBackwardRecv, 0, k, 20 + 30 * k, 40 + 20 * k));
    ops.push_back(Op(OpType::kBackwardCompute, 0, k, 40 + 20 * k, 50 + 20 * k));
    ops.push_back(Op(OpType::kForwardRecv, 1, k, 20 * k, 20 * k + 11));
    ops.push_back(Op(OpType::kForwardCompute, 1, k, 11 + 20 * k, 20 + 20 * k));
    ops.push_back(Op(OpType::kBackwardCompute, 1, k, 20 + 20 * k, 30 + 20 * k));
    ops.push_back(Op(OpType::kBackwardSend, 1, k, 30 + 20 * k, 40 + 20 * k));
  }
  Sort(ops);
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_TRUE(links.has_value()) << links.error().what;
  const auto forward0 = At(ops, OpType::kForwardCompute, 0, 0);
  const auto forward1 = At(ops, OpType::kForwardCompute, 0, 1);
  const auto recv0 = At(ops, OpType::kBackwardRecv, 0, 0);
  const auto recv1 = At(ops, OpType::kBackwardRecv, 0, 1);
  EXPECT_TRUE(Waits(*links, recv1, At(ops, OpType::kBackwardCompute, 0, 0)));
  // The first one waits for the forward before the last, not for the last.
  EXPECT_TRUE(Waits(*links, recv0, forward0));
  EXPECT_FALSE(Waits(*links, recv0, forward1));
  EXPECT_TRUE(Waits(*links, recv1, recv0));
  EXPECT_TRUE(Waits(*links, At(ops, OpType::kForwardRecv, 1, 1),
                    At(ops, OpType::kForwardCompute, 1, 0)));
}

TEST(LinkPipeline, AMessageTooManyIsNamed) {
  auto ops = WholeStep();
  ops.push_back(Op(OpType::kForwardSend, 0, 1, 13, 14));
  Sort(ops);
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_FALSE(links.has_value());
  EXPECT_EQ(links.error().id, "ANL-0142");
  EXPECT_EQ(links.error().where, "stage 0");
  EXPECT_EQ(links.error().what, "2 of forward-send do not match 1 computations");
}

TEST(LinkPipeline, MessagesBeforeTheFirstComputationWereNeverLaunched) {
  auto ops = WholeStep();
  for (PipelineOp& op : ops) {
    if (op.type == OpType::kBackwardSend || op.type == OpType::kForwardSend) ++op.seq;
  }
  ops.push_back(Op(OpType::kForwardSend, 0, 0, 0, 1));
  ops.push_back(Op(OpType::kBackwardSend, 1, 0, 0, 1));
  Sort(ops);
  const auto links = LinkPipeline(ops, {1, 2, 1});
  ASSERT_TRUE(links.has_value()) << links.error().what;
  EXPECT_TRUE(Grouped(*links, {At(ops, OpType::kForwardSend, 0, 1),
                               At(ops, OpType::kForwardRecv, 1, 0)}));
}

}  // namespace
}  // namespace stepslack::analyze
