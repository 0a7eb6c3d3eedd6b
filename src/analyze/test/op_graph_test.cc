#include "op_graph.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace stepslack::analyze {
namespace {

using Groups = std::vector<std::vector<OpIndex>>;

std::vector<int64_t> Ends(size_t ops, const std::vector<OpEdge>& edges,
                          const Groups& groups, const std::vector<int64_t>& durations) {
  const auto graph = OpGraph::Build(ops, edges, groups);
  EXPECT_TRUE(graph.has_value());
  std::vector<int64_t> ends(durations.size(), -1);
  if (graph.has_value()) graph->Replay(durations, durations.size() / ops, ends);
  return ends;
}

TEST(OpGraph, AnOperationStartsWhenAllBeforeItHaveEnded) {
  // 0 (3) and 1 (7) before 2 (4): starts at 7.
  EXPECT_EQ(Ends(3, {{0, 2}, {1, 2}}, {}, {3, 7, 4}), (std::vector<int64_t>{3, 7, 11}));
}

TEST(OpGraph, OrderDoesNotDependOnNumbers) {
  EXPECT_EQ(Ends(3, {{2, 1}, {1, 0}}, {}, {1, 10, 100}),
            (std::vector<int64_t>{111, 110, 100}));
}

TEST(OpGraph, AGroupTransfersOnceItsLastOperationHasStarted) {
  // 2 could start at 5, 3 at 9: both transfer from 9, 2 for 1 and 3 for 4.
  EXPECT_EQ(Ends(5, {{0, 2}, {1, 3}, {2, 4}}, {{2, 3}}, {5, 9, 1, 4, 20}),
            (std::vector<int64_t>{5, 9, 10, 13, 30}));
}

TEST(OpGraph, LanesShareDependenciesAndNothingElse) {
  // Lanes are the inner index: op 0 lasts 1 and 50, op 1 lasts 2 and 3.
  EXPECT_EQ(Ends(2, {{0, 1}}, {}, {1, 50, 2, 3}), (std::vector<int64_t>{1, 50, 3, 53}));
}

TEST(OpGraph, EveryLaneEndsWithItsLastOperation) {
  EXPECT_EQ(LaneEnds(std::vector<int64_t>{1, 50, 3, 20}, 2),
            (std::vector<int64_t>{3, 50}));
}

TEST(OpGraph, ACircleIsRefused) {
  const std::vector<OpEdge> circle = {{0, 1}, {1, 2}, {2, 0}};
  EXPECT_EQ(OpGraph::Build(3, circle, {}).error().id, "ANL-0140");
}

TEST(OpGraph, AGroupThatWaitsForItselfIsACircle) {
  // Without the group 0 -> 1 is fine; together they cannot start.
  const std::vector<OpEdge> edges = {{0, 1}};
  ASSERT_TRUE(OpGraph::Build(2, edges, {}).has_value());
  EXPECT_EQ(OpGraph::Build(2, edges, Groups{{0, 1}}).error().id, "ANL-0140");
}

TEST(OpGraph, OperationsOutsideAndInTwoGroupsAreRefused) {
  EXPECT_EQ(OpGraph::Build(2, std::vector<OpEdge>{{0, 2}}, {}).error().id, "ANL-0141");
  EXPECT_EQ(OpGraph::Build(2, {}, Groups{{0, 5}}).error().id, "ANL-0141");
  EXPECT_EQ(OpGraph::Build(2, {}, Groups{{0}, {0, 1}}).error().id, "ANL-0141");
}

RC_GTEST_PROP(OpGraph, ReplayAgreesWithALongestPathByRepeatedRelaxation, ()) {
  const auto ops = *rc::gen::inRange<OpIndex>(1, 12);
  std::vector<int64_t> durations;
  std::vector<OpEdge> edges;
  for (OpIndex i = 0; i < ops; ++i) {
    durations.push_back(*rc::gen::inRange<int64_t>(0, 100));
    for (OpIndex j = 0; j < i; ++j) {
      if (*rc::gen::inRange(0, 3) == 0) edges.push_back({j, i});
    }
  }
  Groups groups;
  // Neighbours without a path between them may form a group.
  for (OpIndex i = 0; i + 1 < ops; i += 2) {
    const bool linked = std::any_of(edges.begin(), edges.end(), [i](const OpEdge& e) {
      return e.before == i && e.after == i + 1;
    });
    if (!linked) groups.push_back({i, i + 1});
  }
  std::vector<int64_t> start(ops, 0);
  for (OpIndex round = 0; round <= ops * 2; ++round) {
    for (const OpEdge& e : edges) {
      start[e.after] = std::max(start[e.after], start[e.before] + durations[e.before]);
    }
    for (const auto& group : groups) {
      const int64_t both = std::max(start[group[0]], start[group[1]]);
      start[group[0]] = start[group[1]] = both;
    }
  }
  const auto graph = OpGraph::Build(ops, edges, groups);
  RC_ASSERT(graph.has_value());
  std::vector<int64_t> ends(ops);
  graph->Replay(durations, 1, ends);
  for (OpIndex i = 0; i < ops; ++i) RC_ASSERT(ends[i] == start[i] + durations[i]);
}

}  // namespace
}  // namespace stepslack::analyze
