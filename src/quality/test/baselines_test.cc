#include "stepslack/quality/baselines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "physics_features.h"
#include "stepslack/base/random.h"

namespace stepslack::quality {
namespace {

constexpr int64_t kSide = 16;
constexpr int64_t kPixels = kSide * kSide;

const std::vector<data::Channel> kAll = {{"current", "uA", false},
                                         {"template", "class", true},
                                         {"stripe", "1", false},
                                         {"pad_distance", "tiles", false}};

// Random channels, and a target that is linear in a few of the features.
struct World {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<data::Channel> channels;
  int64_t n = 0;

  TileArrays tiles() const { return {x, y, n, kSide, kSide, channels}; }
  float& At(int64_t tile, size_t channel, int64_t pixel) {
    return x[(static_cast<size_t>(tile) * channels.size() + channel) * kPixels +
             static_cast<size_t>(pixel)];
  }
};

World MakeWorld(int64_t n) {
  World world;
  world.n = n;
  world.channels = kAll;
  world.x.resize(static_cast<size_t>(n * 4 * kPixels));
  world.y.resize(static_cast<size_t>(n * kPixels));
  base::Random random(5);
  for (int64_t t = 0; t < n; ++t) {
    double mean = 0;
    for (int64_t p = 0; p < kPixels; ++p) {
      world.At(t, 0, p) = static_cast<float>(random.Uniform(1, 5));
      world.At(t, 1, p) = static_cast<float>(random.Below(3));
      world.At(t, 2, p) = static_cast<float>(random.Below(2));
      world.At(t, 3, p) = static_cast<float>(random.Uniform(0, 20));
      mean += world.At(t, 0, p) / static_cast<double>(kPixels);
    }
    for (int64_t p = 0; p < kPixels; ++p) {
      const double d = world.At(t, 3, p);
      const double by_template = world.At(t, 1, p) == 2 ? 0.5 : 0.0;
      world.y[static_cast<size_t>(t * kPixels + p)] = static_cast<float>(
          mean * (0.5 + 0.1 * d + by_template + 0.2 * std::log1p(d) * by_template) +
          2 * static_cast<double>(world.At(t, 0, p)));
    }
  }
  return world;
}

double RelativeError(const World& world, const std::vector<float>& prediction) {
  double error = 0;
  double label = 0;
  for (size_t i = 0; i < prediction.size(); ++i) {
    error += std::fabs(prediction[i] - world.y[i]);
    label += std::fabs(world.y[i]);
  }
  return error / label;
}

const std::vector<int64_t> kTrain = {0, 1, 2, 3};
const std::vector<int64_t> kEverything = {0, 1, 2, 3, 4, 5};

TEST(LinearBaseline, RecoversALawThatIsLinearInItsFeatures) {
  const World world = MakeWorld(6);
  BaselineOptions options;
  options.ridge = 1e-10;
  const auto fitted = LinearBaseline::Fit(world.tiles(), kTrain, options);
  ASSERT_TRUE(fitted.has_value()) << fitted.error().what;
  EXPECT_EQ(fitted->facts().pixels_used, 4 * kPixels);
  const auto prediction = fitted->Predict(world.tiles(), kEverything);
  ASSERT_TRUE(prediction.has_value());
  EXPECT_LT(RelativeError(world, *prediction), 1e-4);
}

TEST(LinearBaseline, BeatsTheConstantWhichBeatsZero) {
  const World world = MakeWorld(6);
  const auto constant = ConstantBaseline::Fit(world.tiles(), kTrain, {});
  const auto linear = LinearBaseline::Fit(world.tiles(), kTrain, {});
  ASSERT_TRUE(constant.has_value() && linear.has_value());
  const double flat =
      RelativeError(world, *constant->Predict(world.tiles(), kEverything));
  EXPECT_LT(flat, 0.5);
  EXPECT_LT(RelativeError(world, *linear->Predict(world.tiles(), kEverything)),
            flat / 10);
}

TEST(LinearBaseline, PredictsThreeTimesTheDropForThreeTimesTheCurrent) {
  World world = MakeWorld(6);
  const auto fitted = LinearBaseline::Fit(world.tiles(), kTrain, {});
  ASSERT_TRUE(fitted.has_value());
  const std::vector<int64_t> one = {5};
  const auto before = *fitted->Predict(world.tiles(), one);
  for (int64_t p = 0; p < kPixels; ++p) world.At(5, 0, p) *= 3;
  const auto after = *fitted->Predict(world.tiles(), one);
  for (size_t p = 0; p < before.size(); ++p) {
    EXPECT_NEAR(after[p], 3 * before[p], 1e-4 * std::fabs(before[p]));
  }
}

TEST(LinearBaseline, WorksWithoutAnyKnownChannel) {
  World world = MakeWorld(6);
  for (data::Channel& channel : world.channels) channel.name += " (other)";
  const auto fitted = LinearBaseline::Fit(world.tiles(), kTrain, {});
  ASSERT_TRUE(fitted.has_value()) << fitted.error().what;
  double mean = 0;
  for (size_t i = 0; i < 4 * kPixels; ++i) mean += world.y[i] / (4.0 * kPixels);
  const auto prediction = *fitted->Predict(world.tiles(), kTrain);
  EXPECT_NEAR(prediction.front(), mean, 1e-4 * mean);
  EXPECT_EQ(prediction.front(), prediction.back());
}

TEST(LinearBaseline, NamesItsFeatures) {
  const World world = MakeWorld(6);
  const auto fitted = LinearBaseline::Fit(world.tiles(), kTrain, {});
  ASSERT_TRUE(fitted.has_value());
  // 5 currents, stripe and 2 of 3 templates; 3 distances; two products of each of
  // the 8.
  EXPECT_EQ(fitted->feature_names().size(), 8U + 3U + 16U);
  EXPECT_EQ(fitted->feature_names()[1], "current r2");
  EXPECT_EQ(fitted->feature_names()[7], "template 2");
  EXPECT_EQ(fitted->model().coefficients.size(), fitted->feature_names().size());
}

TEST(LinearBaseline, CutsPredictionsAtZeroOnlyWhenTrainingHasNone) {
  World world = MakeWorld(6);
  const std::vector<int64_t> one = {5};
  for (int64_t p = 0; p < kPixels; ++p) world.At(5, 3, p) = -100;  // as a pad: 0
  const auto positive = LinearBaseline::Fit(world.tiles(), kTrain, {});
  for (float& v : world.y) v = -v;
  const auto negative = LinearBaseline::Fit(world.tiles(), kTrain, {});
  const auto up = *positive->Predict(world.tiles(), one);
  const auto down = *negative->Predict(world.tiles(), one);
  EXPECT_GE(*std::min_element(up.begin(), up.end()), 0);
  EXPECT_LT(*std::max_element(down.begin(), down.end()), 0);
}

TEST(ConstantBaseline, IsTheWeightedMedianOfDropOverMeanCurrent) {
  // Tiles of 1 x 2: mean currents 1 and 3. Ratios 1, 2 (weight 1) and 3, 5 (weight 3):
  // half of the weight 8 is reached at 3.
  const std::vector<float> x = {1, 1, 2, 4};
  const std::vector<float> y = {1, 2, 9, 15};
  const std::vector<data::Channel> channels = {{"current", "uA", false}};
  const TileArrays tiles = {x, y, 2, 1, 2, channels};
  const auto fitted = ConstantBaseline::Fit(tiles, std::vector<int64_t>{0, 1}, {});
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->factor(), 3);
  EXPECT_EQ(*fitted->Predict(tiles, std::vector<int64_t>{1, 0}),
            (std::vector<float>{9, 9, 3, 3}));
}

RC_GTEST_PROP(ConstantBaseline, HasTheLeastRelativeErrorOnItsTrainingPixels, ()) {
  const auto n = *rc::gen::inRange<size_t>(1, 6);
  const auto positive =
      rc::gen::container<std::vector<int>>(2 * n, rc::gen::inRange(1, 50));
  const auto currents = *positive;
  const auto drops = *positive;
  const std::vector<float> x(currents.begin(), currents.end());
  const std::vector<float> y(drops.begin(), drops.end());
  const std::vector<data::Channel> channels = {{"current", "uA", false}};
  std::vector<int64_t> all;
  for (size_t i = 0; i < n; ++i) all.push_back(static_cast<int64_t>(i));
  const TileArrays tiles = {x, y, static_cast<int64_t>(n), 1, 2, channels};
  const auto fitted = ConstantBaseline::Fit(tiles, all, {});
  RC_ASSERT(fitted.has_value());
  const auto error = [&](double factor) {
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double mean = 0.5 * static_cast<double>(x[i & ~size_t{1}] + x[i | 1]);
      sum += std::fabs(factor * mean - static_cast<double>(y[i]));
    }
    return sum;
  };
  for (double step : {-1.0, -0.01, 0.01, 1.0}) {
    RC_ASSERT(error(fitted->factor()) <= error(fitted->factor() + step) + 1e-9);
  }
}

TEST(Baselines, SkipAndCountTilesWithoutCurrent) {
  World world = MakeWorld(6);
  for (int64_t p = 0; p < kPixels; ++p) world.At(2, 0, p) = 0;
  const auto constant = ConstantBaseline::Fit(world.tiles(), kTrain, {});
  ASSERT_TRUE(constant.has_value());
  EXPECT_EQ(constant->facts().tiles_skipped, 1);
  EXPECT_EQ(constant->facts().tiles_used, 3);
  const std::vector<int64_t> dark = {2};
  EXPECT_EQ((*constant->Predict(world.tiles(), dark))[0], 0);
  const auto linear = LinearBaseline::Fit(world.tiles(), kTrain, {});
  EXPECT_EQ((*linear->Predict(world.tiles(), dark))[0], 0);
  EXPECT_EQ(ConstantBaseline::Fit(world.tiles(), dark, {}).error().id, "QUAL-0013");
  EXPECT_EQ(LinearBaseline::Fit(world.tiles(), {}, {}).error().id, "QUAL-0013");
}

TEST(Baselines, SampleTheSameNumberOfPixelsFromEveryTile) {
  const World world = MakeWorld(6);
  BaselineOptions options;
  options.max_pixels = 403;  // 100 from each of 4 tiles
  const auto linear = LinearBaseline::Fit(world.tiles(), kTrain, options);
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->facts().pixels_used, 400);
  const auto again = LinearBaseline::Fit(world.tiles(), kTrain, options);
  EXPECT_EQ(linear->model().coefficients, again->model().coefficients);
  options.seed = 2;
  const auto other = LinearBaseline::Fit(world.tiles(), kTrain, options);
  EXPECT_NE(linear->model().coefficients, other->model().coefficients);
}

TEST(Baselines, CountPixelsThatAreNotFinite) {
  World world = MakeWorld(6);
  world.y[0] = NAN;
  EXPECT_EQ(ConstantBaseline::Fit(world.tiles(), kTrain, {})->facts().pixels_skipped,
            1);
  EXPECT_EQ(LinearBaseline::Fit(world.tiles(), kTrain, {})->facts().pixels_skipped, 1);
}

TEST(Baselines, RefuseArraysIndicesAndOptionsThatDoNotFit) {
  World world = MakeWorld(6);
  TileArrays wrong = world.tiles();
  wrong.n = 7;
  EXPECT_EQ(LinearBaseline::Fit(wrong, kTrain, {}).error().id, "QUAL-0010");
  wrong = world.tiles();
  wrong.channels = wrong.channels.subspan(1);
  EXPECT_EQ(ConstantBaseline::Fit(wrong, kTrain, {}).error().id, "QUAL-0010");
  const std::vector<int64_t> beyond = {6};
  EXPECT_EQ(ConstantBaseline::Fit(world.tiles(), beyond, {}).error().id, "QUAL-0011");
  BaselineOptions options;
  options.max_pixels = 0;
  EXPECT_EQ(LinearBaseline::Fit(world.tiles(), kTrain, options).error().id,
            "QUAL-0012");
  for (int64_t p = 0; p < kPixels; ++p) world.At(0, 1, p) = static_cast<float>(p);
  EXPECT_EQ(LinearBaseline::Fit(world.tiles(), kTrain, {}).error().id, "QUAL-0014");
}

RC_GTEST_PROP(BoxAverages, EqualTheMeanOfTheSquareInsideThePlane, ()) {
  const int64_t height = *rc::gen::inRange<int64_t>(1, 8);
  const int64_t width = *rc::gen::inRange<int64_t>(1, 8);
  const int64_t radius = *rc::gen::inRange<int64_t>(0, 10);
  const auto raw = *rc::gen::container<std::vector<int>>(
      static_cast<size_t>(height * width), rc::gen::inRange(0, 100));
  const std::vector<float> plane(raw.begin(), raw.end());
  const BoxAverages averages(plane, height, width);
  const int64_t row = *rc::gen::inRange<int64_t>(0, height);
  const int64_t column = *rc::gen::inRange<int64_t>(0, width);
  double sum = 0;
  double count = 0;
  for (int64_t i = 0; i < height * width; ++i) {
    if (std::abs(i / width - row) > radius || std::abs(i % width - column) > radius) {
      continue;
    }
    sum += plane[static_cast<size_t>(i)];
    count += 1;
  }
  RC_ASSERT(std::fabs(averages.At(row, column, radius) - sum / count) < 1e-9);
}

RC_GTEST_PROP(SamplePixels, GivesDistinctAscendingPlaces, ()) {
  const auto pixels = *rc::gen::inRange<int64_t>(1, 500);
  const auto wanted = *rc::gen::inRange<int64_t>(0, 700);
  const auto places = SamplePixels(pixels, wanted, 1, 3);
  RC_ASSERT(static_cast<int64_t>(places.size()) ==
            std::clamp<int64_t>(wanted, 1, pixels));
  for (size_t i = 1; i < places.size(); ++i) RC_ASSERT(places[i] > places[i - 1]);
  RC_ASSERT(places.front() >= 0 && places.back() < pixels);
}

}  // namespace
}  // namespace stepslack::quality
