#include "map_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dihedral.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

constexpr auto kPixels = static_cast<size_t>(TinyRun::kSide * TinyRun::kSide);

class MapSetTest : public testing::Test {
 protected:
  MapSet Load() {
    run_.WriteArrays();
    auto maps = MapSet::Load(run_.plan);
    EXPECT_TRUE(maps.has_value()) << Describe(maps.error());
    return std::move(*maps);
  }
  std::string ErrorId() {
    run_.WriteArrays();
    const auto maps = MapSet::Load(run_.plan);
    return maps.has_value() ? "" : maps.error().id;
  }
  TinyRun run_{"map_set"};
};

TEST_F(MapSetTest, InputsDoNotChangeWithTheCurrentAndTheDropUnitFollowsIt) {
  const MapSet before = Load();
  std::vector<float> first(static_cast<size_t>(before.planes()) * kPixels);
  before.EncodeInputs(9, 0, first);
  // Sample 9 draws four times the current: so does its drop.
  for (size_t i = 0; i < kPixels; ++i) {
    run_.inputs[9 * TinyRun::kChannels * kPixels + i] *= 4.0F;
    run_.targets[9 * kPixels + i] *= 4.0F;
  }
  const MapSet after = Load();
  std::vector<float> second(first.size());
  after.EncodeInputs(9, 0, second);
  EXPECT_EQ(first, second);  // a power of two: exact
  EXPECT_DOUBLE_EQ(after.TargetUnit(9), 4.0 * before.TargetUnit(9));
  std::vector<float> target(kPixels), scaled(kPixels);
  before.EncodeTarget(9, 0, target);
  after.EncodeTarget(9, 0, scaled);
  EXPECT_EQ(target, scaled);
}

TEST_F(MapSetTest, EncodingUsesTrainingSamplesOnly) {
  const Encoding before = Load().encoding();
  for (size_t i = 0; i < kPixels; ++i) run_.targets[8 * kPixels + i] *= 100.0F;
  EXPECT_EQ(Load().encoding(), before);  // sample 8 is for validation
  for (size_t i = 0; i < kPixels; ++i) run_.targets[0 * kPixels + i] *= 100.0F;
  EXPECT_FALSE(Load().encoding() == before);
}

TEST_F(MapSetTest, MeanEncodedTrainingTargetIsOne) {
  const MapSet maps = Load();
  double sum = 0;
  std::vector<float> target(kPixels);
  for (int64_t index : run_.plan.train_indices) {
    maps.EncodeTarget(index, 0, target);
    for (float value : target) sum += static_cast<double>(value);
  }
  EXPECT_NEAR(sum / (8.0 * kPixels), 1.0, 1e-6);
}

TEST_F(MapSetTest, AugmentationTurnsEveryPlaneAndTheTargetAlike) {
  const MapSet maps = Load();
  const auto planes = static_cast<size_t>(maps.planes());
  std::vector<float> plain(planes * kPixels), turned(planes * kPixels);
  std::vector<float> target(kPixels), turned_target(kPixels), expected(kPixels);
  maps.EncodeInputs(2, 0, plain);
  maps.EncodeTarget(2, 0, target);
  for (int transform = 0; transform < 8; ++transform) {
    maps.EncodeInputs(2, transform, turned);
    maps.EncodeTarget(2, transform, turned_target);
    for (size_t plane = 0; plane < planes; ++plane) {
      ApplyDihedral(transform, TinyRun::kSide, TinyRun::kSide,
                    plain.data() + plane * kPixels, expected.data());
      for (size_t i = 0; i < kPixels; ++i) {
        ASSERT_NEAR(turned[plane * kPixels + i], expected[i], 1e-6) << plane;
      }
    }
    ApplyDihedral(transform, TinyRun::kSide, TinyRun::kSide, target.data(),
                  expected.data());
    EXPECT_EQ(turned_target, expected);
  }
}

TEST_F(MapSetTest, ClassesBecomeOneHotPlanes) {
  const MapSet maps = Load();
  std::vector<float> planes(static_cast<size_t>(maps.planes()) * kPixels);
  maps.EncodeInputs(0, 0, planes);
  ASSERT_EQ(maps.planes(), 1 + 2 + 2);  // current, classes, quantity and its logarithm
  const float* kind = run_.inputs.data() + kPixels;
  for (size_t i = 0; i < kPixels; ++i) {
    ASSERT_EQ(planes[kPixels + i], 1.0F - kind[i]);
    ASSERT_EQ(planes[2 * kPixels + i], kind[i]);
  }
}

TEST_F(MapSetTest, NamesEachKindOfBadData) {
  run_.plan.train_indices.push_back(14);
  EXPECT_EQ(ErrorId(), "TRAIN-0004");
  run_.plan.train_indices.back() = -1;
  EXPECT_EQ(ErrorId(), "TRAIN-0004");
  run_.plan.train_indices.back() = 8;  // leaks from validation
  EXPECT_EQ(ErrorId(), "TRAIN-0004");
  run_.plan.train_indices.pop_back();

  run_.targets[11 * kPixels + 5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ErrorId(), "TRAIN-0005");
  run_.targets[11 * kPixels + 5] = 1.0F;

  const float kept = run_.inputs[kPixels];
  run_.inputs[kPixels] = 2.0F;  // classes are 0 and 1
  EXPECT_EQ(ErrorId(), "TRAIN-0008");
  run_.inputs[kPixels] = kept;

  run_.plan.categorical_channels = {3};
  EXPECT_EQ(ErrorId(), "TRAIN-0003");
  run_.plan.categorical_channels = {1};
  EXPECT_EQ(ErrorId(), "");

  std::vector<float> current(run_.inputs.begin(),
                             run_.inputs.begin() + static_cast<int64_t>(kPixels));
  std::fill_n(run_.inputs.begin(), kPixels, 0.0F);
  EXPECT_EQ(ErrorId(), "TRAIN-0006");
  std::copy(current.begin(), current.end(), run_.inputs.begin());
  std::fill(run_.targets.begin(), run_.targets.end(), 0.0F);
  EXPECT_EQ(ErrorId(), "TRAIN-0007");
  run_.plan.targets_path = run_.plan.inputs_path;
  EXPECT_EQ(ErrorId(), "TRAIN-0003");
}

}  // namespace
}  // namespace stepslack::train
