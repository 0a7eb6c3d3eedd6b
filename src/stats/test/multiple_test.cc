#include "stepslack/stats/multiple.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace stepslack::stats {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Values = std::vector<double>;

TEST(HolmAdjust, StepsDownInTheOrderOfTheInput) {
  EXPECT_THAT(HolmAdjust(Values{0.01, 0.04, 0.03}),
              ElementsAre(DoubleEq(0.03), DoubleEq(0.06), DoubleEq(0.06)));
}

TEST(BenjaminiHochbergAdjust, StepsUpInTheOrderOfTheInput) {
  EXPECT_THAT(BenjaminiHochbergAdjust(Values{0.01, 0.04, 0.03}),
              ElementsAre(DoubleEq(0.03), DoubleEq(0.04), DoubleEq(0.04)));
}

TEST(HolmAdjust, CountsAMissingPAsOne) {
  EXPECT_THAT(HolmAdjust(Values{NAN, 0.01, -3}),
              ElementsAre(DoubleEq(1), DoubleEq(0.03), DoubleEq(1)));
}

RC_GTEST_PROP(HolmAdjust, LiesBetweenBenjaminiHochbergAndBonferroni, ()) {
  const auto raw = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001));
  Values p;
  for (int v : raw) p.push_back(v / 1000.0);
  const Values holm = HolmAdjust(p);
  const Values bonferroni = BonferroniAdjust(p);
  const Values hochberg = BenjaminiHochbergAdjust(p);
  for (size_t i = 0; i < p.size(); ++i) {
    RC_ASSERT(holm[i] <= bonferroni[i] + 1e-15);
    RC_ASSERT(hochberg[i] <= holm[i] + 1e-15);
    RC_ASSERT(hochberg[i] >= p[i] - 1e-15);
  }
}

TEST(FamilyWiseError, OfTwoTestsIsHandWorked) {
  EXPECT_NEAR(FamilyWiseError(0.05, 2), 1 - 0.95 * 0.95, 1e-15);
}

}  // namespace
}  // namespace stepslack::stats
