#include "svg_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "text_width.h"

namespace stepslack::render {
namespace {

using ::testing::ElementsAre;

TEST(Separate, LeavesLabelsThatAreFarApartInPlace) {
  EXPECT_THAT(Separate({10, 50, 90}, 15, 0, 100), ElementsAre(10, 50, 90));
}

TEST(Separate, MovesNeighboursApartInTheirOrder) {
  EXPECT_THAT(Separate({50, 49, 51}, 15, 0, 100), ElementsAre(64, 49, 79));
  EXPECT_THAT(Separate({99, 98}, 15, 0, 100), ElementsAre(100, 85));
}

TEST(Separate, SpreadsEvenlyWhenThereIsNoRoom) {
  EXPECT_THAT(Separate({5, 5, 5}, 100, 0, 20), ElementsAre(0, 10, 20));
}

RC_GTEST_PROP(Separate, KeepsGapAndBounds, ()) {
  const auto wanted = *rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-500, 1500), [](int v) { return v / 2.0; }));
  std::vector<double> placed = Separate(wanted, 15, 0, 300);
  std::sort(placed.begin(), placed.end());
  const double count = static_cast<double>(placed.size());
  const double gap = count > 1 ? std::min(15.0, 300 / (count - 1)) : 15;
  for (size_t i = 0; i < placed.size(); ++i) {
    RC_ASSERT(placed[i] >= -1e-6 && placed[i] <= 300 + 1e-6);
    if (i > 0) RC_ASSERT(placed[i] - placed[i - 1] >= gap - 1e-6);
  }
}

TEST(PathData, WritesOneDecimal) {
  EXPECT_EQ(PathData().Move(1, 2.25).Line(3.04, -0.01).Close().text(), "M1,2.2L3,0Z");
  EXPECT_EQ(PathData().Rectangle(1, 2, 3.255, 4).text(), "M1,2h3.25v4h-3.25Z");
}

TEST(Hatches, DifferForTheFirstThirtyParts) {
  HtmlWriter writer;
  WriteHatches(writer, 30, {.id = "f"});
  const std::string text = writer.Take();
  std::set<std::string> looks;
  for (size_t at = text.find("<pattern"); at != std::string::npos;
       at = text.find("<pattern", at + 1)) {
    std::string look = text.substr(at, text.find("</pattern>", at) - at);
    look.erase(look.find("id="), look.find("class=") - look.find("id="));
    looks.insert(look);
  }
  EXPECT_EQ(looks.size(), 30u);
}

TEST(TextWidth, AddsAdvanceWidths) {
  EXPECT_DOUBLE_EQ(TextWidth("", 12), 0);
  EXPECT_DOUBLE_EQ(TextWidth("00", 10), 12.72);
  EXPECT_GT(TextWidth("WWW", 12), TextWidth("iii", 12));
  EXPECT_DOUBLE_EQ(TextWidth("\u00e9", 10), 6.4);
}

TEST(FitText, CutsWithAnEllipsisAtACodePoint) {
  EXPECT_EQ(FitText("short", 12, 100), "short");
  const std::string cut =
      FitText("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 10, 40);
  EXPECT_TRUE(cut.ends_with("\u2026"));
  EXPECT_LE(TextWidth(cut, 10), 40);
  EXPECT_EQ(cut, "\u00e9\u00e9\u00e9\u00e9\u2026");
}

TEST(WrapText, BreaksAtSpacesAndCutsTheLastLine) {
  EXPECT_THAT(WrapText("aaa bbb ccc", 10, 42, 3), ElementsAre("aaa bbb", "ccc"));
  const auto lines = WrapText("aaa bbb ccc ddd eee", 10, 42, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[1].ends_with("\u2026"));
  EXPECT_THAT(WrapText("", 10, 42, 2), ElementsAre(""));
}

}  // namespace
}  // namespace stepslack::render
