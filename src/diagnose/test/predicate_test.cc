#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "stepslack/diagnose/catalogue.h"

namespace stepslack::diagnose {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Facts OneFact(std::optional<double> value, std::optional<double> low,
              std::optional<double> high) {
  return {{"comm.wait_share",
           {{.value = value,
             .low = low,
             .high = high,
             .unit = "1",
             .n = 9,
             .n_of = "steps",
             .method = "mean"},
            "comms profile"}}};
}

using Case = std::tuple<Operator, double, double, double, PredicateState>;

class Intervals : public ::testing::TestWithParam<Case> {};

TEST_P(Intervals, AreComparedAsAWhole) {
  const auto& [op, low, high, bound, expected] = GetParam();
  const Facts facts = OneFact((low + high) / 2, low, high);
  EXPECT_EQ(Judge({"comm.wait_share", op, bound}, facts), expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, Intervals,
    ::testing::Values(
        Case{Operator::kAbove, 0.2, 0.3, 0.1, PredicateState::kHolds},
        Case{Operator::kAbove, 0.1, 0.3, 0.1, PredicateState::kStraddles},
        Case{Operator::kAbove, 0.0, 0.1, 0.1, PredicateState::kRefuted},
        Case{Operator::kAtLeast, 0.1, 0.3, 0.1, PredicateState::kHolds},
        Case{Operator::kAtLeast, 0.0, 0.1, 0.1, PredicateState::kStraddles},
        Case{Operator::kAtLeast, 0.0, 0.05, 0.1, PredicateState::kRefuted},
        Case{Operator::kBelow, 0.0, 0.05, 0.1, PredicateState::kHolds},
        Case{Operator::kBelow, 0.05, 0.1, 0.1, PredicateState::kStraddles},
        Case{Operator::kBelow, 0.1, 0.2, 0.1, PredicateState::kRefuted},
        Case{Operator::kAtMost, 0.0, 0.1, 0.1, PredicateState::kHolds},
        Case{Operator::kAtMost, 0.1, 0.2, 0.1, PredicateState::kStraddles},
        Case{Operator::kAtMost, 0.2, 0.3, 0.1, PredicateState::kRefuted},
        Case{Operator::kEqual, 1.0, 1.0, 1.0, PredicateState::kHolds},
        Case{Operator::kEqual, 0.5, 1.5, 1.0, PredicateState::kStraddles},
        Case{Operator::kEqual, 0.0, 0.0, 1.0, PredicateState::kRefuted}));

TEST(Predicate, FactThatIsAbsentIsMissingNotZero) {
  EXPECT_EQ(Judge({"comm.wait_share", Operator::kAtMost, 0.1}, {}),
            PredicateState::kMissing);
}

TEST(Predicate, FactWithoutAFiniteValueIsMissing) {
  const Predicate predicate{"comm.wait_share", Operator::kAtMost, 0.1};
  EXPECT_EQ(Judge(predicate, OneFact({}, {}, {})), PredicateState::kMissing);
  EXPECT_EQ(Judge(predicate, OneFact(kNan, 0.0, 0.05)), PredicateState::kMissing);
}

TEST(Predicate, ValueWithoutAnIntervalDecidesNothing) {
  const Predicate predicate{"comm.wait_share", Operator::kAbove, 0.1};
  EXPECT_EQ(Judge(predicate, OneFact(0.9, {}, {})), PredicateState::kStraddles);
  EXPECT_EQ(Judge(predicate, OneFact(0.9, kNan, 1.0)), PredicateState::kStraddles);
}

TEST(Predicate, DescriptionShowsTheMeasuredIntervalAndTheBound) {
  const Facts facts = OneFact(0.2, 0.15, 0.25);
  const auto say = [&](Operator op, double bound) {
    const Predicate predicate{"comm.wait_share", op, bound};
    return Describe(predicate, Judge(predicate, facts), facts);
  };
  const std::string measured = "comm.wait_share = 0.2 [0.15, 0.25] (95 %, n = 9 steps)";
  EXPECT_EQ(say(Operator::kAbove, 0.1), measured + " > 0.1");
  EXPECT_EQ(say(Operator::kBelow, 0.1), measured + " is not < 0.1");
  EXPECT_EQ(say(Operator::kAbove, 0.2), measured + " leaves > 0.2 open");
  EXPECT_EQ(
      Describe({"comm.bus_gbs", Operator::kBelow, 1}, PredicateState::kMissing, {}),
      "comm.bus_gbs is not measured (needs < 1)");
}

}  // namespace
}  // namespace stepslack::diagnose
