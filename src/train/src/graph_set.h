// Netlist graphs of different size: float features of nodes and directed edges in,
// outputs of the whole graph or of every node out, both standardised by the training
// graphs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "column_scale.h"
#include "sample_source.h"
#include "stepslack/base/result.h"
#include "stepslack/record/mapped_array.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// One .npz: node_offset [g + 1], edge_offset [g + 1] (integers, from 0, ascending),
// node_features [N, F], edges [E, 2] (integers: source and sink, numbered from 0 within
// their graph), targets [g, T] (of graphs) or [N, T] (of nodes; [g] or [N]: T = 1).
class GraphShard {
 public:
  // Errors: TRAIN-0053 an array is missing or of the wrong shape or type, TRAIN-0054
  // offsets that do not ascend from 0 to the number of nodes or edges.
  static base::Result<GraphShard> Open(const std::string& path);

  int64_t graphs() const { return static_cast<int64_t>(node_offset_.size()) - 1; }
  int64_t nodes(int64_t graph) const { return Length(node_offset_, graph); }
  int64_t edges(int64_t graph) const { return Length(edge_offset_, graph); }
  int64_t features() const { return features_.shape()[1]; }
  int64_t outputs() const;
  bool targets_per_node() const { return per_node_; }
  const std::string& path() const { return path_; }

  // [nodes(graph), features()].
  std::span<const float> Features(int64_t graph, std::vector<float>& scratch) const;
  // [1 or nodes(graph), outputs()].
  std::span<const float> Targets(int64_t graph, std::vector<float>& scratch) const;
  // Node numbers within the graph, source and sink in turn: 2 * edges(graph).
  void Edges(int64_t graph, std::span<int64_t> ends) const;

 private:
  GraphShard(std::string path, record::MappedArray features, record::MappedArray edges,
             record::MappedArray targets);
  static int64_t Length(const std::vector<int64_t>& offset, int64_t graph) {
    return offset[static_cast<size_t>(graph) + 1] - offset[static_cast<size_t>(graph)];
  }
  std::string path_;
  record::MappedArray features_;
  record::MappedArray edges_;
  record::MappedArray targets_;
  std::vector<int64_t> node_offset_;
  std::vector<int64_t> edge_offset_;
  bool per_node_ = false;
};

class GraphSet : public SampleSource {
 public:
  // inputs_path is an archive, or a folder of archives; it holds the targets too.
  // Errors: those of GraphShard, TRAIN-0057 shards that differ, TRAIN-0058 an edge to a
  // node that its graph does not have or a graph without nodes, TRAIN-0004, TRAIN-0005.
  static base::Result<GraphSet> Load(const record::TrainPlan& plan);

  int64_t size() const override { return first_graph_.back(); }
  int planes() const override { return features_.columns(); }
  int outputs() const override { return targets_.columns(); }
  bool graphs() const override { return true; }
  bool targets_per_node() const override { return shards_[0].targets_per_node(); }
  SampleSize Size(int64_t index) const override;
  base::Status Encode(int64_t index, int transform,
                      const SampleSlot& slot) const override;
  base::Json Facts() const override;
  void Decode(int64_t index, std::span<const float> output,
              std::span<float> prediction) const override;
  void AddErrors(int64_t index, std::span<const float> output,
                 ErrorSums& sums) const override;
  // [graphs, T], or [nodes of all, T].
  std::vector<int64_t> PredictionShape(std::span<const int64_t> indices) const override;

 private:
  struct Place {
    const GraphShard& shard;
    int64_t graph;
  };
  explicit GraphSet(std::vector<GraphShard> shards);
  Place Find(int64_t index) const;
  base::Status CheckGraph(int64_t index) const;
  void ComputeScales(const record::TrainPlan& plan);

  std::vector<GraphShard> shards_;
  std::vector<int64_t> first_graph_ = {0};  // of each shard; then the number of graphs
  ColumnScale features_;
  ColumnScale targets_;
};

}  // namespace stepslack::train
