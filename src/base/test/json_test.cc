#include "stepslack/base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::base {
namespace {

TEST(JsonTest, DumpSortsKeysAndKeepsIntegersExact) {
  Json json;
  json.Set("b", int64_t{9007199254740993});
  json.Set("a", Json::Array{1, 2.5, "x", nullptr, true});
  EXPECT_EQ(json.Dump(-1), R"({"a":[1,2.5,"x",null,true],"b":9007199254740993})");
}

TEST(JsonTest, NonFiniteNumbersBecomeNull) {
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).Dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).Dump(), "null");
}

TEST(JsonTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Json(std::string("a\x01\"\\\n")).Dump(), R"("a\u0001\"\\\n")");
}

TEST(JsonTest, ParseReadsOneLineObject) {
  const auto json = ParseJson(R"({"kind":"step","samples_total":16})", "x");
  ASSERT_TRUE(json.has_value()) << Describe(json.error());
  EXPECT_EQ((*json)["samples_total"].AsInt(), 16);
}

TEST(JsonTest, ParseNamesTheFileOfBrokenText) {
  const auto json = ParseJson("{\"a\":", "runs/1/run.json");
  ASSERT_FALSE(json.has_value());
  EXPECT_EQ(json.error().id, "BASE-0004");
  EXPECT_EQ(json.error().where, "runs/1/run.json");
}

TEST(JsonTest, DeepNestingIsRefusedNotCrashedOn) {
  const auto json = ParseJson(std::string(100000, '['), "x");
  ASSERT_FALSE(json.has_value());
}

TEST(JsonTest, IntegerBeyondInt64BecomesDouble) {
  EXPECT_EQ(ParseJson("18446744073709551615", "x")->AsDouble(), 18446744073709551615.0);
}

RC_GTEST_PROP(JsonTest, DoublesReadBackToTheSameBits, (double value)) {
  RC_PRE(std::isfinite(value));
  RC_ASSERT(ParseJson(Json(value).Dump(), "x")->AsDouble() == value);
}

RC_GTEST_PROP(JsonTest, ParseInvertsDumpForText, (const std::string& bytes)) {
  std::string ascii;
  for (const char c : bytes) ascii += static_cast<char>(c & 0x7f);
  RC_ASSERT(ParseJson(Json(ascii).Dump(), "x")->AsString() == ascii);
}

}  // namespace
}  // namespace stepslack::base
