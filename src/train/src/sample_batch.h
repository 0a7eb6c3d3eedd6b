// Encoded samples one behind the other, as a network takes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample_source.h"
#include "stepslack/base/result.h"
#include "stepslack/model/network.h"

namespace stepslack::train {

// First sample of part `part` of `parts` when `count` samples are cut into consecutive
// parts whose sizes differ by one at most; part == parts gives `count`.
constexpr size_t PartBegin(size_t count, size_t part, size_t parts) {
  return count * part / parts;
}

class SampleBatch {
 public:
  struct Contents {
    bool targets = true;
    size_t parts = 1;  // computed one after the other, see PartBegin
  };

  // Replaces the content; memory is kept for the next time. `transforms` is as long as
  // `indices`, or empty: none.
  base::Status Fill(const SampleSource& source, std::span<const int64_t> indices,
                    std::span<const int> transforms, const Contents& contents);

  size_t parts() const { return parts_.size(); }
  // A view that is valid until the next Fill; without samples when the part is empty.
  model::Batch Part(size_t part) const;

 private:
  struct Range {
    size_t samples = 0, nodes = 0, edges = 0;
    size_t input = 0, target = 0;  // first float of the part
    size_t node = 0, edge = 0;     // first node and edge
  };
  void Layout(const SampleSource& source, std::span<const int64_t> indices,
              const Contents& contents);

  int64_t height_ = 1;
  int64_t width_ = 1;
  std::vector<Range> parts_;
  std::vector<SampleSlot> slots_;  // of the samples
  std::vector<float> inputs_;
  std::vector<float> targets_;
  // Graphs: ends of edges and the graph of each node, numbered within their part.
  std::vector<int64_t> source_;
  std::vector<int64_t> sink_;
  std::vector<int64_t> graph_of_node_;
};

}  // namespace stepslack::train
