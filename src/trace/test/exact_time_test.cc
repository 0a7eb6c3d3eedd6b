#include "stepslack/trace/exact_time.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stepslack::trace {
namespace {

TEST(ExactTime, IntegerMicrosecondsBecomeNanoseconds) {
  EXPECT_EQ(MicrosecondsToNs("0"), 0);
  EXPECT_EQ(MicrosecondsToNs("1"), 1000);
  EXPECT_EQ(MicrosecondsToNs("-17"), -17000);
  EXPECT_EQ(MicrosecondsToNs("1694128201545123"), 1694128201545123000);
}

TEST(ExactTime, NineteenDigitsKeepTheirLastNanosecond) {
  // A double at 1.7e15 us keeps steps of 0.25 us, so .417 and .418 would be one value.
  EXPECT_EQ(MicrosecondsToNs("1694128201545123.417"), 1694128201545123417);
  EXPECT_EQ(MicrosecondsToNs("1694128201545123.418"), 1694128201545123418);
}

TEST(ExactTime, MissingDecimalsCountAsZeros) {
  EXPECT_EQ(MicrosecondsToNs("12.3"), 12300);
  EXPECT_EQ(MicrosecondsToNs("12.30"), 12300);
  EXPECT_EQ(MicrosecondsToNs("12."), 12000);
  EXPECT_EQ(MicrosecondsToNs(".5"), 500);
}

TEST(ExactTime, DigitsBelowANanosecondRoundHalfAwayFromZero) {
  EXPECT_EQ(MicrosecondsToNs("1.0004"), 1000);
  EXPECT_EQ(MicrosecondsToNs("1.0005"), 1001);
  EXPECT_EQ(MicrosecondsToNs("-1.0005"), -1001);
  EXPECT_EQ(MicrosecondsToNs("0.00049999999"), 0);
}

TEST(ExactTime, SecondsAndMillisecondsKeepTheirNanoseconds) {
  EXPECT_EQ(DecimalToNs("0.5405718088150024", 9), 540571809);
  EXPECT_EQ(DecimalToNs("4.630399780580774e-05", 9), 46304);
  EXPECT_EQ(DecimalToNs("1714441670416", 6), 1714441670416000000);
  EXPECT_EQ(DecimalToNs("1.5", 6), 1500000);
}

TEST(ExactTime, ExponentsShiftThePoint) {
  EXPECT_EQ(MicrosecondsToNs("1.5e3"), 1500000);
  EXPECT_EQ(MicrosecondsToNs("1.623143566756123E+15"), 1623143566756123000);
  EXPECT_EQ(MicrosecondsToNs("5e-4"), 1);  // half a nanosecond
  EXPECT_EQ(MicrosecondsToNs("1e-9"), 0);
  EXPECT_EQ(MicrosecondsToNs("0e9999999"), 0);
}

TEST(ExactTime, OtherTextAndTimesBeyondTheLimitAreRefused) {
  for (const char* text :
       {"", "-", ".", "1e", "1e+", "abc", "1.2.3", "0x10", "1 2", "nan",
        "9223372036854775807", "1e30", "2305843009213694.953"}) {
    EXPECT_FALSE(MicrosecondsToNs(text).has_value()) << text;
  }
  EXPECT_EQ(MicrosecondsToNs("2305843009213693.952"), kTimeLimitNs);
}

RC_GTEST_PROP(ExactTimeProperty, PrintedNanosecondsReadBack, ()) {
  const int64_t ns = *rc::gen::inRange<int64_t>(0, kTimeLimitNs);
  const std::string text = fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  RC_ASSERT(MicrosecondsToNs(text) == ns);
  RC_ASSERT(MicrosecondsToNs("-" + text) == -ns);
}

}  // namespace
}  // namespace stepslack::trace
