#include "axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::render {
namespace {

using ::testing::ElementsAre;

Range RangeOf(std::initializer_list<double> values) {
  Range range;
  for (const double value : values) range.Add(value);
  return range;
}

std::vector<std::string> Labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

TEST(LinearAxis, PutsTicksAtRoundValues) {
  EXPECT_THAT(Labels(LinearAxis(RangeOf({0, 1}), 5)),
              ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(Labels(LinearAxis(RangeOf({-0.03, 0.011}), 5)),
              ElementsAre("-0.03", "-0.02", "-0.01", "0", "0.01", "0.02"));
  EXPECT_THAT(Labels(LinearAxis(RangeOf({3, 470}), 5)),
              ElementsAre("0", "100", "200", "300", "400", "500"));
  EXPECT_THAT(Labels(LinearAxis(RangeOf({0, 2e7}), 4)),
              ElementsAre("0", "5e6", "1e7", "1.5e7", "2e7"));
  EXPECT_THAT(Labels(LinearAxis(RangeOf({0, 2e-5}), 2)),
              ElementsAre("0", "1e-5", "2e-5"));
}

TEST(LinearAxis, WidensASingleValueAndAnEmptyRange) {
  const Axis one = LinearAxis(RangeOf({5, 5}), 4);
  EXPECT_LT(one.low, 5);
  EXPECT_GT(one.high, 5);
  EXPECT_DOUBLE_EQ(one.Fraction(5), 0.5);
  const Axis zero = LinearAxis(RangeOf({0}), 4);
  EXPECT_DOUBLE_EQ(zero.low, -1);
  EXPECT_DOUBLE_EQ(zero.high, 1);
  EXPECT_DOUBLE_EQ(LinearAxis(Range(), 4).high, 1);
}

TEST(LinearAxis, IgnoresWhatIsNotFinite) {
  const Axis axis = LinearAxis(RangeOf({1, std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::infinity(), 2}),
                               5);
  EXPECT_DOUBLE_EQ(axis.low, 1);
  EXPECT_DOUBLE_EQ(axis.high, 2);
  EXPECT_FALSE(axis.Shows(std::numeric_limits<double>::infinity()));
}

TEST(Log2Axis, LabelsPowersOfTwo) {
  EXPECT_THAT(Labels(Log2Axis(RangeOf({1, 16}), 10)),
              ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(Labels(Log2Axis(RangeOf({3, 6}), 10)), ElementsAre("2", "4", "8"));
  EXPECT_THAT(Labels(Log2Axis(RangeOf({1, 1024}), 6)),
              ElementsAre("1", "8", "64", "512"));
  EXPECT_THAT(Labels(Log2Axis(RangeOf({4}), 6)), ElementsAre("4", "8"));
  EXPECT_DOUBLE_EQ(Log2Axis(RangeOf({1, 16}), 10).Fraction(4), 0.5);
}

TEST(Log10Axis, UsesOneTwoFiveStepsForShortRanges) {
  EXPECT_THAT(Labels(Log10Axis(RangeOf({0.21, 0.9}), 8)),
              ElementsAre("0.2", "0.5", "1"));
  EXPECT_THAT(Labels(Log10Axis(RangeOf({0.002, 70}), 8)),
              ElementsAre("0.001", "0.01", "0.1", "1", "10", "100"));
  EXPECT_NEAR(Log10Axis(RangeOf({0.001, 100000}), 9).Fraction(10), 0.5, 1e-12);
}

TEST(Log10Axis, ShowsNoValueAtOrBelowZero) {
  Range range;
  for (const double value : {-1.0, 0.0, 3.0, 30.0}) range.AddPositive(value);
  const Axis axis = Log10Axis(range, 8);
  EXPECT_DOUBLE_EQ(axis.low, 2);
  EXPECT_FALSE(axis.Shows(0));
  EXPECT_FALSE(axis.Shows(-1));
  EXPECT_TRUE(axis.Shows(3));
}

TEST(ShortValue, KeepsThreeSignificantDigits) {
  EXPECT_EQ(ShortValue(0), "0");
  EXPECT_EQ(ShortValue(0.23149), "0.231");
  EXPECT_EQ(ShortValue(12.349), "12.3");
  EXPECT_EQ(ShortValue(12.0), "12");
  EXPECT_EQ(ShortValue(48213), "48213");
  EXPECT_EQ(ShortValue(-1234567), "-1.23e6");
  EXPECT_EQ(ShortValue(0.00012), "1.2e-4");
  EXPECT_EQ(ShortValue(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

void CheckAxis(const Axis& axis, double a, double b) {
  RC_ASSERT(std::isfinite(axis.low) && std::isfinite(axis.high) &&
            axis.low < axis.high);
  RC_ASSERT(!axis.ticks.empty() && axis.ticks.size() <= 30u);
  double before = -std::numeric_limits<double>::infinity();
  for (const Tick& tick : axis.ticks) {
    RC_ASSERT(tick.value > before);
    RC_ASSERT(tick.label.find('n') == std::string::npos);  // nan, inf
    const double fraction = axis.Fraction(tick.value);
    RC_ASSERT(fraction >= -1e-6 && fraction <= 1 + 1e-6);
    before = tick.value;
  }
  for (const double value : {a, b}) {
    if (!axis.Shows(value)) continue;
    RC_ASSERT(axis.Fraction(value) >= -1e-6 && axis.Fraction(value) <= 1 + 1e-6);
  }
}

RC_GTEST_PROP(LinearAxis, HoldsAnyTwoDoubles, (double a, double b)) {
  CheckAxis(LinearAxis(RangeOf({a, b}), 6), a, b);
}

RC_GTEST_PROP(LogAxes, HoldAnyTwoPositiveDoubles, ()) {
  const auto exponent = rc::gen::inRange(-350, 309);
  const double a = std::pow(10.0, *exponent) * 1.7;
  const double b = std::pow(10.0, *exponent) * 3.1;
  Range range;
  range.AddPositive(a);
  range.AddPositive(b);
  CheckAxis(Log2Axis(range, 8), a, b);
  CheckAxis(Log10Axis(range, 8), a, b);
}

TEST(LinearAxis, HoldsExtremes) {
  for (const double value : {1e308, -1e308, 5e-324, 1e-310, 1e15 + 1, 0.1 + 0.2}) {
    for (const double other : {0.0, value, -value, 1.0}) {
      const Axis axis = LinearAxis(RangeOf({value, other}), 6);
      EXPECT_TRUE(std::isfinite(axis.low) && axis.low < axis.high) << value;
      EXPECT_LE(axis.ticks.size(), 30u);
    }
  }
}

}  // namespace
}  // namespace stepslack::render
