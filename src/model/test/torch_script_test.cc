#include <gtest/gtest.h>
#include <torch/script.h>

#include <sstream>

#include "example_batches.h"

namespace stepslack::model {
namespace {

at::Tensor Indices(const std::vector<int64_t>& values) { return torch::tensor(values); }

class TorchScript : public testing::TestWithParam<ExampleCase> {};

TEST_P(TorchScript, TheArchivePredictsWhatTheNetworkPredicts) {
  const NetworkOptions options = OptionsOf(GetParam());
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 8);
  // Running statistics must be those of training, not the initial ones.
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  std::vector<float> expected(data.prediction_count());
  ASSERT_TRUE(network.Predict(data.batch(), expected).has_value());

  const auto archive = network.ExportTorchScript();
  ASSERT_TRUE(archive.has_value()) << Describe(archive.error());
  EXPECT_EQ(archive->substr(0, 2), "PK");
  std::istringstream stream(*archive);
  torch::jit::Module module = torch::jit::load(stream);
  std::vector<float> inputs = data.inputs();
  const at::Tensor x = OfMaps(options)
                           ? torch::tensor(inputs).view(
                                 {3, options.input_planes, data.side(), data.side()})
                           : torch::tensor(inputs).view({-1, options.input_planes});
  std::vector<c10::IValue> arguments = {x};
  if (options.architecture == "gnn") {
    arguments.insert(arguments.end(), {Indices(data.source()), Indices(data.sink()),
                                       Indices(data.graph_of_node()), int64_t{3}});
  }
  const at::Tensor output = module.forward(arguments).toTensor().contiguous();
  ASSERT_EQ(output.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(output.data_ptr<float>()[i], expected[i], 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TorchScript,
                         testing::Values(ExampleCase{"unet", "shuffle", "group"},
                                         ExampleCase{"unet", "plain", "sync_batch"},
                                         ExampleCase{"unet", "plain", "none", "mae", 2},
                                         ExampleCase{"fcn", "plain", "batch"},
                                         ExampleCase{"mlp", "plain", "batch", "mae", 3},
                                         ExampleCase{"mlp", "plain", "none"},
                                         ExampleCase{"gnn", "plain", "group", "mae", 2},
                                         ExampleCase{"gnn", "plain", "none", "mae", 1,
                                                     true}));

}  // namespace
}  // namespace stepslack::model
