#include "op_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stepslack::analyze {
namespace {

constexpr uint32_t kNoUnit = std::numeric_limits<uint32_t>::max();

bool InRange(size_t ops, std::span<const OpEdge> edges,
             std::span<const std::vector<OpIndex>> groups) {
  if (ops >= kNoUnit) return false;
  for (const OpEdge& edge : edges) {
    if (edge.before >= ops || edge.after >= ops) return false;
  }
  std::vector<bool> grouped(ops, false);
  for (const std::vector<OpIndex>& group : groups) {
    for (const OpIndex op : group) {
      if (op >= ops || grouped[op]) return false;
      grouped[op] = true;
    }
  }
  return true;
}

// Compressed lists: items of key k at [starts[k], starts[k + 1]).
struct Lists {
  std::vector<uint32_t> starts;
  std::vector<uint32_t> items;

  std::span<const uint32_t> Of(size_t key) const {
    return std::span(items).subspan(starts[key], starts[key + 1] - starts[key]);
  }
};

template <typename KeyOf, typename ItemOf>
Lists MakeLists(std::span<const OpEdge> edges, size_t keys, KeyOf key_of,
                ItemOf item_of) {
  Lists lists;
  lists.starts.assign(keys + 1, 0);
  for (const OpEdge& edge : edges) ++lists.starts[key_of(edge) + 1];
  for (size_t k = 0; k < keys; ++k) lists.starts[k + 1] += lists.starts[k];
  lists.items.resize(edges.size());
  std::vector<uint32_t> at(lists.starts.begin(), lists.starts.end() - 1);
  for (const OpEdge& edge : edges) lists.items[at[key_of(edge)]++] = item_of(edge);
  return lists;
}

}  // namespace

base::Result<OpGraph> OpGraph::Build(size_t ops, std::span<const OpEdge> edges,
                                     std::span<const std::vector<OpIndex>> groups) {
  if (!InRange(ops, edges, groups)) {
    return base::Fail("ANL-0141", base::ExitCode::kInput,
                      "an operation is outside the graph, or in two groups", "",
                      "check the operations of the trace: each belongs to one "
                      "collective at most");
  }
  OpGraph graph;
  graph.SetUnits(ops, groups);
  if (!graph.Order(edges)) {
    return base::Fail("ANL-0140", base::ExitCode::kInput,
                      "operations wait for one another in a circle", "",
                      "check the order and the sequence numbers of sends and "
                      "receives in the trace");
  }
  return graph;
}

void OpGraph::SetUnits(size_t ops, std::span<const std::vector<OpIndex>> groups) {
  group_of_.assign(ops, kNoUnit);
  const auto open = [this] {
    units_.push_back({static_cast<uint32_t>(members_.size()), 0, 0, 0});
  };
  const auto add = [this](OpIndex op) {
    group_of_[op] = static_cast<uint32_t>(units_.size() - 1);
    members_.push_back(op);
    ++units_.back().members;
  };
  for (const std::vector<OpIndex>& group : groups) {
    if (group.empty()) continue;
    open();
    for (const OpIndex op : group) add(op);
  }
  for (OpIndex op = 0; op < ops; ++op) {
    if (group_of_[op] != kNoUnit) continue;
    open();
    add(op);
  }
}

// Kahn's algorithm over units, in order of discovery; false when a cycle remains.
bool OpGraph::Order(std::span<const OpEdge> edges) {
  const auto unit_of = [this](OpIndex op) { return group_of_[op]; };
  const Lists next = MakeLists(
      edges, units_.size(), [&](const OpEdge& e) { return unit_of(e.before); },
      [&](const OpEdge& e) { return unit_of(e.after); });
  const Lists before = MakeLists(
      edges, units_.size(), [&](const OpEdge& e) { return unit_of(e.after); },
      [](const OpEdge& e) { return e.before; });
  std::vector<size_t> waiting(units_.size());
  std::vector<uint32_t> order;
  for (uint32_t u = 0; u < units_.size(); ++u) {
    waiting[u] = before.Of(u).size();
    if (waiting[u] == 0) order.push_back(u);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t after : next.Of(order[i])) {
      if (--waiting[after] == 0) order.push_back(after);
    }
  }
  if (order.size() != units_.size()) return false;
  std::vector<Unit> ordered;
  ordered.reserve(units_.size());
  for (const uint32_t u : order) {
    const std::span<const uint32_t> deps = before.Of(u);
    Unit unit = units_[u];
    unit.first_dependency = static_cast<uint32_t>(dependencies_.size());
    dependencies_.insert(dependencies_.end(), deps.begin(), deps.end());
    const auto first = dependencies_.begin() + unit.first_dependency;
    std::sort(first, dependencies_.end());
    dependencies_.erase(std::unique(first, dependencies_.end()), dependencies_.end());
    unit.dependencies =
        static_cast<uint32_t>(dependencies_.size()) - unit.first_dependency;
    ordered.push_back(unit);
  }
  units_ = std::move(ordered);
  return true;
}

void OpGraph::Replay(std::span<const int64_t> durations_ns, size_t lanes,
                     std::span<int64_t> end_ns) const {
  SS_CHECK(durations_ns.size() == ops() * lanes && end_ns.size() == ops() * lanes);
  std::vector<int64_t> start(lanes);
  for (const Unit& unit : units_) {
    std::fill(start.begin(), start.end(), 0);
    for (uint32_t d = 0; d < unit.dependencies; ++d) {
      const int64_t* end =
          end_ns.data() + dependencies_[unit.first_dependency + d] * lanes;
      for (size_t lane = 0; lane < lanes; ++lane) {
        start[lane] = std::max(start[lane], end[lane]);
      }
    }
    for (uint32_t m = 0; m < unit.members; ++m) {
      const size_t at = members_[unit.first_member + m] * lanes;
      for (size_t lane = 0; lane < lanes; ++lane) {
        end_ns[at + lane] = start[lane] + durations_ns[at + lane];
      }
    }
  }
}

std::vector<int64_t> LaneEnds(std::span<const int64_t> end_ns, size_t lanes) {
  std::vector<int64_t> ends(lanes, 0);
  for (size_t at = 0; at + lanes <= end_ns.size(); at += lanes) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      ends[lane] = std::max(ends[lane], end_ns[at + lane]);
    }
  }
  return ends;
}

}  // namespace stepslack::analyze
