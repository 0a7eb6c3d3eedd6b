#include "stepslack/quality/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepslack/base/random.h"

namespace stepslack::quality {
namespace {

constexpr double kTight = 1e-6;  // labels are float

// Maps of one row, all predictions 1, so that errors are scores.
struct Maps {
  std::vector<std::vector<float>> targets;
  std::vector<std::vector<float>> predictions;
  std::vector<std::string> groups;

  void Add(const std::string& group, const std::vector<float>& scores) {
    groups.push_back(group);
    targets.emplace_back();
    for (float score : scores) targets.back().push_back(1 + score);
    predictions.emplace_back(scores.size(), 1.0F);
  }
  std::vector<MapView> views() const {
    std::vector<MapView> all;
    for (size_t i = 0; i < groups.size(); ++i) {
      all.push_back({"m" + std::to_string(i), groups[i], "synthetic", 1,
                     static_cast<int64_t>(targets[i].size()), targets[i],
                     predictions[i]});
    }
    return all;
  }
};

Maps NineFamilies() {
  Maps maps;
  for (int k = 1; k <= 9; ++k) {
    maps.Add("v" + std::to_string(k), {static_cast<float>(k) / 16});
  }
  return maps;
}

TEST(ConformalQuantile, TakesTheRankAboveTheLevel) {
  const std::vector<double> scores = {0.4, 0.1, 0.3, 0.2};
  // ceil(5 * 0.5) = 3; ceil(5 * 0.8) = 4; ceil(5 * 0.9) = 5 of 4.
  EXPECT_EQ(ConformalQuantile(scores, 0.5), 0.3);
  EXPECT_EQ(ConformalQuantile(scores, 0.8), 0.4);
  EXPECT_TRUE(std::isinf(ConformalQuantile(scores, 0.9)));
  EXPECT_TRUE(std::isnan(ConformalQuantile({}, 0.9)));
  EXPECT_TRUE(std::isnan(ConformalQuantile(scores, 1.0)));
}

TEST(Calibrate, TakesTheEighthOfNineFamiliesForEightyPercent) {
  Maps test;
  test.Add("t1", {0.1F, 0.2F, 0.3F, 0.9F});  // three of four inside 8 / 16
  test.Add("t2", {0.1F});
  CalibrationOptions options;
  options.level = 0.8;
  const Maps validation = NineFamilies();
  const auto c = Calibrate(validation.views(), test.views(), options);
  ASSERT_TRUE(c.has_value());
  EXPECT_NEAR(c->half_width_factor, 8.0 / 16, kTight);
  EXPECT_TRUE(c->guaranteed);
  EXPECT_EQ(c->calibration_groups, 9);
  EXPECT_NEAR(*c->coverage.value, (0.75 + 1) / 2, kTight);
  EXPECT_EQ(c->coverage.n, 2);
  ASSERT_EQ(c->groups.size(), 2U);
  EXPECT_EQ(c->groups[0].group, "t1");
  EXPECT_NEAR(c->groups[0].covered, 0.75, kTight);
  EXPECT_EQ(c->groups[0].pixels, 4);
  EXPECT_NEAR(*c->half_width.value, 0.5, kTight);
  EXPECT_EQ(c->half_width.unit, "mV");
}

TEST(Calibrate, PromisesNothingWithTooFewFamilies) {
  Maps test;
  test.Add("t1", {0.1F});
  CalibrationOptions options;
  options.level = 0.95;  // would need 19 families
  const Maps validation = NineFamilies();
  const auto c = Calibrate(validation.views(), test.views(), options);
  ASSERT_TRUE(c.has_value());
  EXPECT_FALSE(c->guaranteed);
  EXPECT_NEAR(c->half_width_factor, 9.0 / 16, kTight);
  EXPECT_FALSE(c->coverage.low.has_value());  // one family
}

TEST(Calibrate, GivesEveryFamilyTheSameWeight) {
  Maps validation;
  validation.Add("large", std::vector<float>(1000, 0.1F));
  validation.Add("small", {0.5F});
  Maps test;
  test.Add("t", {0.2F});
  CalibrationOptions options;
  options.level = 0.6;  // of two families: 1.2 weights with nothing promised
  const auto c = Calibrate(validation.views(), test.views(), options);
  ASSERT_TRUE(c.has_value());
  EXPECT_NEAR(c->half_width_factor, 0.5, kTight);
}

TEST(Calibrate, CoversUnseenFamiliesAtLeastAtTheLevel) {
  // Families differ in difficulty, pixels of a family go together: 400 experiments with
  // 19 validation families. Expected coverage lies in [0.9, 0.95].
  base::Random random(11);
  double covered = 0;
  const int experiments = 400;
  const auto add = [&](Maps& maps, const std::string& name) {
    const double difficulty = 0.1 * std::exp(random.Normal());
    std::vector<float> scores;
    for (int i = 0; i < 20; ++i) {
      scores.push_back(static_cast<float>(difficulty * std::fabs(random.Normal())));
    }
    maps.Add(name, scores);
  };
  for (int e = 0; e < experiments; ++e) {
    Maps validation;
    Maps test;
    for (int k = 0; k < 19; ++k) add(validation, "v" + std::to_string(k));
    for (int k = 0; k < 4; ++k) add(test, "t" + std::to_string(k));
    const auto c = Calibrate(validation.views(), test.views(), {});
    ASSERT_TRUE(c.has_value());
    covered += *c->coverage.value / experiments;
  }
  // Standard error of the mean: about 0.005.
  EXPECT_GE(covered, 0.885);
  EXPECT_LE(covered, 0.965);
}

TEST(Calibrate, RefusesFamiliesOnBothSidesAndBadLevels) {
  const Maps validation = NineFamilies();
  Maps test;
  test.Add("v3", {0.1F});
  EXPECT_EQ(Calibrate(validation.views(), test.views(), {}).error().id, "QUAL-0022");
  CalibrationOptions options;
  options.level = 1;
  EXPECT_EQ(Calibrate(validation.views(), test.views(), options).error().id,
            "QUAL-0020");
  EXPECT_EQ(Calibrate(validation.views(), {}, {}).error().id, "QUAL-0002");
}

TEST(Calibrate, RefusesAMapThatIsPredictedZeroEverywhere) {
  const Maps validation = NineFamilies();
  Maps test;
  test.Add("t", {0.1F});
  test.predictions[0] = {0};
  EXPECT_EQ(Calibrate(validation.views(), test.views(), {}).error().id, "QUAL-0021");
  test.targets[0] = {0};
  const auto fine = Calibrate(validation.views(), test.views(), {});
  ASSERT_TRUE(fine.has_value());
  EXPECT_EQ(fine->coverage.value, 1);
}

}  // namespace
}  // namespace stepslack::quality
