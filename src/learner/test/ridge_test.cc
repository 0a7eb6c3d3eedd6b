#include <gtest/gtest.h>

#include <limits>

#include "stepslack/learner/learner.h"

namespace stepslack::learner {
namespace {

LearnerOptions RidgeWith(double l2) {
  LearnerOptions options;
  options.method = Method::kRidge;
  options.l2 = l2;
  return options;
}

TEST(Ridge, WithoutPenaltyALineIsFoundExactly) {
  const Matrix train{4, 2, {1, 7, 2, 1, 3, 4, 4, 0}};
  std::vector<double> labels;
  for (int i = 0; i < 4; ++i) {
    const auto row = static_cast<size_t>(i) * 2;
    labels.push_back(3 + 2 * train.values[row] - 0.5 * train.values[row + 1]);
  }
  const auto out = FitAndPredict(train, labels, {1, 2, {10, 10}}, RidgeWith(0));
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 18, 1e-9);
}

// One column: z has sum of squares n, so b = n s / (n + l2) with s the slope in z.
TEST(Ridge, PenaltyOfNHalvesTheSlope) {
  const Matrix train{2, 1, {-3, 5}};  // mean 1, deviation 4
  const std::vector<double> labels = {10, 30};
  const auto out = FitAndPredict(train, labels, {2, 1, {5, 1}}, RidgeWith(2));
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 25, 1e-12);
  EXPECT_NEAR((*out)[1], 20, 1e-12);
}

TEST(Ridge, MissingTakesTheMeanAndConstantOrTwinColumnsDoNoHarm) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Matrix train{3, 3, {1, 5, 1, 2, 5, 2, 3, 5, 3}};
  const std::vector<double> labels = {1, 2, 3};
  const auto out =
      FitAndPredict(train, labels, {2, 3, {nan, nan, nan, 3, 9, 3}}, RidgeWith(0));
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 2, 1e-9);
  EXPECT_NEAR((*out)[1], 3, 1e-9);
}

TEST(Ridge, TinyUnitsLoseNoDigits) {
  const Matrix train{3, 1, {1e-12F, 2e-12F, 3e-12F}};
  const std::vector<double> labels = {1e-15, 2e-15, 3e-15};
  const auto out = FitAndPredict(train, labels, {1, 1, {4e-12F}}, RidgeWith(0));
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 4e-15, 1e-21);
}

TEST(Ridge, TooManyColumnsAreRefused) {
  const Matrix train{1, 3000, std::vector<float>(3000, 1.0F)};
  const std::vector<double> labels = {1};
  const auto out = FitAndPredict(train, labels, train, RidgeWith(1));
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().id, "LEARN-0006");
}

}  // namespace
}  // namespace stepslack::learner
