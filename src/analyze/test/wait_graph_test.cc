#include "wait_graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepslack::analyze {
namespace {

using Nodes = std::vector<size_t>;

TEST(WaitGraph, SinkIsTheEndOfAChain) {
  WaitGraph graph(4);
  graph.Add(0, 1, true);
  graph.Add(1, 2, true);
  EXPECT_EQ(graph.Sinks(), (std::vector<Nodes>{{2}}));
}

TEST(WaitGraph, NodeThatNobodyWaitsForIsNoSink) {
  EXPECT_TRUE(WaitGraph(3).Sinks().empty());
}

TEST(WaitGraph, CircleThatLeavesNowhereIsOneSink) {
  WaitGraph graph(5);
  graph.Add(0, 1, true);
  graph.Add(1, 3, true);
  graph.Add(3, 1, true);
  graph.Add(0, 4, false);
  EXPECT_EQ(graph.Sinks(), (std::vector<Nodes>{{1, 3}, {4}}));
}

TEST(WaitGraph, CircleThatWaitsForSomebodyElseIsNoSink) {
  WaitGraph graph(3);
  graph.Add(0, 1, true);
  graph.Add(1, 0, true);
  graph.Add(1, 2, true);
  EXPECT_EQ(graph.Sinks(), (std::vector<Nodes>{{2}}));
}

TEST(WaitGraph, NodeDoesNotWaitForItself) {
  WaitGraph graph(2);
  graph.Add(1, 1, true);
  EXPECT_FALSE(graph.Waits(1, 1));
  EXPECT_TRUE(graph.Sinks().empty());
}

TEST(WaitGraph, UncertainWaitDoesNotAccuse) {
  WaitGraph graph(3);
  graph.Add(0, 1, false);
  graph.Add(0, 2, true);
  EXPECT_FALSE(graph.IsCertainlyAwaited(1));
  EXPECT_TRUE(graph.CertainlyWaitsForAny(0));
  EXPECT_FALSE(graph.CertainlyWaitsForAny(2));
  EXPECT_TRUE(graph.IsCertainlyAwaited(2));
  EXPECT_TRUE(graph.Waits(0, 1));
}

TEST(WaitGraph, LongChainNeedsNoDeepStack) {
  constexpr size_t kNodes = 3000;
  WaitGraph graph(kNodes);
  for (size_t i = 0; i + 1 < kNodes; ++i) graph.Add(i, i + 1, true);
  EXPECT_EQ(graph.Sinks(), (std::vector<Nodes>{{kNodes - 1}}));
}

}  // namespace
}  // namespace stepslack::analyze
