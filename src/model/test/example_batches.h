// Small batches and networks for the tests of the model.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/model/network.h"

namespace stepslack::model {

struct ExampleCase {
  std::string architecture = "unet";
  std::string stem = "plain";
  std::string norm = "group";
  std::string loss = "mae";
  int outputs = 1;
  bool node_targets = false;
};

inline std::string NameOf(const ExampleCase& example) {
  return example.architecture + "_" + example.stem + "_" + example.norm + "_" +
         example.loss + "_" + std::to_string(example.outputs) +
         (example.node_targets ? "_nodes" : "");
}
inline void PrintTo(const ExampleCase& example, std::ostream* out) {
  *out << NameOf(example);
}

inline NetworkOptions OptionsOf(const ExampleCase& example) {
  NetworkOptions options;
  options.input_planes = 2;
  options.base_channels = 4;
  options.levels = 3;
  options.seed = 3;
  options.architecture = example.architecture;
  options.stem = example.stem;
  options.norm = example.norm;
  options.loss = example.loss;
  options.outputs = example.outputs;
  options.node_targets = example.node_targets;
  if (example.architecture != "unet") options.hidden = {8, 8, 5};
  return options;
}

inline Network MakeNetwork(const NetworkOptions& options) {
  auto network = Network::Create(options);
  EXPECT_TRUE(network.has_value()) << Describe(network.error());
  return std::move(*network);
}

inline bool OfMaps(const NetworkOptions& options) {
  return options.architecture == "unet" || options.architecture == "fcn";
}

// Noise. Graphs have 3 nodes each and a few edges inside.
class ExampleData {
 public:
  ExampleData(const NetworkOptions& options, int64_t samples, uint64_t seed)
      : options_(options), samples_(samples), side_(OfMaps(options) ? 8 : 1) {
    base::Random random(seed);
    const bool graphs = options.architecture == "gnn";
    const int64_t rows = graphs ? 3 * samples : samples;
    for (int64_t i = 0; i < rows * options.input_planes * side_ * side_; ++i) {
      inputs_.push_back(static_cast<float>(random.Normal()));
    }
    const int64_t targets = options.node_targets ? rows : samples;
    for (int64_t i = 0; i < targets * options.outputs * side_ * side_; ++i) {
      targets_.push_back(static_cast<float>(1.0 + random.Normal()));
    }
    for (int64_t g = 0; graphs && g < samples; ++g) {
      for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {0, 2}, {2, 2}}) {
        source_.push_back(3 * g + from);
        sink_.push_back(3 * g + to);
      }
      graph_of_node_.insert(graph_of_node_.end(), 3, g);
    }
  }

  Batch batch() const { return batch(0, samples_); }
  Batch batch(int64_t first, int64_t count) const {
    Batch batch{count, side_, side_, inputs_.data(), targets_.data()};
    if (options_.architecture == "gnn") {
      // Node and graph numbers start at 0, so only a first part can be cut off.
      EXPECT_EQ(first, 0);
      batch.graph = {3 * count, 4 * count, source_.data(), sink_.data(),
                     graph_of_node_.data()};
      return batch;
    }
    batch.inputs += first * options_.input_planes * side_ * side_;
    batch.targets += first * options_.outputs * side_ * side_;
    return batch;
  }
  size_t prediction_count() const { return targets_.size(); }
  const std::vector<float>& inputs() const { return inputs_; }
  const std::vector<int64_t>& source() const { return source_; }
  const std::vector<int64_t>& sink() const { return sink_; }
  const std::vector<int64_t>& graph_of_node() const { return graph_of_node_; }
  int64_t side() const { return side_; }

 private:
  NetworkOptions options_;
  int64_t samples_;
  int64_t side_;
  std::vector<float> inputs_, targets_;
  std::vector<int64_t> source_, sink_, graph_of_node_;
};

inline std::vector<float> Copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

inline double LargestMagnitude(std::span<const float> values) {
  double largest = 0;
  for (float v : values) largest = std::max(largest, std::abs(static_cast<double>(v)));
  return largest;
}

}  // namespace stepslack::model
