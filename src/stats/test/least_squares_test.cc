#include "stepslack/stats/least_squares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/base/random.h"

namespace stepslack::stats {
namespace {

using Row = std::vector<double>;

TEST(CrossProducts, RecoversAPlaneExactly) {
  CrossProducts products(2);
  base::Random random(3);
  for (int i = 0; i < 50; ++i) {
    const Row x = {random.Normal(), 1e6 + random.Normal()};
    products.Add(x, 1 + 2 * x[0] - 3 * x[1]);
  }
  const auto model = products.Solve(0);
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(model->coefficients[0], 2, 1e-7);
  EXPECT_NEAR(model->coefficients[1], -3, 1e-7);
  // The large mean of the second feature costs no digits.
  EXPECT_NEAR(model->Predict(Row{0.5, 1e6}), 1 + 1 - 3e6, 1e-5);
  // It is a difference of sums of squares near 10: half the digits are left.
  EXPECT_NEAR(model->residual_deviation, 0, 1e-5);
  EXPECT_EQ(model->rows, 50);
}

TEST(CrossProducts, ShrinksOneFeatureByOnePlusRidge) {
  CrossProducts products(1);
  for (double v : {0.0, 1.0, 2.0}) products.Add(Row{v}, v);
  const auto model = products.Solve(1);
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(model->coefficients[0], 0.5, 1e-12);
  EXPECT_NEAR(model->intercept, 0.5, 1e-12);
  // Residuals -0.5, 0, 0.5.
  EXPECT_NEAR(model->residual_deviation, std::sqrt(0.5 / 3), 1e-12);
}

TEST(CrossProducts, NamesLinearDependence) {
  CrossProducts products(2);
  for (double v : {1.0, 2.0, 5.0, 7.0}) products.Add(Row{v, 2 * v}, v);
  const auto model = products.Solve(0);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().id, "STAT-0003");
  EXPECT_TRUE(products.Solve(1e-3).has_value());
}

TEST(CrossProducts, GivesConstantFeaturesNoWeight) {
  CrossProducts products(2);
  for (double v : {1.0, 2.0, 4.0}) products.Add(Row{0.1, v}, 3 * v);
  const auto model = products.Solve(0);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->coefficients[0], 0);
  EXPECT_EQ(model->constant_features, 1);
  EXPECT_NEAR(model->coefficients[1], 3, 1e-12);
}

TEST(CrossProducts, CountsRowsThatAreNotFinite) {
  CrossProducts products(1);
  products.Add(Row{NAN}, 1);
  products.Add(Row{1}, INFINITY);
  products.Add(Row{1}, 1);
  EXPECT_EQ(products.skipped(), 2);
  EXPECT_EQ(products.rows(), 1);
  EXPECT_EQ(products.Solve(0).error().id, "STAT-0001");
  products.Add(Row{2}, 2);
  EXPECT_EQ(products.Solve(-1).error().id, "STAT-0002");
}

RC_GTEST_PROP(CrossProducts, MergesAsIfFedInOnePass, ()) {
  const auto total = *rc::gen::inRange<size_t>(3, 30);
  const auto cut = *rc::gen::inRange<size_t>(0, total + 1);
  base::Random random(*rc::gen::arbitrary<uint64_t>());
  CrossProducts whole(3);
  CrossProducts first(3);
  CrossProducts second(3);
  for (size_t i = 0; i < total; ++i) {
    const Row x = {random.Normal(), random.Uniform(), random.Normal() + 5};
    const double y = x[0] - x[2] + 0.1 * random.Normal();
    whole.Add(x, y);
    (i < cut ? first : second).Add(x, y);
  }
  first.Merge(second);
  const auto a = whole.Solve(0.01);
  const auto b = first.Solve(0.01);
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(b->rows == a->rows);
  for (size_t j = 0; j < 3; ++j) {
    RC_ASSERT(std::fabs(a->coefficients[j] - b->coefficients[j]) < 1e-8);
  }
}

}  // namespace
}  // namespace stepslack::stats
