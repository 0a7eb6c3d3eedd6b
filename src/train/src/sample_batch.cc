#include "sample_batch.h"

#include <algorithm>

namespace stepslack::train {
namespace {

template <typename T>
void GrowTo(std::vector<T>& values, size_t size) {
  if (values.size() < size) values.resize(size);
}

}  // namespace

void SampleBatch::Layout(const SampleSource& source, std::span<const int64_t> indices,
                         const Contents& contents) {
  std::vector<SampleSize> sizes;
  sizes.reserve(indices.size());
  SampleSize all;
  for (int64_t index : indices) {
    const SampleSize size = source.Size(index);
    sizes.push_back(size);
    all.inputs += size.inputs;
    all.targets += contents.targets ? size.targets : 0;
    all.nodes += size.nodes;
    all.edges += size.edges;
  }
  GrowTo(inputs_, static_cast<size_t>(all.inputs));
  GrowTo(targets_, static_cast<size_t>(all.targets));
  GrowTo(source_, static_cast<size_t>(all.edges));
  GrowTo(sink_, static_cast<size_t>(all.edges));
  GrowTo(graph_of_node_, static_cast<size_t>(all.nodes));
  slots_.resize(indices.size());
  parts_.assign(contents.parts, {});
  Range at;
  for (size_t part = 0; part < contents.parts; ++part) {
    const size_t begin = PartBegin(indices.size(), part, contents.parts);
    const size_t end = PartBegin(indices.size(), part + 1, contents.parts);
    parts_[part] = at;
    parts_[part].samples = end - begin;
    for (size_t i = begin; i < end; ++i) {
      const auto edges = static_cast<size_t>(sizes[i].edges);
      const auto targets = static_cast<size_t>(contents.targets ? sizes[i].targets : 0);
      const auto inputs = static_cast<size_t>(sizes[i].inputs);
      const auto nodes = static_cast<size_t>(sizes[i].nodes);
      slots_[i] = {std::span(inputs_).subspan(at.input, inputs),
                   std::span(targets_).subspan(at.target, targets),
                   std::span(source_).subspan(at.edge, edges),
                   std::span(sink_).subspan(at.edge, edges),
                   static_cast<int64_t>(at.node - parts_[part].node)};
      std::fill_n(graph_of_node_.begin() + static_cast<int64_t>(at.node), nodes,
                  static_cast<int64_t>(i - begin));
      at.input += inputs;
      at.target += targets;
      at.edge += edges;
      at.node += nodes;
    }
    parts_[part].nodes = at.node - parts_[part].node;
    parts_[part].edges = at.edge - parts_[part].edge;
  }
}

base::Status SampleBatch::Fill(const SampleSource& source,
                               std::span<const int64_t> indices,
                               std::span<const int> transforms,
                               const Contents& contents) {
  SS_CHECK(transforms.empty() || transforms.size() == indices.size());
  height_ = source.height();
  width_ = source.width();
  Layout(source, indices, contents);
  for (size_t i = 0; i < indices.size(); ++i) {
    SS_RETURN_IF_ERROR(
        source.Encode(indices[i], transforms.empty() ? 0 : transforms[i], slots_[i]));
  }
  return {};
}

model::Batch SampleBatch::Part(size_t part) const {
  const Range& range = parts_[part];
  model::Batch batch;
  batch.samples = static_cast<int64_t>(range.samples);
  batch.height = height_;
  batch.width = width_;
  batch.inputs = inputs_.data() + range.input;
  batch.targets = targets_.data() + range.target;
  batch.graph = {static_cast<int64_t>(range.nodes), static_cast<int64_t>(range.edges),
                 source_.data() + range.edge, sink_.data() + range.edge,
                 graph_of_node_.data() + range.node};
  return batch;
}

}  // namespace stepslack::train
