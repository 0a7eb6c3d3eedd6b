#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "example_batches.h"

namespace stepslack::model {
namespace {

std::vector<ExampleCase> AllCases() {
  std::vector<ExampleCase> cases;
  for (const char* norm : {"group", "batch", "sync_batch", "none"}) {
    cases.push_back({"unet", "plain", norm, "mse", 1, false});
    cases.push_back({"fcn", "plain", norm, "mse", 2, false});
    cases.push_back({"mlp", "plain", norm, "mse", 3, false});
    cases.push_back({"gnn", "plain", norm, "mse", 2, false});
  }
  cases.push_back({"unet", "shuffle", "batch", "huber", 2, false});
  cases.push_back({"unet", "plain", "group", "mae", 1, false});
  cases.push_back({"mlp", "plain", "none", "huber", 1, false});
  cases.push_back({"gnn", "plain", "none", "mae", 1, true});
  return cases;
}

class Architectures : public testing::TestWithParam<ExampleCase> {};

TEST_P(Architectures, GradientAgreesWithFiniteDifferences) {
  const NetworkOptions options = OptionsOf(GetParam());
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 1);
  ASSERT_TRUE(network.Forward(data.batch(), 1.0 / 3).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  // A step along the gradient itself changes the loss by |g|^2 per unit to first order.
  // ReLU, pooling and |x| have kinks, so the step is small and the check is of the
  // whole vector.
  const std::vector<float> start = Copy(network.values());
  const std::vector<float> gradient = Copy(network.gradients());
  double square = 0;
  for (float g : gradient) square += static_cast<double>(g) * static_cast<double>(g);
  ASSERT_GT(square, 1e-4);
  const double epsilon = 2e-3 / std::sqrt(square);
  const auto loss_at = [&](double along) {
    for (size_t i = 0; i < start.size(); ++i) {
      network.values()[i] = static_cast<float>(
          static_cast<double>(start[i]) + along * static_cast<double>(gradient[i]));
    }
    return network.Forward(data.batch(), 1.0 / 3).value();
  };
  const double slope = (loss_at(epsilon) - loss_at(-epsilon)) / (2 * epsilon);
  EXPECT_NEAR(slope / square, 1.0, 0.02);
}

TEST_P(Architectures, EachParameterAloneHasTheSlopeOfItsGradient) {
  const NetworkOptions options = OptionsOf(GetParam());
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 2);
  ASSERT_TRUE(network.Forward(data.batch(), 1.0 / 3).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  const std::vector<float> gradient = Copy(network.gradients());
  const double scale = LargestMagnitude(gradient);
  for (const ParameterInfo& info : network.parameters()) {
    // The element with the largest gradient of each parameter, so that a missing or
    // doubled term of any layer shows.
    size_t at = static_cast<size_t>(info.offset);
    for (size_t i = at; i < static_cast<size_t>(info.offset + info.count); ++i) {
      if (std::fabs(gradient[i]) > std::fabs(gradient[at])) at = i;
    }
    const float start = network.values()[at];
    const auto loss_at = [&](float step) {
      network.values()[at] = start + step;
      const double loss = network.Forward(data.batch(), 1.0 / 3).value();
      network.values()[at] = start;
      return loss;
    };
    const float step = 2e-3F;
    const double slope = (loss_at(step) - loss_at(-step)) / 4e-3;
    EXPECT_NEAR(slope, static_cast<double>(gradient[at]), 0.02 * scale) << info.name;
  }
}

TEST_P(Architectures, BlocksOneByOneEqualTheWhole) {
  const NetworkOptions options = OptionsOf(GetParam());
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 3);
  std::vector<float> whole(data.prediction_count());
  ASSERT_TRUE(network.Predict(data.batch(), whole).has_value());
  std::vector<Activation> passing;
  for (size_t i = 0; i < network.blocks().size(); ++i) {
    auto leaving = network.RunBlocks(i, i + 1, data.batch(), passing);
    ASSERT_TRUE(leaving.has_value()) << Describe(leaving.error());
    passing = std::move(*leaving);
  }
  ASSERT_EQ(passing.size(), 1U);
  EXPECT_EQ(passing[0].values, whole);
  const auto wrong = network.RunBlocks(1, 2, data.batch(), {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().id, "MODEL-0014");
}

TEST_P(Architectures, BlocksOwnAllParametersOnceAndInOrder) {
  Network network = MakeNetwork(OptionsOf(GetParam()));
  size_t next = 0;
  for (const BlockInfo& block : network.blocks()) {
    EXPECT_EQ(block.first_parameter, next) << block.name;
    EXPECT_GT(block.parameter_end, block.first_parameter) << block.name;
    for (size_t i = next; i < block.parameter_end; ++i) {
      EXPECT_EQ(network.parameters()[i].name.rfind(block.name + ".", 0), 0U);
    }
    next = block.parameter_end;
  }
  EXPECT_EQ(next, network.parameters().size());
}

TEST_P(Architectures, ClearedGradientsAreThoseOfTheNextBatchAlone) {
  const NetworkOptions options = OptionsOf(GetParam());
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 4);
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  const std::vector<float> once = Copy(network.gradients());
  std::fill(network.gradients().begin(), network.gradients().end(), 1e30F);
  for (const ParameterInfo& info : network.parameters()) {  // gaps stay zero
    const auto end = static_cast<size_t>(info.offset + info.count);
    for (size_t i = end; i % 16 != 0; ++i) network.gradients()[i] = 0.0F;
  }
  network.ClearGradients();
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  EXPECT_EQ(Copy(network.gradients()), once);
  // A second pass without clearing adds.
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  const double scale = LargestMagnitude(once);
  for (size_t i = 0; i < once.size(); ++i) {
    ASSERT_NEAR(network.gradients()[i], 2 * once[i], 1e-5 * scale);
  }
}

TEST_P(Architectures, Bfloat16IsCloseToFloat32) {
  NetworkOptions options = OptionsOf(GetParam());
  const ExampleData data(options, 3, 5);
  Network exact = MakeNetwork(options);
  options.precision = "bfloat16";
  Network rough = MakeNetwork(options);
  const double loss = exact.Forward(data.batch(), 1.0).value();
  const auto rough_loss = rough.Forward(data.batch(), 1.0);
  ASSERT_TRUE(rough_loss.has_value()) << Describe(rough_loss.error());
  EXPECT_NEAR(*rough_loss, loss, 0.03 * loss);
  EXPECT_NE(*rough_loss, loss);  // it did compute in bfloat16
  ASSERT_TRUE(exact.Backward().has_value());
  ASSERT_TRUE(rough.Backward().has_value());
  // 8 bits of mantissa and a few layers: the gradients point the same way.
  double product = 0, square = 0, rough_square = 0;
  for (size_t i = 0; i < exact.gradients().size(); ++i) {
    const auto a = static_cast<double>(exact.gradients()[i]);
    const auto b = static_cast<double>(rough.gradients()[i]);
    product += a * b;
    square += a * a;
    rough_square += b * b;
  }
  EXPECT_GT(product / std::sqrt(square * rough_square), 0.97);
}

TEST(Bfloat16, LossFallsAsInFloat32) {
  double last[2] = {};
  for (const char* precision : {"float32", "bfloat16"}) {
    NetworkOptions options = OptionsOf({"unet", "plain", "batch", "mse"});
    options.precision = precision;
    Network network = MakeNetwork(options);
    const ExampleData data(options, 4, 12);
    const double start = network.Forward(data.batch(), 0.25).value();
    double loss = start;
    for (int step = 0; step < 40; ++step) {
      network.ClearGradients();
      loss = network.Forward(data.batch(), 0.25).value();
      ASSERT_TRUE(network.Backward().has_value());
      for (size_t i = 0; i < network.values().size(); ++i) {
        network.values()[i] -= 0.05F * network.gradients()[i];
      }
    }
    EXPECT_LT(loss, 0.8 * start) << precision;
    last[options.precision == "bfloat16"] = loss / start;
  }
  EXPECT_NEAR(last[0], last[1], 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Architectures, testing::ValuesIn(AllCases()),
                         [](const auto& one) { return NameOf(one.param); });

TEST(ParameterCounts, OfTheBenchmarkNetworks) {
  NetworkOptions unet;
  unet.input_planes = 8;
  unet.base_channels = 32;
  unet.levels = 4;
  unet.stem = "plain";
  unet.norm = "batch";
  // Kernels 9 (8 32 + 32 32 + 32 64 + 64 64 + 64 128 + 128 128 + 128 256 + 256 256
  //   + 256 128 + 128 128 + 128 64 + 64 64 + 64 32 + 32 32) = 9 * 194816 = 1753344,
  // gains and shifts 2 * 2 (32 + 64 + 128 + 256 + 128 + 64 + 32) = 2816,
  // up 4 (256 128 + 128 64 + 64 32) + 128 + 64 + 32 = 172256, head 33.
  EXPECT_EQ(MakeNetwork(unet).parameter_count(), 1753344 + 2816 + 172256 + 33);
  NetworkOptions mlp;
  mlp.architecture = "mlp";
  mlp.input_planes = 512;
  mlp.hidden = {1024, 1024, 1024};
  mlp.outputs = 512;
  mlp.norm = "none";
  EXPECT_EQ(MakeNetwork(mlp).parameter_count(),
            512 * 1024 + 2 * 1024 * 1024 + 1024 * 512 + 3 * 1024 + 512);
}

TEST(ParameterCounts, OfMessagePassingAndFullyConvolutional) {
  NetworkOptions options = OptionsOf({"gnn", "plain", "none", "mae", 2, false});
  // 3 products of 2 8, 8 8 and 8 5, shifts 8 + 8 + 5, head 5 2 + 2.
  EXPECT_EQ(MakeNetwork(options).parameter_count(), 3 * (16 + 64 + 40) + 21 + 12);
  options.architecture = "fcn";
  EXPECT_EQ(MakeNetwork(options).parameter_count(), 9 * (16 + 64 + 40) + 21 + 12);
}

TEST(GradientMemory, OfTheCallerIsUsedInPlace) {
  NetworkOptions options = OptionsOf({"mlp"});
  options.gradient_tail = 2;
  const int64_t floats = Network::GradientFloats(options).value();
  std::vector<float> memory(static_cast<size_t>(floats) + 16, 7.0F);
  size_t skip = 0;
  while (reinterpret_cast<std::uintptr_t>(memory.data() + skip) % 64 != 0) ++skip;
  options.gradient_memory =
      std::span(memory).subspan(skip, static_cast<size_t>(floats));
  Network network = MakeNetwork(options);
  EXPECT_EQ(network.gradients().data(), memory.data() + skip);
  EXPECT_EQ(network.gradients().size(), static_cast<size_t>(floats));
  EXPECT_EQ(LargestMagnitude(network.gradients()), 0.0);
  const ExampleData data(options, 3, 1);
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  EXPECT_GT(LargestMagnitude(network.gradients()), 1e-3);

  for (const std::span<float> wrong :
       {std::span(memory).subspan(skip, static_cast<size_t>(floats) - 1),
        std::span(memory).subspan(skip + 1)}) {
    options.gradient_memory = wrong;
    const auto refused = Network::Create(options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().id, "MODEL-0012");
  }
}

TEST(Graphs, ABadIndexIsRefused) {
  const NetworkOptions options = OptionsOf({"gnn"});
  Network network = MakeNetwork(options);
  const ExampleData data(options, 2, 1);
  for (int which = 0; which < 4; ++which) {
    std::vector<int64_t> source = data.source();
    std::vector<int64_t> sink = data.sink();
    std::vector<int64_t> graph = data.graph_of_node();
    Batch batch = data.batch();
    if (which == 0) source[3] = 6;
    if (which == 1) sink[0] = -1;
    if (which == 2) graph[5] = 2;
    batch.graph.source = source.data();
    batch.graph.sink = sink.data();
    batch.graph.graph_of_node = which == 3 ? nullptr : graph.data();
    const auto loss = network.Forward(batch, 1.0);
    ASSERT_FALSE(loss.has_value()) << which;
    EXPECT_EQ(loss.error().id, "MODEL-0011");
  }
}

TEST(Graphs, AGraphIsNotTouchedByTheOthersOfItsBatch) {
  for (const bool nodes : {false, true}) {
    const NetworkOptions options =
        OptionsOf({"gnn", "plain", "group", "mae", 2, nodes});
    Network network = MakeNetwork(options);
    const ExampleData data(options, 3, 6);
    std::vector<float> together(data.prediction_count());
    ASSERT_TRUE(network.Predict(data.batch(), together).has_value());
    std::vector<float> alone(together.size() / 3);
    ASSERT_TRUE(network.Predict(data.batch(0, 1), alone).has_value());
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(alone[i], together[i], 1e-6);
    }
  }
}

TEST(Graphs, OneMessageLayerByHand) {
  NetworkOptions options;
  options.architecture = "gnn";
  options.input_planes = 1;
  options.hidden = {1};
  options.norm = "none";
  options.node_targets = true;
  Network network = MakeNetwork(options);
  // relu(2 x + 3 mean of predecessors + 5 mean of successors + 1) + x; head 1, 0.
  const std::vector<std::pair<std::string, float>> weights = {
      {"layer.0.predecessors.weights", 3.0F},
      {"layer.0.successors.weights", 5.0F},
      {"layer.0.weights", 2.0F},
      {"layer.0.shift", 1.0F},
      {"head.weights", 1.0F},
      {"head.shift", 0.0F}};
  ASSERT_EQ(network.parameters().size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_EQ(network.parameters()[i].name, weights[i].first);
    network.values()[static_cast<size_t>(network.parameters()[i].offset)] =
        weights[i].second;
  }
  const std::vector<float> inputs = {1, 2, 4};
  const std::vector<int64_t> source = {0, 1}, sink = {2, 2};  // 0 -> 2 <- 1
  Batch batch{
      1, 1, 1, inputs.data(), nullptr, {3, 2, source.data(), sink.data(), nullptr}};
  std::vector<float> predictions(3);
  ASSERT_TRUE(network.Predict(batch, predictions).has_value());
  EXPECT_FLOAT_EQ(predictions[0], 2 * 1 + 5 * 4 + 1 + 1);
  EXPECT_FLOAT_EQ(predictions[1], 2 * 2 + 5 * 4 + 1 + 2);
  EXPECT_FLOAT_EQ(predictions[2], 2 * 4 + 3 * 1.5 + 1 + 4);
}

TEST(Options, EachWrongValueIsNamed) {
  const auto refused = [](auto change) {
    NetworkOptions options = OptionsOf({"mlp"});
    change(options);
    const auto network = Network::Create(options);
    return network.has_value() ? std::string()
                               : network.error().id + network.error().what;
  };
  const std::string prefix = "MODEL-0002";
  EXPECT_EQ(refused([](auto& o) { o.architecture = "cnn"; }),
            prefix + "architecture is 'cnn', allowed is unet, fcn, mlp, gnn");
  EXPECT_EQ(refused([](auto& o) { o.norm = "layer"; }),
            prefix + "norm is 'layer', allowed is group, batch, sync_batch, none");
  EXPECT_EQ(refused([](auto& o) { o.hidden.clear(); }),
            prefix + "the number of hidden layers is 0, allowed is 1 to 64");
  EXPECT_EQ(refused([](auto& o) { o.hidden = {0}; }),
            prefix + "hidden is 0, allowed is 1 to 8192");
  EXPECT_EQ(refused([](auto& o) {
              o.architecture = "unet";
              o.base_channels = 256;
              o.levels = 8;
            }).substr(0, 10),
            "MODEL-0010");
}

}  // namespace
}  // namespace stepslack::model
