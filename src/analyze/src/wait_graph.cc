#include "wait_graph.h"

#include <algorithm>
#include <map>

namespace stepslack::analyze {

WaitGraph::WaitGraph(size_t nodes)
    : nodes_(nodes), any_(nodes * nodes), certain_(nodes * nodes) {}

void WaitGraph::Add(size_t from, size_t to, bool certain) {
  if (from == to) return;
  any_[from * nodes_ + to] = true;
  if (certain) certain_[from * nodes_ + to] = true;
}

bool WaitGraph::CertainlyWaitsForAny(size_t node) const {
  const auto from = certain_.begin() + static_cast<ptrdiff_t>(node * nodes_);
  const auto to = from + static_cast<ptrdiff_t>(nodes_);
  return std::find(from, to, true) != to;
}

bool WaitGraph::IsCertainlyAwaited(size_t node) const {
  for (size_t from = 0; from < nodes_; ++from) {
    if (certain_[from * nodes_ + node]) return true;
  }
  return false;
}

// Kosaraju: finishing order of the graph, then reach in the reversed graph. Written
// with an own stack, since ranks are as many as the input says.
std::vector<int32_t> WaitGraph::Components() const {
  std::vector<size_t> order;
  std::vector<bool> seen(nodes_);
  std::vector<std::pair<size_t, size_t>> stack;  // node, next successor to look at
  for (size_t start = 0; start < nodes_; ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      while (next < nodes_ && (!Waits(node, next) || seen[next])) ++next;
      if (next == nodes_) {
        order.push_back(node);
        stack.pop_back();
      } else {
        seen[next] = true;
        stack.emplace_back(next, 0);
      }
    }
  }
  std::vector<int32_t> component(nodes_, -1);
  int32_t count = 0;
  for (size_t i = order.size(); i-- > 0;) {
    if (component[order[i]] >= 0) continue;
    std::vector<size_t> open = {order[i]};
    component[order[i]] = count;
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      for (size_t from = 0; from < nodes_; ++from) {
        if (component[from] >= 0 || !Waits(from, node)) continue;
        component[from] = count;
        open.push_back(from);
      }
    }
    ++count;
  }
  return component;
}

std::vector<std::vector<size_t>> WaitGraph::Sinks() const {
  const std::vector<int32_t> component = Components();
  std::map<int32_t, std::vector<size_t>> members;
  for (size_t node = 0; node < nodes_; ++node) members[component[node]].push_back(node);
  std::vector<bool> leaves(members.size());
  std::vector<bool> awaited(members.size());
  for (size_t from = 0; from < nodes_; ++from) {
    for (size_t to = 0; to < nodes_; ++to) {
      if (!Waits(from, to)) continue;
      const auto source = static_cast<size_t>(component[from]);
      const auto target = static_cast<size_t>(component[to]);
      if (source != target) leaves[source] = true;
      awaited[target] = true;
    }
  }
  std::vector<std::vector<size_t>> sinks;
  for (auto& [id, nodes] : members) {
    const auto index = static_cast<size_t>(id);
    if (!leaves[index] && awaited[index]) sinks.push_back(std::move(nodes));
  }
  std::sort(sinks.begin(), sinks.end());
  return sinks;
}

}  // namespace stepslack::analyze
