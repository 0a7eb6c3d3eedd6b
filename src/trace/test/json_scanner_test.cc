#include "json_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace stepslack::trace {
namespace {

TEST(JsonScanner, SkipsNestedValuesToTheirEnd) {
  const std::string_view text = R"({"a": [1, {"b": "}]\""}, [], {}], "c": null} tail)";
  JsonScanner scanner(text);
  ASSERT_TRUE(scanner.SkipValue());
  EXPECT_EQ(scanner.position(), text.find(" tail"));
  EXPECT_EQ(scanner.Peek(), 't');
}

TEST(JsonScanner, RefusesBrokenValuesWithoutReachingTheEnd) {
  JsonScanner scanner(R"({"a" 1}   )");
  EXPECT_FALSE(scanner.SkipValue());
  EXPECT_FALSE(scanner.AtEnd());
}

TEST(JsonScanner, ReachesTheEndOfTextThatIsCutShort) {
  for (const char* text :
       {R"({"a": [1, 2)", R"({"a": "b)", R"({"a":)", R"({"a": 12)"}) {
    JsonScanner scanner(text);
    EXPECT_FALSE(scanner.SkipValue()) << text;
    EXPECT_TRUE(scanner.AtEnd()) << text;
  }
}

TEST(JsonScanner, LimitsTheDepth) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']') + " ";
  JsonScanner scanner(deep);
  EXPECT_FALSE(scanner.SkipValue());
  const std::string shallow = std::string(90, '[') + std::string(90, ']') + " ";
  JsonScanner other(shallow);
  EXPECT_TRUE(other.SkipValue());
}

TEST(JsonScanner, DecodesEscapes) {
  EXPECT_EQ(DecodeJsonText(R"(a\nb\t\"\\\/)"), "a\nb\t\"\\/");
  EXPECT_EQ(DecodeJsonText(R"(\u00e9\u20AC)"), "\u00e9\u20ac");
  EXPECT_EQ(DecodeJsonText(R"(\ud83d\ude00)"), "\U0001F600");
}

TEST(JsonScanner, KeepsTextThatOnlyLooksLikeAnEscape) {
  EXPECT_EQ(DecodeJsonText(R"(C:\Users\x)"), R"(C:\Users\x)");
  EXPECT_EQ(DecodeJsonText(R"(\u12G4)"), R"(\u12G4)");
  EXPECT_EQ(DecodeJsonText(R"(\ud83d!)"), "\uFFFD!");
}

TEST(JsonScanner, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(DecodeJsonText("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(DecodeJsonText("\xC3\xA9"), "\u00e9");
  EXPECT_EQ(DecodeJsonText("\xC0\x80"), "\uFFFD\uFFFD");  // overlong
  EXPECT_EQ(DecodeJsonText("\xE2\x82"), "\uFFFD\uFFFD");  // cut short
}

}  // namespace
}  // namespace stepslack::trace
