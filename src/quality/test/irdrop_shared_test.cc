// The baselines on exact IR-drop maps of families that they never saw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/base/text.h"
#include "stepslack/quality/baselines.h"
#include "stepslack/quality/calibration.h"
#include "stepslack/quality/map_quality.h"
#include "stepslack/record/array_file.h"

namespace stepslack::quality {
namespace {

constexpr int kFolds = 4;

std::string SharedFolder() {
  if (const char* shared = std::getenv("STEPSLACK_SHARED")) return shared;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : std::string(source) + "/../shared";
}

class OwnIrDrop : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = SharedFolder() + "/data/vlsi/own-irdrop/";
    if (!base::IsFolder(folder)) GTEST_SKIP() << "no maps at " << folder;
    auto x = record::ReadNpy(folder + "x_float32_96x4x64x64.npy");
    auto y = record::ReadNpy(folder + "y_mV_float32_96x64x64.npy");
    auto table = base::ReadFile(folder + "samples.csv");
    ASSERT_TRUE(x.has_value() && y.has_value() && table.has_value());
    x_ = std::move(*x);
    y_ = std::move(*y);
    ASSERT_EQ(x_.shape, (std::vector<int64_t>{96, 4, 64, 64}));
    for (std::string_view line : base::Split(*table, '\n')) {
      const auto cells = base::Split(line, ',');
      if (cells.size() > 1 && base::ParseInt(cells[0]).has_value()) {
        families_.push_back(*base::ParseInt(cells[1]));
      }
    }
    ASSERT_EQ(families_.size(), 96U);
  }

  TileArrays Tiles() const { return {x_.values, y_.values, 96, 64, 64, channels_}; }

  // Every map is predicted once, by a fit on the families of the other folds.
  template <typename Baseline>
  std::vector<float> CrossPredict() const {
    std::vector<float> all(y_.values.size());
    for (int fold = 0; fold < kFolds; ++fold) {
      std::vector<int64_t> train;
      std::vector<int64_t> test;
      for (int64_t i = 0; i < 96; ++i) {
        const bool held_out = families_[static_cast<size_t>(i)] % kFolds == fold;
        (held_out ? test : train).push_back(i);
      }
      const auto fitted = Baseline::Fit(Tiles(), train, {});
      EXPECT_TRUE(fitted.has_value()) << fitted.error().what;
      const auto predicted = fitted->Predict(Tiles(), test);
      EXPECT_TRUE(predicted.has_value());
      for (size_t i = 0; i < test.size(); ++i) {
        std::copy_n(predicted->begin() + static_cast<std::ptrdiff_t>(i * 4096), 4096,
                    all.begin() + static_cast<std::ptrdiff_t>(test[i] * 4096));
      }
    }
    return all;
  }

  std::vector<MapView> Views(const std::vector<float>& prediction) const {
    std::vector<MapView> views;
    for (size_t i = 0; i < 96; ++i) {
      const auto plane = [&](const std::vector<float>& values) {
        return std::span(values).subspan(i * 4096, 4096);
      };
      views.push_back({"map " + std::to_string(i), std::to_string(families_[i]),
                       "embedded", 64, 64, plane(y_.values), plane(prediction)});
    }
    return views;
  }

  MapQuality QualityOf(const std::vector<float>& prediction) const {
    const auto scores = ScoreMaps(Views(prediction), {});
    EXPECT_TRUE(scores.has_value());
    return Summarise(*scores, {});
  }

  record::FloatArray x_;
  record::FloatArray y_;
  std::vector<int64_t> families_;
  std::vector<data::Channel> channels_ = {{"current", "uA", false},
                                          {"template", "class", true},
                                          {"stripe", "1", false},
                                          {"pad_distance", "tiles", false}};
};

// Relative MAE here is sum|e| / sum|y| over all pixels of all maps, families held out
// in four folds: 0.55 and 0.40 on these 96 maps. The constant is the one of least
// relative error; a least-squares factor gives 0.62. The published figures, 0.60 and
// 0.35, are of a larger set of the same kind, hence the wide tolerance.
TEST_F(OwnIrDrop, ConstantIsNear060AndLinearNear035OnUnseenFamilies) {
  const auto constant = QualityOf(CrossPredict<ConstantBaseline>());
  const auto linear = QualityOf(CrossPredict<LinearBaseline>());
  EXPECT_NEAR(*constant.relative_mae.value, 0.60, 0.08);
  EXPECT_NEAR(*linear.relative_mae.value, 0.35, 0.08);
  EXPECT_EQ(linear.relative_mae.n, 24);
  // The intervals do not even touch: this is what a linear model is worth.
  EXPECT_LT(*linear.relative_mae.high, *constant.relative_mae.low);
}

TEST_F(OwnIrDrop, LinearOrdersBlocksFarBetterThanTheConstant) {
  const auto constant = QualityOf(CrossPredict<ConstantBaseline>());
  const auto linear = QualityOf(CrossPredict<LinearBaseline>());
  // A constant looks at the first fifth of the blocks by position: chance finds 12
  // / 64.
  EXPECT_LT(*constant.block_recall.low, 12.0 / 64);
  EXPECT_GT(*linear.block_recall.low, *constant.block_recall.high);
  EXPECT_GT(*linear.hotspot_overlap.low, *constant.hotspot_overlap.high);
}

TEST_F(OwnIrDrop, CalibratedIntervalsCoverUnseenFamilies) {
  const std::vector<float> prediction = CrossPredict<LinearBaseline>();
  const std::vector<MapView> views = Views(prediction);
  // Maps are ordered by family: 12 families calibrate, 12 test.
  const auto c =
      Calibrate(std::span(views).first(48), std::span(views).subspan(48), {});
  ASSERT_TRUE(c.has_value()) << c.error().what;
  EXPECT_TRUE(c->guaranteed);
  EXPECT_EQ(c->groups.size(), 12U);
  // The promise is about the mean over families drawn anew; 12 tell it to a tenth.
  EXPECT_GE(*c->coverage.value, 0.8);
  EXPECT_GE(*c->coverage.high, 0.9);
}

TEST(Reference, SplitConformalQuantile) {
  const std::string path = SharedFolder() + "/reference/statistics.json";
  if (!base::PathExists(path)) GTEST_SKIP() << "no reference values at " << path;
  const auto json = base::ParseJson(*base::ReadFile(path), path);
  ASSERT_TRUE(json.has_value());
  const base::Json& entry = (*json)["values"]["split_conformal_quantile"];
  std::vector<double> scores;
  for (const auto& v : entry["inputs"]["scores"].AsArray()) {
    scores.push_back(v.AsDouble());
  }
  ASSERT_EQ(scores.size(), 19U);
  const double tolerance = entry["tol"].AsDouble();
  EXPECT_NEAR(ConformalQuantile(scores, 0.9),
              entry["expected"]["0.1"]["qhat"].AsDouble(), tolerance);
  EXPECT_NEAR(ConformalQuantile(scores, 0.8),
              entry["expected"]["0.2"]["qhat"].AsDouble(), tolerance);
  EXPECT_EQ(entry["expected"]["0.04"]["qhat"].AsString(), "inf");
  EXPECT_TRUE(std::isinf(ConformalQuantile(scores, 0.96)));
}

}  // namespace
}  // namespace stepslack::quality
