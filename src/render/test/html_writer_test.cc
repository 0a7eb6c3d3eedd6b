#include "html_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tag_balance.h"

namespace stepslack::render {
namespace {

TEST(HtmlWriter, WritesNestedElementsInOrder) {
  HtmlWriter writer;
  {
    const auto list = writer.Open("ul", {{"class", "a b"}});
    writer.Leaf("li", "one");
    const auto item = writer.Open("li", {{"data-n", 2}});
    writer.Leaf("b", "two");
    writer.Empty("path", {{"d", "M0,0"}, {"stroke-width", 1.5}});
  }
  EXPECT_EQ(writer.Take(),
            "<ul class=\"a b\"><li>one</li>\n"
            "<li data-n=\"2\"><b>two</b><path d=\"M0,0\" stroke-width=\"1.5\"/></li>\n"
            "</ul>\n");
}

TEST(HtmlWriter, EscapesTextAndAttributes) {
  HtmlWriter writer;
  writer.Leaf("b", {{"title", "a\"b'<&>"}}, "<script>alert('x & y')</script>");
  EXPECT_EQ(writer.Take(),
            "<b title=\"a&quot;b&#39;&lt;&amp;&gt;\">&lt;script&gt;alert(&#39;x &amp; "
            "y&#39;)&lt;/script&gt;</b>");
}

TEST(HtmlWriter, LeavesOutAnAttributeWhoseConditionFails) {
  HtmlWriter writer;
  writer.Leaf("i",
              {Attribute::When(false, "class", "x"), Attribute::When(true, "id", "y")},
              "");
  EXPECT_EQ(writer.Take(), "<i id=\"y\"></i>");
}

TEST(HtmlWriter, ReplacesDamagedUtf8AndControls) {
  EXPECT_EQ(EscapeHtml("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(EscapeHtml("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong slash
  EXPECT_EQ(EscapeHtml(std::string_view("\x1b[31m\0", 6)),
            "\xEF\xBF\xBD[31m\xEF\xBF\xBD");
  EXPECT_EQ(EscapeHtml("\u202Etxt"), "\xEF\xBF\xBDtxt");  // right-to-left override
  EXPECT_EQ(EscapeHtml("\u00e9\u2264\U0001F600\t\n"), "\u00e9\u2264\U0001F600\t\n");
}

TEST(HtmlWriter, FormatsNumbersCompactly) {
  EXPECT_EQ(CompactNumber(12.0), "12");
  EXPECT_EQ(CompactNumber(12.3456), "12.35");
  EXPECT_EQ(CompactNumber(12.30), "12.3");
  EXPECT_EQ(CompactNumber(-0.001), "0");
  EXPECT_EQ(CompactNumber(120, 0), "120");
  EXPECT_EQ(CompactNumber(std::numeric_limits<double>::quiet_NaN()), "0");
  EXPECT_EQ(CompactNumber(-std::numeric_limits<double>::infinity()), "0");
  EXPECT_EQ(CompactNumber(1e300), "1000000000");
}

TEST(HtmlWriterDeathTest, RefusesToHandOutAnUnfinishedDocument) {
  HtmlWriter writer;
  const auto open = writer.Open("p");
  EXPECT_DEATH(writer.Take(), "open_ == 0");
}

TEST(TagBalance, FindsWhatTheWriterMustNeverProduce) {
  EXPECT_EQ(Malformed("<p>a</p>"), "");
  EXPECT_NE(Malformed("<p><b></p></b>"), "");
  EXPECT_NE(Malformed("<p>"), "");
  EXPECT_NE(Malformed("<p>a & b</p>"), "");
  EXPECT_NE(Malformed("<p class=x></p>"), "");
  EXPECT_NE(Malformed("<td/>"), "");
  EXPECT_NE(Malformed("<p id=\"a\"><b id=\"a\"></b></p>"), "");
  EXPECT_NE(Malformed("<a href=\"#nowhere\">x</a>"), "");
}

RC_GTEST_PROP(HtmlWriter, KeepsAnyBytesInsideTheirElement, (const std::string& text)) {
  HtmlWriter writer;
  {
    const auto outer = writer.Open("div", {{"title", text}});
    writer.Leaf("p", text);
  }
  const std::string html = writer.Take();
  RC_ASSERT(Malformed(html) == "");
}

}  // namespace
}  // namespace stepslack::render
