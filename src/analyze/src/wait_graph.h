// Who waits for whom, as a dense graph over few nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepslack::analyze {

class WaitGraph {
 public:
  explicit WaitGraph(size_t nodes);

  size_t size() const { return nodes_; }
  // `certain` waits may accuse a node, others only keep one from being accused.
  void Add(size_t from, size_t to, bool certain);
  bool Waits(size_t from, size_t to) const { return any_[from * nodes_ + to]; }
  bool CertainlyWaitsForAny(size_t node) const;
  // True when another node certainly waits for this one.
  bool IsCertainlyAwaited(size_t node) const;

  // Sets of nodes, each of which reaches the others and nothing else, that some other
  // node waits for or that wait for each other. Sorted by their first node.
  std::vector<std::vector<size_t>> Sinks() const;

 private:
  std::vector<int32_t> Components() const;  // strongly connected; ids of any order

  size_t nodes_;
  std::vector<bool> any_;
  std::vector<bool> certain_;
};

}  // namespace stepslack::analyze
