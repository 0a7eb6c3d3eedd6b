// What must hold for every figure, whatever its data.
#include "chart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "figure_table.h"
#include "sample_report.h"
#include "stepslack/base/text.h"
#include "stepslack/render/figure_svg.h"
#include "tag_balance.h"
#include "text_width.h"

namespace stepslack::render {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string AttributeOf(std::string_view tag, std::string_view name) {
  const std::string key = fmt::format(" {}=\"", name);
  const size_t at = tag.find(key);
  if (at == std::string_view::npos) return "";
  const size_t start = at + key.size();
  return std::string(tag.substr(start, tag.find('"', start) - start));
}

// Attribute values that hold "nan" or "inf" as a number would.
std::string NotFinite(std::string_view svg) {
  for (const std::string_view name :
       {"d", "x", "y", "width", "height", "cx", "cy", "r", "viewBox", "transform"}) {
    const std::string key = fmt::format(" {}=\"", name);
    for (size_t at = svg.find(key); at != std::string_view::npos;
         at = svg.find(key, at + 1)) {
      const size_t start = at + key.size();
      const std::string_view value = svg.substr(start, svg.find('"', start) - start);
      for (const std::string_view word : {"nan", "inf", "null"}) {
        if (value.find(word) != std::string_view::npos) return std::string(value);
      }
    }
  }
  return "";
}

// Labels whose measured box leaves the viewBox; panels that are moved by a transform
// are narrower than their figure, so x alone is enough for them.
std::string OutsideLabel(std::string_view svg) {
  const std::string view_box = AttributeOf(svg, "viewBox");
  const std::vector<std::string_view> view = base::Split(view_box, ' ');
  const double width = *base::ParseDouble(view[2]);
  const double height = *base::ParseDouble(view[3]);
  for (size_t at = svg.find("<text"); at != std::string_view::npos;
       at = svg.find("<text", at + 1)) {
    const std::string_view tag = svg.substr(at, svg.find('>', at) - at);
    const size_t start = at + tag.size() + 1;
    const std::string_view text = svg.substr(start, svg.find("</text>", start) - start);
    const double x = *base::ParseDouble(AttributeOf(tag, "x"));
    const double y = *base::ParseDouble(AttributeOf(tag, "y"));
    const std::string anchor = AttributeOf(tag, "text-anchor");
    const double wide = TextWidth(text, kFontPx);
    const double left = anchor == "end"      ? x - wide
                        : anchor == "middle" ? x - wide / 2
                                             : x;
    const bool inside = left >= -1 && left + wide <= width + 1 && y >= 8 && y <= height;
    if (!inside) return fmt::format("{} at {}, {} of {}", text, left, y, view_box);
  }
  return "";
}

std::string Drawn(const Figure& figure, Notes* notes = nullptr) {
  HtmlWriter writer;
  const Notes found = DrawFigure(writer, figure, {.id = "f1"});
  if (notes != nullptr) *notes = found;
  return writer.Take();
}

void ExpectSound(const Figure& figure) {
  for (const std::string& svg : {Drawn(figure), RenderSvg(figure)}) {
    EXPECT_EQ(Malformed(svg), "");
    EXPECT_EQ(NotFinite(svg), "");
    EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
    EXPECT_NE(svg.find("<title>"), std::string::npos);
    EXPECT_NE(svg.find("<desc>"), std::string::npos);
  }
  EXPECT_EQ(OutsideLabel(Drawn(figure)), "");
  EXPECT_EQ(Drawn(figure), Drawn(figure));
  for (const auto& row : FigureTable(figure).rows) {
    EXPECT_EQ(row.size(), FigureTable(figure).columns.size());
  }
}

Series Line(std::vector<double> x, std::vector<double> y) {
  return {.name = "series",
          .x = std::move(x),
          .y = std::move(y),
          .low = {},
          .high = {},
          .steps = false,
          .dashed = false,
          .points = true};
}

LineChart Chart(std::vector<Series> series) {
  return {.title = "t",
          .caption = "",
          .x_label = "x",
          .y_label = "y",
          .log2_x = false,
          .log_y = false,
          .series = std::move(series),
          .references = {},
          .target_low = {},
          .target_high = {}};
}

TEST(Charts, AreSoundForTheSamples) {
  ExpectSound(SampleLineChart());
  ExpectSound(SampleStackedChart());
  ExpectSound(SampleTimeline());
  ExpectSound(SampleMaps());
  for (const Section& section : SampleReport().sections) {
    for (const Figure& figure : section.figures) ExpectSound(figure);
  }
}

TEST(LineChart, IsSoundForDegenerateData) {
  const std::vector<LineChart> charts = {
      Chart({}),
      Chart({Line({}, {})}),
      Chart({Line({3}, {4})}),
      Chart({Line({3, 3, 3}, {4, 4, 4})}),
      Chart({Line({1, 2, 3}, {kNan, kNan, kNan})}),
      Chart({Line({kInf, 2, -kInf}, {1, kNan, 3})}),
      Chart({Line({0, 1}, {1e308, -1e308})}),
      Chart({Line({1e-320, 2e-320}, {1e-320, 3e-320})}),
      Chart({Line({1e15, 1e15 + 1}, {0, 0})}),
      Chart({Line({1, 2, 3}, {0, -1, 5}), Line({1}, {1}), Line({}, {})})};
  for (LineChart chart : charts) {
    for (const bool log2_x : {false, true}) {
      for (const bool log_y : {false, true}) {
        chart.log2_x = log2_x;
        chart.log_y = log_y;
        chart.references = {{"reference", 0}, {"not finite", kNan}};
        chart.target_low = -kInf;
        chart.target_high = 2;
        ExpectSound(chart);
        chart.references.clear();
        chart.target_low = chart.target_high = std::nullopt;
        ExpectSound(chart);
      }
    }
  }
}

TEST(LineChart, SaysWhenThereIsNoData) {
  EXPECT_NE(Drawn(Chart({})).find(">no data<"), std::string::npos);
  EXPECT_EQ(Drawn(Chart({Line({1, 2}, {1, 2})})).find(">no data<"), std::string::npos);
}

TEST(LineChart, CutsLongNamesAndKeepsManyLabelsApart) {
  std::vector<Series> many;
  for (int i = 0; i < 60; ++i) {
    many.push_back(Line({1, 2}, {1, 1}));
    many.back().name =
        fmt::format("a rather long series name that can not fit, number {}", i);
  }
  Notes notes;
  const std::string svg = Drawn(Chart(many), &notes);
  EXPECT_EQ(OutsideLabel(svg), "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "40 of 60 series are drawn; the table holds all");
}

TEST(LineChart, ThinsLongSeriesAndSaysSo) {
  std::vector<double> x, y;
  for (int i = 0; i < 200000; ++i) {
    x.push_back(i);
    y.push_back(i % 1000);
  }
  Notes notes;
  const std::string svg = Drawn(Chart({Line(x, y)}), &notes);
  EXPECT_LT(svg.size(), 40000u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("200000 points are drawn as ")) << notes[0];
}

TEST(LineChart, CountsValuesThatALogAxisCanNotShow) {
  LineChart chart = Chart({Line({1, 2, 3}, {0, -1, 5})});
  chart.log_y = true;
  Notes notes;
  Drawn(chart, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "2 values at or below zero can not be shown on a logarithmic axis");
}

TEST(LineChart, DistinguishesSeriesWithoutColour) {
  const std::string svg = Drawn(SampleLineChart());
  EXPECT_NE(svg.find("class=\"line\""), std::string::npos);
  EXPECT_NE(svg.find("class=\"line dashed\""), std::string::npos);
  EXPECT_NE(svg.find(">weak, batch 16 a rank<"), std::string::npos);
}

TEST(BarChart, IsSoundForDegenerateData) {
  BarChart chart{.title = "t",
                 .caption = "",
                 .x_label = "x",
                 .part_names = {},
                 .bars = {},
                 .reference = {},
                 .reference_name = ""};
  ExpectSound(chart);
  chart.bars = {
      {"empty", {}, {}, {}}, {"nan", {kNan}, kNan, kInf}, {"zero", {0}, 0, 0}};
  ExpectSound(chart);
  chart.bars = {{"huge", {1e308, 1e308}, -1e308, 1e308},
                {"small", {1e-320, kNan}, {}, {}}};
  chart.reference = kNan;
  ExpectSound(chart);
  chart.reference = -3;
  chart.reference_name = std::string(300, 'n');
  chart.bars = {{std::string(500, 'W'), {1, -2, 3}, {}, {}}};
  ExpectSound(chart);
  chart.bars.assign(200, {"bar", std::vector<double>(100, 1.0), {}, {}});
  ExpectSound(chart);
}

TEST(BarChart, HatchesItsPartsAndNamesThem) {
  const std::string svg = Drawn(SampleStackedChart());
  EXPECT_NE(svg.find("fill=\"url(#f1_h1)\""), std::string::npos);
  EXPECT_NE(svg.find(">exposed wait<"), std::string::npos);
  EXPECT_NE(svg.find(">71.8 [70.1, 74]<"), std::string::npos);
  EXPECT_NE(svg.find(">ideal step (58)<"), std::string::npos);
}

TEST(TimelineChart, IsSoundForDegenerateData) {
  TimelineChart chart{.title = "t", .caption = "", .lanes = {}, .spans = {}};
  ExpectSound(chart);
  chart.spans = {{0, "a", 0, 1}};
  ExpectSound(chart);
  chart.lanes = {"only"};
  ExpectSound(chart);
  chart.spans = {{0, "a", 5, 5}, {0, "b", kNan, kInf}, {0, "c", 1e300, 1e301}};
  ExpectSound(chart);
  chart.lanes.assign(300, std::string(200, 'L'));
  for (int i = 0; i < 300; ++i)
    chart.spans.push_back({i, fmt::format("phase {}", i), 0, 9});
  ExpectSound(chart);
}

TEST(MapChart, IsSoundForDegenerateData) {
  const auto image = [](int64_t height, int64_t width, std::vector<float> values) {
    return MapImage{.name = "map",
                    .unit = "mV",
                    .height = height,
                    .width = width,
                    .values = std::move(values),
                    .diverging = false,
                    .scale_low = {},
                    .scale_high = {}};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float max = std::numeric_limits<float>::max();
  MapChart chart{.title = "t", .caption = "", .images = {}};
  ExpectSound(chart);
  chart.images = {image(1, 1, {3}),         image(1, 1, {nan}),
                  image(0, 0, {}),          image(2, 2, {1, 2, 3}),
                  image(1, 2, {max, -max}), image(1, 900, std::vector<float>(900, 1)),
                  image(2, 2, {5, 5, 5, 5})};
  chart.images[0].name = std::string(200, 'W');
  ExpectSound(chart);
  for (MapImage& each : chart.images) {
    each.diverging = true;
    each.scale_low = kNan;
    each.scale_high = 1e308;
  }
  ExpectSound(chart);
}

TEST(MapChart, ShowsItsScaleAndWhatIsOutsideOfIt) {
  MapChart chart{.title = "t",
                 .caption = "",
                 .images = {{.name = "drop",
                             .unit = "mV",
                             .height = 1,
                             .width = 3,
                             .values = {0, 5, 12},
                             .diverging = false,
                             .scale_low = 0,
                             .scale_high = 10}}};
  Notes notes;
  const std::string svg = Drawn(chart, &notes);
  EXPECT_NE(svg.find("data:image/png;base64,iVBORw0KGgo"), std::string::npos);
  EXPECT_NE(svg.find(">min 0, mean 5.67, max 12<"), std::string::npos);
  EXPECT_NE(svg.find(">ring: max at row 0, column 2<"), std::string::npos);
  EXPECT_NE(svg.find(">in mV<"), std::string::npos);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "drop: 1 pixels lie outside the colour scale and show its end colour");
}

TEST(Charts, EscapeEveryNameOfAUser) {
  const std::string evil = "<script>alert(1)</script>\"'&";
  LineChart line = Chart({Line({1}, {1})});
  line.title = line.x_label = line.y_label = line.series[0].name = evil;
  line.references = {{evil, 1}};
  BarChart bar{.title = evil,
               .caption = evil,
               .x_label = evil,
               .part_names = {evil, evil},
               .bars = {{evil, {1, 2}, {}, {}}},
               .reference = 1,
               .reference_name = evil};
  TimelineChart timeline{
      .title = evil, .caption = evil, .lanes = {evil}, .spans = {{0, evil, 0, 1}}};
  MapChart map{.title = evil,
               .caption = evil,
               .images = {{.name = evil,
                           .unit = evil,
                           .height = 1,
                           .width = 1,
                           .values = {1},
                           .diverging = false,
                           .scale_low = {},
                           .scale_high = {}}}};
  for (const Figure& figure :
       {Figure(line), Figure(bar), Figure(timeline), Figure(map)}) {
    EXPECT_EQ(Malformed(RenderSvg(figure)), "");
    EXPECT_EQ(RenderSvg(figure).find("<script"), std::string::npos);
  }
}

TEST(LineChart, ALongFirstLabelOfXStaysInThePicture) {
  LineChart chart = Chart({Line({0.0154618}, {1})});
  chart.log2_x = true;
  chart.log_y = true;
  const std::string svg = Drawn(chart);
  EXPECT_NE(svg.find("0.00781"), std::string::npos);
  EXPECT_EQ(OutsideLabel(svg), "");
}

RC_GTEST_PROP(LineChart, IsSoundForAnyNumbers,
              (std::vector<double> x, std::vector<double> y, bool log2_x, bool log_y)) {
  LineChart chart = Chart({Line(x, y)});
  chart.series[0].low = y;
  chart.series[0].high = y;
  chart.log2_x = log2_x;
  chart.log_y = log_y;
  const std::string svg = Drawn(chart);
  RC_ASSERT(Malformed(svg) == "");
  RC_ASSERT(NotFinite(svg) == "");
  RC_ASSERT(OutsideLabel(svg) == "");
}

TEST(FigureTable, SharesRowsWhenSeriesShareX) {
  const Table table = FigureTable(SampleLineChart());
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"ranks", "strong, batch 32 in all", "low", "high",
                                      "weak, batch 16 a rank", "low", "high"}));
  EXPECT_EQ(table.rows.size(),
            7u);  // five ranks, the reference and the target's low end
  EXPECT_EQ(std::get<double>(table.rows[1][1]), 0.674);
}

TEST(FigureTable, SumsATimelineByLaneAndPhase) {
  const Table table = FigureTable(
      TimelineChart{.title = "",
                    .caption = "",
                    .lanes = {"r0"},
                    .spans = {{0, "a", 0, 2}, {0, "b", 2, 3}, {0, "a", 3, 8}}});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<double>(table.rows[0][2]), 2);
  EXPECT_EQ(std::get<double>(table.rows[0][3]), 7);
  EXPECT_EQ(std::get<double>(table.rows[0][4]), 5);
}

}  // namespace
}  // namespace stepslack::render
