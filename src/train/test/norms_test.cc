#include "norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stepslack::train {
namespace {

TEST(GlobalNorm, IsTheEuclideanNormAndKeepsNotFiniteValues) {
  std::vector<float> gradients(13, 0.0F);
  gradients[2] = 3.0F;
  gradients[12] = -4.0F;
  EXPECT_DOUBLE_EQ(GlobalNorm(gradients), 5.0);
  EXPECT_DOUBLE_EQ(GlobalNorm({}), 0.0);
  // Squares beyond float range still sum.
  EXPECT_NEAR(GlobalNorm(std::vector<float>(4, 1e30F)) / 2e30, 1.0, 1e-6);
  gradients[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(GlobalNorm(gradients)));
  gradients[5] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(GlobalNorm(gradients)));
}

TEST(SumOfSquares, EveryLengthCountsEveryValueOnce) {
  // 1^2 + ... + n^2 = n (n + 1) (2 n + 1) / 6, exact in double.
  std::vector<float> values;
  for (size_t n = 1; n < 140; ++n) {
    values.push_back(static_cast<float>(n));
    const auto count = static_cast<double>(n);
    EXPECT_EQ(SumOfSquares(values), count * (count + 1) * (2 * count + 1) / 6);
  }
}

}  // namespace
}  // namespace stepslack::train
