#include "csv_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <charconv>

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Error ErrorOf(std::string_view text) {
  const auto map = ParseCsvMap(text, "m.csv");
  return map.has_value() ? base::Error{"none", {}, {}, {}, {}} : map.error();
}

TEST(CsvMap, ReadsRowsAndScalesEachValue) {
  const auto map = ParseCsvMap("1,2.5,-3e-1\n4,+5,6\n", "m.csv", 10.0);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->height, 2);
  EXPECT_EQ(map->width, 3);
  EXPECT_THAT(map->values, ElementsAre(10, 25, -3, 40, 50, 60));
}

TEST(CsvMap, AcceptsWindowsLinesByteOrderMarkSpacesAndTrailingBlankLines) {
  const auto map = ParseCsvMap("\xEF\xBB\xBF 1 , 2 \r\n3,4\r\n\r\n\n", "m.csv");
  ASSERT_TRUE(map.has_value());
  EXPECT_THAT(map->values, ElementsAre(1, 2, 3, 4));
}

TEST(CsvMap, AcceptsSemicolonsAndTabs) {
  EXPECT_THAT(ParseCsvMap("1;2\n3;4", "m")->values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ParseCsvMap("1\t2\n3\t4", "m")->values, ElementsAre(1, 2, 3, 4));
}

TEST(CsvMap, NamesTheLineOfARaggedRow) {
  const base::Error error = ErrorOf("1,2\n3,4\n5\n");
  EXPECT_EQ(error.id, "DATA-0012");
  EXPECT_EQ(error.where, "m.csv:3");
  EXPECT_THAT(error.what, HasSubstr("1 values"));
}

TEST(CsvMap, RefusesABlankLineInside) {
  const base::Error error = ErrorOf("1,2\n\n3,4\n");
  EXPECT_EQ(error.id, "DATA-0012");
  EXPECT_EQ(error.where, "m.csv:2");
}

TEST(CsvMap, NamesTheFieldThatIsNoNumber) {
  for (const auto& [text, field] :
       std::vector<std::pair<std::string, std::string>>{{"x,y\n1,2\n", "\"x\""},
                                                        {"1,\n", "\"\""},
                                                        {"1,2z\n", "\"2z\""},
                                                        {"1,+-2\n", "\"+-2\""},
                                                        {"1,\x01\n", "\"?\""}}) {
    const base::Error error = ErrorOf(text);
    EXPECT_EQ(error.id, "DATA-0011") << text;
    EXPECT_EQ(error.where, "m.csv:1") << text;
    EXPECT_THAT(error.what, HasSubstr(field)) << text;
  }
}

TEST(CsvMap, RefusesNanInfinityAndValuesBeyondFloat) {
  for (const std::string text : {"1,nan", "1,inf", "1,-inf", "1,1e39", "1,1e999"}) {
    const base::Error error = ErrorOf(text);
    EXPECT_EQ(error.id, "DATA-0013") << text;
    EXPECT_THAT(error.what, HasSubstr("value 2")) << text;
  }
}

TEST(CsvMap, RefusesAnEmptyFile) {
  EXPECT_EQ(ErrorOf("").id, "DATA-0010");
  EXPECT_EQ(ErrorOf("\n \r\n").id, "DATA-0010");
}

RC_GTEST_PROP(CsvMap, FloatsSurviveTheirShortestText, ()) {
  const auto width = *rc::gen::inRange<size_t>(1, 6);
  const auto height = *rc::gen::inRange<size_t>(1, 6);
  const auto values = *rc::gen::container<std::vector<float>>(
      width * height, rc::gen::map(rc::gen::arbitrary<int32_t>(), [](int32_t v) {
        return static_cast<float>(v) * 1.25e-7f;
      }));
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, values[i]).ptr;
    text.append(buffer, end);
    text += (i + 1) % width == 0 ? '\n' : ',';
  }
  const auto map = ParseCsvMap(text, "m.csv");
  RC_ASSERT(map.has_value());
  RC_ASSERT(map->height == static_cast<int64_t>(height));
  for (size_t i = 0; i < values.size(); ++i) {
    RC_ASSERT(std::bit_cast<uint32_t>(map->values[i]) ==
              std::bit_cast<uint32_t>(values[i]));
  }
}

}  // namespace
}  // namespace stepslack::data
