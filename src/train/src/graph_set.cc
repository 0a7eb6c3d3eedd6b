#include "graph_set.h"

#include <algorithm>
#include <utility>

#include "row_shards.h"
#include "table_set.h"

namespace stepslack::train {
namespace {

using base::ExitCode;
using record::MappedArray;

constexpr int64_t kMostColumns = 1 << 20;

// The array of one name; TRAIN-0053 when it is absent or not as described.
class ArrayFinder {
 public:
  ArrayFinder(const std::map<std::string, MappedArray>& arrays, const std::string& path)
      : arrays_(arrays), path_(path) {}

  base::Result<MappedArray> Find(const std::string& name, size_t fewest_axes,
                                 size_t most_axes, bool integer) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return Refuse(name, "is missing");
    const MappedArray& array = found->second;
    const size_t axes = array.shape().size();
    if (axes < fewest_axes || axes > most_axes || (integer && !array.is_integer())) {
      return Refuse(name, "has the shape " + ShapeText(array.shape()) +
                              " and the type " + array.dtype());
    }
    return array;
  }

  tl::unexpected<base::Error> Refuse(const std::string& name,
                                     const std::string& what) const {
    return base::Fail(
        "TRAIN-0053", ExitCode::kInput, "array `" + name + "` " + what, path_,
        "a graph archive holds node_offset [g + 1], edge_offset [g + 1], edges [E, 2] "
        "of integers, node_features [N, F] and targets [g, T] or [N, T]");
  }

 private:
  const std::map<std::string, MappedArray>& arrays_;
  const std::string& path_;
};

// Offsets of consecutive parts of `count` things.
base::Result<std::vector<int64_t>> ReadOffsets(const MappedArray& array,
                                               const std::string& name, int64_t count,
                                               const std::string& path) {
  std::vector<int64_t> offset(static_cast<size_t>(array.size()));
  array.Integers(0, offset);
  int64_t bad = 0;
  size_t first_bad = 0;
  for (size_t i = 0; i < offset.size(); ++i) {
    int64_t low = i == 0 ? 0 : offset[i - 1];
    int64_t high = i == 0 ? 0 : count;
    if (i > 0 && i + 1 == offset.size()) low = std::max(low, count);
    if (offset[i] >= low && offset[i] <= high) continue;
    if (bad++ == 0) first_bad = i;
  }
  if (offset.size() >= 2 && bad == 0) return offset;
  const std::string place =
      offset.empty() ? "" : ", entry " + std::to_string(first_bad);
  return base::Fail("TRAIN-0054", ExitCode::kInput,
                    name + " has " + std::to_string(bad) + " bad of " +
                        std::to_string(offset.size()) + " entries",
                    path + place,
                    "offsets ascend from 0 to the number of rows, " +
                        std::to_string(count) + ", with one entry more than graphs");
}

}  // namespace

GraphShard::GraphShard(std::string path, MappedArray features, MappedArray edges,
                       MappedArray targets)
    : path_(std::move(path)),
      features_(std::move(features)),
      edges_(std::move(edges)),
      targets_(std::move(targets)) {}

base::Result<GraphShard> GraphShard::Open(const std::string& path) {
  SS_TRY(const auto arrays, record::MapNpz(path));
  const ArrayFinder finder(arrays, path);
  SS_TRY(const MappedArray node_offset, finder.Find("node_offset", 1, 1, true));
  SS_TRY(const MappedArray edge_offset, finder.Find("edge_offset", 1, 1, true));
  SS_TRY(MappedArray features, finder.Find("node_features", 2, 2, false));
  SS_TRY(MappedArray edges, finder.Find("edges", 2, 2, true));
  SS_TRY(MappedArray targets, finder.Find("targets", 1, 2, false));
  const int64_t nodes = features.shape()[0];
  if (edges.shape()[1] != 2) {
    return finder.Refuse("edges", "has the shape " + ShapeText(edges.shape()));
  }
  GraphShard shard(path, std::move(features), std::move(edges), std::move(targets));
  SS_TRY(shard.node_offset_, ReadOffsets(node_offset, "node_offset", nodes, path));
  SS_TRY(shard.edge_offset_,
         ReadOffsets(edge_offset, "edge_offset", shard.edges_.shape()[0], path));
  if (shard.edge_offset_.size() != shard.node_offset_.size()) {
    return finder.Refuse("edge_offset", "and node_offset differ in length");
  }
  const int64_t rows = shard.targets_.shape()[0];
  shard.per_node_ = rows != shard.graphs();
  if (shard.per_node_ && rows != nodes) {
    return finder.Refuse("targets", "has " + std::to_string(rows) + " rows for " +
                                        std::to_string(shard.graphs()) +
                                        " graphs and " + std::to_string(nodes) +
                                        " nodes");
  }
  for (int64_t columns : {shard.features(), shard.outputs()}) {
    if (columns < 1 || columns > kMostColumns) {
      return finder.Refuse(columns == shard.outputs() ? "targets" : "node_features",
                           "has " + std::to_string(columns) + " columns");
    }
  }
  return shard;
}

int64_t GraphShard::outputs() const {
  return targets_.shape().size() == 2 ? targets_.shape()[1] : 1;
}

std::span<const float> GraphShard::Features(int64_t graph,
                                            std::vector<float>& scratch) const {
  const int64_t first = node_offset_[static_cast<size_t>(graph)];
  return features_.Floats(first * features(), nodes(graph) * features(), scratch);
}

std::span<const float> GraphShard::Targets(int64_t graph,
                                           std::vector<float>& scratch) const {
  const int64_t first = per_node_ ? node_offset_[static_cast<size_t>(graph)] : graph;
  const int64_t rows = per_node_ ? nodes(graph) : 1;
  return targets_.Floats(first * outputs(), rows * outputs(), scratch);
}

void GraphShard::Edges(int64_t graph, std::span<int64_t> ends) const {
  edges_.Integers(2 * edge_offset_[static_cast<size_t>(graph)], ends);
}

GraphSet::GraphSet(std::vector<GraphShard> shards)
    : shards_(std::move(shards)),
      features_(static_cast<int>(shards_[0].features())),
      targets_(static_cast<int>(shards_[0].outputs())) {
  for (const GraphShard& shard : shards_) {
    first_graph_.push_back(first_graph_.back() + shard.graphs());
  }
}

base::Result<GraphSet> GraphSet::Load(const record::TrainPlan& plan) {
  SS_TRY(const std::vector<std::string> files,
         record::ListShards(plan.inputs_path, ".npz"));
  std::vector<GraphShard> shards;
  for (const std::string& file : files) {
    SS_TRY(GraphShard shard, GraphShard::Open(file));
    const GraphShard& first = shards.empty() ? shard : shards[0];
    if (shard.features() != first.features() || shard.outputs() != first.outputs() ||
        shard.targets_per_node() != first.targets_per_node()) {
      return base::Fail(
          "TRAIN-0057", ExitCode::kInput,
          "the archive has other features or targets than " + first.path(), file,
          "all archives of a folder are of one kind");
    }
    shards.push_back(std::move(shard));
  }
  GraphSet set(std::move(shards));
  SS_RETURN_IF_ERROR(CheckRoles(plan, set.size()));
  for (const auto* list :
       {&plan.train_indices, &plan.validation_indices, &plan.test_indices}) {
    for (int64_t index : *list) SS_RETURN_IF_ERROR(set.CheckGraph(index));
  }
  set.ComputeScales(plan);
  return set;
}

GraphSet::Place GraphSet::Find(int64_t index) const {
  const auto after = std::upper_bound(first_graph_.begin(), first_graph_.end(), index);
  const auto shard = static_cast<size_t>(after - first_graph_.begin()) - 1;
  return {shards_[shard], index - first_graph_[shard]};
}

base::Status GraphSet::CheckGraph(int64_t index) const {
  const auto [shard, graph] = Find(index);
  const std::string where = shard.path() + ", graph " + std::to_string(graph);
  std::vector<float> scratch;
  SS_RETURN_IF_ERROR(CheckFinite(shard.Features(graph, scratch), where));
  SS_RETURN_IF_ERROR(CheckFinite(shard.Targets(graph, scratch), where));
  const int64_t nodes = shard.nodes(graph);
  std::vector<int64_t> ends(static_cast<size_t>(2 * shard.edges(graph)));
  shard.Edges(graph, ends);
  int64_t bad = nodes == 0 ? 1 : 0;
  std::string what = "the graph has no nodes";
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] >= 0 && ends[i] < nodes) continue;
    if (bad++ == 0) {
      what = "edge " + std::to_string(i / 2) + " names node " +
             std::to_string(ends[i]) + ", but the graph has " + std::to_string(nodes) +
             " nodes";
    }
  }
  if (bad == 0) return {};
  return base::Fail("TRAIN-0058", ExitCode::kInput,
                    what + " (" + std::to_string(bad) + " bad in all)", where,
                    "number the nodes of each graph from 0, or leave the graph out");
}

void GraphSet::ComputeScales(const record::TrainPlan& plan) {
  const auto add = [](std::span<const float> rows, ColumnScale& scale) {
    const auto columns = static_cast<size_t>(scale.columns());
    for (size_t at = 0; at < rows.size(); at += columns) {
      scale.Add(rows.subspan(at, columns));
    }
  };
  std::vector<float> scratch;
  for (int64_t index : SortedTrainIndices(plan)) {
    const auto [shard, graph] = Find(index);
    add(shard.Features(graph, scratch), features_);
    add(shard.Targets(graph, scratch), targets_);
  }
  features_.Finish();
  targets_.Finish();
}

SampleSize GraphSet::Size(int64_t index) const {
  const auto [shard, graph] = Find(index);
  const int64_t nodes = shard.nodes(graph);
  return {nodes * shard.features(), (targets_per_node() ? nodes : 1) * shard.outputs(),
          nodes, shard.edges(graph)};
}

base::Status GraphSet::Encode(int64_t index, int /*transform*/,
                              const SampleSlot& slot) const {
  const auto [shard, graph] = Find(index);
  std::vector<float> scratch;
  features_.Encode(shard.Features(graph, scratch), slot.inputs);
  std::vector<int64_t> ends(2 * slot.source.size());
  shard.Edges(graph, ends);
  for (size_t i = 0; i < slot.source.size(); ++i) {
    slot.source[i] = slot.first_node + ends[2 * i];
    slot.sink[i] = slot.first_node + ends[2 * i + 1];
  }
  if (slot.targets.empty()) return {};
  targets_.Encode(shard.Targets(graph, scratch), slot.targets);
  return {};
}

base::Json GraphSet::Facts() const {
  base::Json json;
  json.Set("kind", "graph");
  json.Set("features", features_.ToJson());
  json.Set("targets", targets_.ToJson());
  return json;
}

void GraphSet::Decode(int64_t /*index*/, std::span<const float> output,
                      std::span<float> prediction) const {
  DecodeRows(targets_, output, prediction);
}

void GraphSet::AddErrors(int64_t index, std::span<const float> output,
                         ErrorSums& sums) const {
  const auto [shard, graph] = Find(index);
  std::vector<float> scratch;
  AddScaledErrors(targets_, output, shard.Targets(graph, scratch), sums);
}

std::vector<int64_t> GraphSet::PredictionShape(std::span<const int64_t> indices) const {
  int64_t values = 0;
  for (int64_t index : indices) values += Size(index).targets;
  return {values / outputs(), outputs()};
}

}  // namespace stepslack::train
