#include <gtest/gtest.h>

#include "example_batches.h"

namespace stepslack::model {
namespace {

TEST(ConvolutionEngine, WinogradAgreesWithTheDirectSum) {
  NetworkOptions options = OptionsOf({"unet", "plain", "group", "mse"});
  options.base_channels = 32;  // wide enough for the algorithm
  options.levels = 2;
  const ExampleData data(options, 3, 9);
  Network winograd = MakeNetwork(options);
  options.winograd = false;
  Network direct = MakeNetwork(options);
  for (const int64_t samples : {3, 1, 3}) {  // a short batch in between
    const Batch batch = data.batch(0, samples);
    winograd.ClearGradients();
    direct.ClearGradients();
    const double expected = direct.Forward(batch, 1.0).value();
    EXPECT_NEAR(winograd.Forward(batch, 1.0).value(), expected, 1e-4 * expected);
    ASSERT_TRUE(direct.Backward().has_value());
    ASSERT_TRUE(winograd.Backward().has_value());
    const double scale = LargestMagnitude(direct.gradients());
    for (size_t i = 0; i < direct.gradients().size(); ++i) {
      ASSERT_NEAR(winograd.gradients()[i], direct.gradients()[i], 1e-3 * scale) << i;
    }
  }
}

TEST(ConvolutionEngine, RepeatsBitByBit) {
  NetworkOptions options = OptionsOf({"fcn", "plain", "batch", "mse"});
  options.hidden = {32, 16};
  const ExampleData data(options, 2, 9);
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    Network network = MakeNetwork(options);
    ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
    ASSERT_TRUE(network.Backward().has_value());
    if (run == 0) first = Copy(network.gradients());
    EXPECT_EQ(Copy(network.gradients()), first);
  }
}

}  // namespace
}  // namespace stepslack::model
