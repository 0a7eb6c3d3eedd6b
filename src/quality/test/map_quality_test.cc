#include "stepslack/quality/map_quality.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stepslack::quality {
namespace {

using Plane = std::vector<float>;
constexpr double kTight = 1e-9;

// Owns the planes that a MapView points to.
struct Case {
  std::string group;
  int64_t height;
  int64_t width;
  Plane target;
  Plane prediction;
  std::string source = "synthetic";
};

std::vector<MapView> Views(const std::vector<Case>& cases) {
  std::vector<MapView> views;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    views.push_back({"m" + std::to_string(i), c.group, c.source, c.height, c.width,
                     c.target, c.prediction});
  }
  return views;
}

std::vector<MapScore> Scores(const std::vector<Case>& cases,
                             const QualityOptions& options = {}) {
  const auto scores = ScoreMaps(Views(cases), options);
  EXPECT_TRUE(scores.has_value());
  return scores.value_or(std::vector<MapScore>{});
}

MapQuality QualityOf(const std::vector<Case>& cases) {
  return Summarise(Scores(cases), {});
}

Plane Ramp(int64_t count) {
  Plane values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(ScoreMaps, AddsErrorsAndLabelsOfOneMap) {
  Plane prediction = Ramp(9);
  for (float& v : prediction) v += 1;
  const auto score = Scores({{"a", 3, 3, Ramp(9), prediction}})[0];
  EXPECT_EQ(score.absolute_error, 9);
  EXPECT_EQ(score.absolute_target, 36);
  EXPECT_EQ(score.max_target, 8);
  EXPECT_EQ(score.max_prediction, 9);
  EXPECT_EQ(score.pixels, 9);
}

TEST(ScoreMaps, FindsAHotspotWithinTheRadiusOnly) {
  Plane target(10, 0.0F);
  target[0] = 10;
  Plane prediction(10, 0.0F);
  prediction[2] = 1;
  QualityOptions options;
  const auto near = Scores({{"a", 1, 10, target, prediction}}, options)[0];
  EXPECT_EQ(near.hotspots, 1);
  EXPECT_EQ(near.hotspots_found, 1);
  EXPECT_EQ(near.predictions_right, 1);
  EXPECT_EQ(near.hotspots_overlapped, 0);
  options.hotspot_radius = 1;
  const auto far = Scores({{"a", 1, 10, target, prediction}}, options)[0];
  EXPECT_EQ(far.hotspots_found, 0);
  EXPECT_EQ(far.predictions_right, 0);
}

TEST(ScoreMaps, TellsRecallFromPrecision) {
  // Hot at both ends, predicted at one of them only.
  const Plane target = {10, 0, 0, 0, 0, 0, 0, 0, 0, 10};
  const Plane prediction = {9, 8, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto score = Scores({{"a", 1, 10, target, prediction}})[0];
  EXPECT_EQ(score.hotspots, 2);
  EXPECT_EQ(score.hotspots_found, 1);
  EXPECT_EQ(score.predictions_right, 2);
  EXPECT_EQ(score.hotspots_overlapped, 1);
}

TEST(ScoreMaps, CountsHotspotsStrictlyAboveNineTenthsOfTheMaximum) {
  const Plane target = {100, 91, 90, 50};
  EXPECT_EQ(Scores({{"a", 2, 2, target, target}})[0].hotspots, 2);
  const Plane zero(4, 0.0F);
  EXPECT_EQ(Scores({{"a", 2, 2, zero, zero}})[0].hotspots, 0);
}

TEST(ScoreMaps, LooksForTheWorstTenthAmongTheFirstFifth) {
  // 100 blocks of one pixel; the prediction ranks pixels 5 to 24 first, the truth 0
  // to 9.
  Plane target;
  Plane prediction;
  for (int i = 0; i < 100; ++i) {
    target.push_back(static_cast<float>(100 - i));
    prediction.push_back(i >= 5 ? static_cast<float>(200 - i) : 0.0F);
  }
  QualityOptions options;
  options.blocks_per_side = 10;
  const auto score = Scores({{"a", 10, 10, target, prediction}}, options)[0];
  EXPECT_EQ(score.worst_blocks, 10);
  EXPECT_EQ(score.worst_blocks_found, 5);
}

TEST(ScoreMaps, NamesWhatIsWrong) {
  const auto error_of = [](const std::vector<Case>& cases, const QualityOptions& o) {
    const auto scores = ScoreMaps(Views(cases), o);
    return scores.has_value() ? std::string("none") : scores.error().id;
  };
  QualityOptions options;
  EXPECT_EQ(error_of({}, options), "QUAL-0002");
  EXPECT_EQ(error_of({{"a", 2, 2, Ramp(4), Ramp(3)}}, options), "QUAL-0003");
  EXPECT_EQ(error_of({{"a", 0, 2, {}, {}}}, options), "QUAL-0003");
  EXPECT_EQ(error_of({{"a", 1, 2, Ramp(2), {1, NAN}}}, options), "QUAL-0004");
  EXPECT_EQ(error_of({{"a", 1, 2, {1, INFINITY}, Ramp(2)}}, options), "QUAL-0004");
  options.hotspot_fraction = 1;
  EXPECT_EQ(error_of({{"a", 2, 2, Ramp(4), Ramp(4)}}, options), "QUAL-0001");
  options = {};
  options.hotspot_radius = 1000;
  EXPECT_EQ(error_of({{"a", 2, 2, Ramp(4), Ramp(4)}}, options), "QUAL-0001");
}

TEST(ScoreMaps, SaysWhereAPredictionIsNotFinite) {
  const std::vector<Case> cases = {{"a", 2, 2, Ramp(4), {0, 0, 0, NAN}}};
  EXPECT_EQ(ScoreMaps(Views(cases), {}).error().where, "map m0, row 1, column 1");
}

TEST(Summarise, CountsFamiliesNotMaps) {
  // Family a: errors 1 on labels 2; family b: 3 on 4. Pooled: (2 + 2 + 3) / (4 + 4 +
  // 4).
  const std::vector<Case> cases = {
      {"a", 1, 2, {2, 2}, {3, 1}}, {"a", 1, 2, {2, 2}, {3, 3}}, {"b", 1, 1, {4}, {1}}};
  const MapQuality quality = QualityOf(cases);
  EXPECT_EQ(quality.maps, 3);
  EXPECT_EQ(quality.groups, 2);
  EXPECT_NEAR(*quality.relative_mae.value, 7.0 / 12, kTight);
  EXPECT_EQ(quality.relative_mae.n, 2);
  EXPECT_EQ(quality.relative_mae.n_of, "families");
  EXPECT_NEAR(*quality.mae.value, 7.0 / 5, kTight);
  EXPECT_EQ(quality.mae.unit, "mV");
  // |3-2|, |3-2| and |1-4| over three maps, and over largest labels 2, 2, 4.
  EXPECT_NEAR(*quality.max_error.value, 5.0 / 3, kTight);
  EXPECT_NEAR(*quality.relative_max_error.value, 5.0 / 8, kTight);
}

TEST(Summarise, LeavesMapsWithoutHotspotsOutOfTheRecall) {
  const Plane zero(4, 0.0F);
  const Plane hot = {10, 0, 0, 0};
  const auto quality = QualityOf({{"a", 2, 2, zero, zero}, {"b", 2, 2, hot, hot}});
  EXPECT_EQ(quality.hotspot_recall.value, 1);
  EXPECT_EQ(quality.hotspot_recall.n, 1);
  EXPECT_EQ(quality.groups, 2);
}

TEST(Summarise, OfNothingSaysWhy) {
  const auto quality = Summarise({}, {});
  EXPECT_FALSE(quality.mae.value.has_value());
  EXPECT_EQ(quality.mae.method, "no clusters");
}

TEST(SliceQualities, PutsTheWorstSliceOfADimensionFirst) {
  const std::vector<Case> cases = {{"a", 1, 1, {10}, {9}, "real"},
                                   {"b", 1, 1, {20}, {10}, "synthetic"},
                                   {"c", 1, 1, {30}, {27}, "real"}};
  const auto slices = SliceQualities(Scores(cases), {});
  std::vector<std::string> names;
  for (const SliceQuality& s : slices) names.push_back(s.dimension + "=" + s.value);
  // Relative errors: a 0.1, b 0.5, c 0.1; real 0.1. Ties stay in name order.
  EXPECT_EQ(names,
            (std::vector<std::string>{"source=synthetic", "source=real", "group=b",
                                      "group=a", "group=c", "drop tercile=middle",
                                      "drop tercile=high", "drop tercile=low"}));
  EXPECT_NEAR(*slices[1].quality.relative_mae.value, 4.0 / 40, kTight);
  EXPECT_EQ(slices[1].quality.groups, 2);
  EXPECT_EQ(slices[6].detail, "largest label 30 to 30 mV");
}

// Maps with integer labels and predictions, so that transformations are exact.
std::vector<Case> RandomCases(bool perfect) {
  const auto count = *rc::gen::inRange<size_t>(1, 7);
  std::vector<Case> cases;
  for (size_t i = 0; i < count; ++i) {
    const auto plane =
        rc::gen::container<std::vector<int>>(size_t{12}, rc::gen::inRange(1, 200));
    const auto target = *plane;
    const auto prediction = *plane;
    const Plane labels(target.begin(), target.end());
    const Plane values(prediction.begin(), prediction.end());
    cases.push_back(
        {"g" + std::to_string(i % 3), 3, 4, labels, perfect ? labels : values});
  }
  return cases;
}

RC_GTEST_PROP(QualityProperty, APerfectPredictionHasNoErrorAndFullRecall, ()) {
  const auto quality = QualityOf(RandomCases(true));
  RC_ASSERT(*quality.mae.value == 0);
  RC_ASSERT(*quality.relative_mae.value == 0);
  RC_ASSERT(*quality.max_error.value == 0);
  RC_ASSERT(*quality.hotspot_recall.value == 1);
  RC_ASSERT(*quality.hotspot_precision.value == 1);
  RC_ASSERT(*quality.hotspot_overlap.value == 1);
  RC_ASSERT(*quality.block_recall.value == 1);
}

RC_GTEST_PROP(QualityProperty, RelativeErrorDoesNotDependOnTheUnit, ()) {
  auto cases = RandomCases(false);
  const auto before = QualityOf(cases);
  for (Case& c : cases) {
    for (float& v : c.target) v *= 1024;
    for (float& v : c.prediction) v *= 1024;
  }
  const auto after = QualityOf(cases);
  RC_ASSERT(after.relative_mae.value == before.relative_mae.value);
  RC_ASSERT(after.relative_mae.low == before.relative_mae.low);
  RC_ASSERT(std::fabs(*after.mae.value - 1024 * *before.mae.value) < 1e-6);
}

RC_GTEST_PROP(QualityProperty, RecallSeesTheOrderOfPredictionsOnly, ()) {
  auto cases = RandomCases(false);
  const auto before = QualityOf(cases);
  for (Case& c : cases) {
    for (float& v : c.prediction) v = v * v * v - 5;  // exact: below 2^24
  }
  const auto after = QualityOf(cases);
  RC_ASSERT(after.hotspot_recall.value == before.hotspot_recall.value);
  RC_ASSERT(after.hotspot_precision.value == before.hotspot_precision.value);
  RC_ASSERT(after.block_recall.value == before.block_recall.value);
}

}  // namespace
}  // namespace stepslack::quality
