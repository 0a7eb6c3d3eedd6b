#include "stepslack/model/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepslack/base/random.h"

namespace stepslack::model {
namespace {

constexpr int kPlanes = 2;

NetworkOptions Small() {
  NetworkOptions options;
  options.input_planes = kPlanes;
  options.base_channels = 4;
  options.levels = 3;
  options.seed = 3;
  return options;
}

Network Make(const NetworkOptions& options) {
  auto network = Network::Create(options);
  EXPECT_TRUE(network.has_value()) << Describe(network.error());
  return std::move(*network);
}

// Noise; the target follows the first plane pixel by pixel.
struct Data {
  Data(int64_t samples_in, int64_t side_in, uint64_t seed)
      : samples(samples_in), side(side_in) {
    base::Random random(seed);
    const auto pixels = static_cast<size_t>(side * side);
    for (int64_t s = 0; s < samples; ++s) {
      const size_t first = inputs.size();
      for (size_t i = 0; i < kPlanes * pixels; ++i) {
        inputs.push_back(static_cast<float>(random.Normal()));
      }
      for (size_t i = 0; i < pixels; ++i) {
        targets.push_back(1.0F + 0.5F * inputs[first + i]);
      }
    }
  }
  Batch batch(int64_t first, int64_t count) const {
    return {count, side, side, inputs.data() + first * kPlanes * side * side,
            targets.data() + first * side * side};
  }
  int64_t samples, side;
  std::vector<float> inputs, targets;
};

void Clear(Network& network) {
  const auto gradients = network.gradients();
  std::fill(gradients.begin(), gradients.end(), 0.0F);
}

TEST(Network, GradientAgreesWithFiniteDifferences) {
  Network network = Make(Small());
  const Data data(2, 8, 1);
  ASSERT_TRUE(network.Forward(data.batch(0, 2), 0.5).has_value());
  ASSERT_TRUE(network.Backward().has_value());
  // A step along the gradient itself changes the loss by |g|^2 per unit to first order;
  // ReLU, max pooling and |x| have kinks, so the step is small and the check is of the
  // whole vector.
  const std::vector<float> start(network.values().begin(), network.values().end());
  const std::vector<float> gradient(network.gradients().begin(),
                                    network.gradients().end());
  double square = 0;
  for (float g : gradient) square += static_cast<double>(g) * static_cast<double>(g);
  ASSERT_GT(square, 1e-4);
  const double epsilon = 1e-3 / std::sqrt(square);
  const auto loss_at = [&](double along) {
    for (size_t i = 0; i < start.size(); ++i) {
      network.values()[i] = static_cast<float>(
          static_cast<double>(start[i]) + along * static_cast<double>(gradient[i]));
    }
    return network.Forward(data.batch(0, 2), 0.5).value();
  };
  const double slope = (loss_at(epsilon) - loss_at(-epsilon)) / (2 * epsilon);
  EXPECT_NEAR(slope / square, 1.0, 0.02);
}

TEST(Network, EveryGradientIsAnnouncedOnceAndTheHeadFirst) {
  Network network = Make(Small());
  std::vector<size_t> ready;
  network.OnGradientReady([&](size_t parameter) { ready.push_back(parameter); });
  const Data data(1, 8, 1);
  ASSERT_TRUE(network.Forward(data.batch(0, 1), 1.0).has_value());
  EXPECT_TRUE(ready.empty());
  ASSERT_TRUE(network.Backward().has_value());
  ASSERT_EQ(ready.size(), network.parameters().size());
  EXPECT_GE(ready.front(), network.parameters().size() - 2);  // head kernel or shift
  EXPECT_LT(ready.back(), 3U);                                // first block
  std::sort(ready.begin(), ready.end());
  for (size_t i = 0; i < ready.size(); ++i) EXPECT_EQ(ready[i], i);
}

TEST(Network, GradientsOfPartsAddUpToTheGradientOfTheWhole) {
  Network network = Make(Small());
  const Data data(5, 8, 2);
  Clear(network);
  const double whole = network.Forward(data.batch(0, 5), 0.2).value();
  ASSERT_TRUE(network.Backward().has_value());
  const std::vector<float> expected(network.gradients().begin(),
                                    network.gradients().end());
  Clear(network);
  double parts = 0;
  for (const auto& [first, count] : {std::pair{0, 3}, std::pair{3, 2}}) {
    parts += network.Forward(data.batch(first, count), 0.2).value();
    ASSERT_TRUE(network.Backward().has_value());
  }
  EXPECT_NEAR(parts, whole, 1e-6);
  double scale = 0;
  for (float g : expected) scale = std::max(scale, std::fabs(static_cast<double>(g)));
  for (size_t i = 0; i < expected.size(); ++i) {
    // Sums of float32 in another order; everything else is the same.
    ASSERT_NEAR(network.gradients()[i], expected[i], 1e-5 * scale) << i;
  }
}

TEST(Network, PredictionOfASampleDoesNotDependOnItsBatch) {
  Network network = Make(Small());
  const Data data(3, 8, 4);
  std::vector<float> together(3 * 64);
  ASSERT_TRUE(network.Predict(data.batch(0, 3), together).has_value());
  std::vector<float> alone(64);
  ASSERT_TRUE(network.Predict(data.batch(1, 1), alone).has_value());
  for (size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(alone[i], together[64 + i], 1e-5);
  }
}

TEST(Network, SameSeedGivesTheSameBytesAndAnotherSeedDoesNot) {
  Network first = Make(Small());
  Network second = Make(Small());
  NetworkOptions other = Small();
  other.seed = 4;
  Network third = Make(other);
  EXPECT_TRUE(std::equal(first.values().begin(), first.values().end(),
                         second.values().begin()));
  EXPECT_FALSE(
      std::equal(first.values().begin(), first.values().end(), third.values().begin()));
}

TEST(Network, ParameterCountMatchesTheHandCount) {
  // Planes 2 * 4 = 8 after unshuffle; levels 3: encoder 8-4-4 and 4-8-8, decoder
  // 12-4-4, head 4-4. Kernels 9*(8*4 + 4*4 + 4*8 + 8*8 + 12*4 + 4*4) = 9 * 208 = 1872,
  // gains and shifts 2*(4+4+8+8+4+4) = 64, head 4*4 + 4 = 20.
  EXPECT_EQ(Make(Small()).parameter_count(), 1872 + 64 + 20);
}

TEST(Network, TailStandsBehindTheGradients) {
  NetworkOptions options = Small();
  options.gradient_tail = 3;
  Network network = Make(options);
  EXPECT_EQ(network.gradients().size(), network.values().size() + 3);
}

TEST(Network, RefusesOptionsAndSizesThatDoNotFit) {
  for (const auto& [base, levels] :
       {std::pair{0, 3}, std::pair{4, 1}, std::pair{4, 9}, std::pair{300, 3}}) {
    NetworkOptions options = Small();
    options.base_channels = base;
    options.levels = levels;
    const auto network = Network::Create(options);
    ASSERT_FALSE(network.has_value());
    EXPECT_EQ(network.error().id, "MODEL-0002");
  }
  const Network network = Make(Small());  // multiples of 4
  EXPECT_TRUE(network.CheckMapSize(8, 12).has_value());
  for (const auto& [height, width] :
       {std::pair{8, 10}, std::pair{6, 8}, std::pair{0, 4}}) {
    const auto status = network.CheckMapSize(height, width);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().id, "MODEL-0001");
  }
}

TEST(Network, WrongSizeIsAnErrorAndNotACrash) {
  Network network = Make(Small());
  const Data data(1, 9, 1);  // an odd side can not be unshuffled
  const auto loss = network.Forward(data.batch(0, 1), 1.0);
  ASSERT_FALSE(loss.has_value());
  EXPECT_EQ(loss.error().id, "MODEL-0003");
}

TEST(Network, LearnsATinyProblemMuchBetterThanTheBestConstant) {
  NetworkOptions options = Small();
  options.base_channels = 8;
  Network network = Make(options);
  const Data data(8, 8, 5);
  // The best constant for |error| is the median of the targets.
  std::vector<float> sorted = data.targets;
  std::sort(sorted.begin(), sorted.end());
  const auto median = static_cast<double>(sorted[sorted.size() / 2]);
  double constant = 0;
  for (float t : data.targets) constant += std::fabs(static_cast<double>(t) - median);
  constant /= static_cast<double>(data.targets.size());
  // Gradient descent with each step scaled by the running size of its gradient.
  std::vector<double> size(network.values().size());
  double loss = 0;
  for (int step = 1; step <= 300; ++step) {
    Clear(network);
    loss = network.Forward(data.batch(0, 8), 1.0 / 8).value();
    ASSERT_TRUE(network.Backward().has_value());
    for (size_t i = 0; i < size.size(); ++i) {
      const auto gradient = static_cast<double>(network.gradients()[i]);
      size[i] = 0.9 * size[i] + 0.1 * gradient * gradient;
      network.values()[i] -= static_cast<float>(
          0.01 * gradient / (std::sqrt(size[i]) + 1e-8) * (1.0 - step / 300.0));
    }
  }
  EXPECT_LT(loss, 0.5 * constant);
}

}  // namespace
}  // namespace stepslack::model
