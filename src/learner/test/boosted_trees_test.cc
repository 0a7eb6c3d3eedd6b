#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stepslack/base/random.h"
#include "stepslack/learner/learner.h"

namespace stepslack::learner {
namespace {

Matrix OneColumn(std::vector<float> values) {
  return {static_cast<int64_t>(values.size()), 1, std::move(values)};
}

// One stump with learning rate 1 and no penalty is the mean of each side, exactly.
TEST(BoostedTrees, OneStumpGivesTheMeansOfItsTwoSides) {
  LearnerOptions options;
  options.rounds = 1;
  options.depth = 1;
  options.learning_rate = 1;
  options.l2 = 0;
  const Matrix train = OneColumn({1, 1, 2, 2});
  const std::vector<double> labels = {10, 12, 20, 24};
  const auto out = FitAndPredict(train, labels, OneColumn({1, 2}), options);
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 11, 1e-5);
  EXPECT_NEAR((*out)[1], 22, 1e-5);
}

// The leaf is -G / (H + l2): with 4 rows a side and l2 = 4 half of the way (base 0).
TEST(BoostedTrees, LeafPenaltyShrinksTowardsTheMean) {
  LearnerOptions options;
  options.rounds = 1;
  options.depth = 1;
  options.learning_rate = 1;
  options.l2 = 4;
  const Matrix train = OneColumn({0, 0, 0, 0, 1, 1, 1, 1});
  const std::vector<double> labels = {-1, -1, -1, -1, 1, 1, 1, 1};
  const auto out = FitAndPredict(train, labels, OneColumn({0, 1}), options);
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], -0.5, 1e-6);
  EXPECT_NEAR((*out)[1], 0.5, 1e-6);
}

TEST(BoostedTrees, TinyUnitsAreLearnedLikeLargeOnes) {
  std::vector<float> x;
  std::vector<double> labels;
  for (int i = 0; i < 40; ++i) {
    x.push_back(static_cast<float>(i) * 1e-12F);
    labels.push_back(i < 20 ? 3e-12 : 5e-12);
  }
  LearnerOptions options;
  options.rounds = 100;
  const auto out = FitAndPredict(OneColumn(x), labels, OneColumn(x), options);
  ASSERT_TRUE(out.has_value());
  EXPECT_NEAR((*out)[0], 3e-12, 1e-15);
  EXPECT_NEAR((*out)[39], 5e-12, 1e-15);
}

TEST(BoostedTrees, BinaryTaskGivesProbabilitiesOfOne) {
  // Eight rows a side: a child needs a second derivative of 1, here 8 * 3/16.
  const Matrix train = OneColumn({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  const std::vector<double> labels = {0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0};
  LearnerOptions options;
  options.task = Task::kBinary;
  options.l2 = 0;
  const auto out = FitAndPredict(train, labels, OneColumn({0, 1}), options);
  ASSERT_TRUE(out.has_value());
  // 300 Newton steps of 0.1 end at the frequencies, 1/4 and 3/4.
  EXPECT_NEAR((*out)[0], 0.25, 1e-3);
  EXPECT_NEAR((*out)[1], 0.75, 1e-3);
}

TEST(BoostedTrees, MissingAndInfiniteValuesAreLearnedFrom) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Matrix train = OneColumn({nan, nan, 1, 1, infinity, infinity});
  const std::vector<double> labels = {7, 7, 1, 1, 3, 3};
  LearnerOptions options;
  options.l2 = 0;
  const auto out = FitAndPredict(train, labels, OneColumn({nan, 1, infinity}), options);
  ASSERT_TRUE(out.has_value());
  // What 300 steps of a tenth leave of the distance.
  EXPECT_NEAR((*out)[0], 7, 0.01);
  EXPECT_NEAR((*out)[1], 1, 0.01);
  EXPECT_NEAR((*out)[2], 3, 0.01);
}

TEST(BoostedTrees, ConstantLabelsArePredictedAsTheyAre) {
  const std::vector<double> labels = {4e-15, 4e-15};
  const auto out = FitAndPredict(OneColumn({1, 2}), labels, OneColumn({9}));
  ASSERT_TRUE(out.has_value());
  EXPECT_DOUBLE_EQ((*out)[0], 4e-15);
}

// Rows of a fold are not seen by its model: a label that is the row's own group cannot
// be guessed for a group held out.
TEST(BoostedTrees, CrossPredictionDoesNotSeeItsOwnFold) {
  const Matrix rows = OneColumn({0, 0, 1, 1});
  const std::vector<double> labels = {5, 5, 9, 9};
  const std::vector<int> fold = {0, 0, 1, 1};
  const auto out = CrossPredict(rows, labels, fold);
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(*out, (std::vector<double>{9, 9, 5, 5}));
}

TEST(BoostedTrees, SameBytesWithAnyNumberOfThreadsAndNoWordOnStderr) {
  base::Random random(5);
  Matrix rows{600, 4, {}};
  std::vector<double> labels;
  for (int i = 0; i < 600; ++i) {
    for (int j = 0; j < 4; ++j) {
      rows.values.push_back(static_cast<float>(random.Normal()));
    }
    labels.push_back(rows.values[static_cast<size_t>(i) * 4] + random.Normal());
  }
  const std::vector<int> fold = RandomFolds(600, 5, 1);
  LearnerOptions options;
  options.rounds = 30;
  testing::internal::CaptureStderr();
  const auto one = CrossPredict(rows, labels, fold, options);
  options.threads = 4;
  const auto four = CrossPredict(rows, labels, fold, options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(one.has_value() && four.has_value());
  EXPECT_EQ(*one, *four);
}

TEST(BoostedTrees, WrongInputIsRefusedWithItsPlace) {
  LearnerOptions binary;
  binary.task = Task::kBinary;
  const Matrix two = OneColumn({1, 2});
  const auto id = [](const auto& result) {
    return result.has_value() ? std::string("none") : result.error().id;
  };
  const std::vector<double> one_label = {1};
  EXPECT_EQ(id(FitAndPredict(two, one_label, two)), "LEARN-0001");
  EXPECT_EQ(id(FitAndPredict(OneColumn({}), {}, two)), "LEARN-0002");
  const std::vector<double> zeros = {0, 0};
  EXPECT_EQ(id(FitAndPredict(two, zeros, two, binary)), "LEARN-0002");
  const std::vector<double> nan = {0, std::nan("")};
  EXPECT_EQ(id(FitAndPredict(two, nan, two)), "LEARN-0003");
  const std::vector<double> half = {0, 0.5};
  EXPECT_EQ(id(FitAndPredict(two, half, two, binary)), "LEARN-0003");
  LearnerOptions none;
  none.rounds = 0;
  EXPECT_EQ(id(FitAndPredict(two, zeros, two, none)), "LEARN-0004");
  const std::vector<int> short_folds = {0};
  EXPECT_EQ(id(CrossPredict(two, zeros, short_folds)), "LEARN-0007");
  const std::vector<int> one_fold = {0, 0};
  EXPECT_EQ(id(CrossPredict(two, zeros, one_fold)), "LEARN-0002");
}

}  // namespace
}  // namespace stepslack::learner
