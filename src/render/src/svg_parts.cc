#include "svg_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "chart_style.h"
#include "text_width.h"

namespace stepslack::render {
namespace {

constexpr double kTitleHeight = 30;
constexpr double kSwatch = 14;
constexpr size_t kColours = 5;
constexpr size_t kHatches = 6;
constexpr double kPi = 3.14159265358979323846;

double NotesHeight(const Notes& notes, const DrawOptions& options) {
  if (!options.standalone || notes.empty()) return 0;
  return 8 + kLineGapPx * static_cast<double>(notes.size());
}

double WritePrologue(HtmlWriter& writer, double width, double height,
                     std::string_view title, std::string_view description,
                     const Notes& notes, const DrawOptions& options) {
  writer.Leaf("title", title);
  writer.Leaf("desc", description);
  if (!options.standalone) return 0;
  writer.Style(kStandaloneCss);
  writer.Style(kChartCss);
  const double total = height + kTitleHeight + NotesHeight(notes, options);
  writer.Empty("rect", {{"width", width}, {"height", total}, {"class", "paper"}});
  WriteText(writer, 8, 20, FitText(title, 15, width - 16), "start", "title");
  for (size_t i = 0; i < notes.size(); ++i) {
    const double y = height + kTitleHeight + kLineGapPx * static_cast<double>(i + 1);
    WriteText(writer, 8, y, FitText(notes[i], kFontPx, width - 16), "start", "muted");
  }
  return kTitleHeight;
}

double FullHeight(double height, const Notes& notes, const DrawOptions& options) {
  if (!options.standalone) return height;
  return height + kTitleHeight + NotesHeight(notes, options);
}

// Strokes over the plain colour; 6 x 6 px tiles.
std::string_view HatchStrokes(size_t hatch) {
  constexpr std::array<std::string_view, kHatches> kStrokes = {
      "",
      "M-1,7L7,-1M-1,1L1,-1M5,7L7,5",
      "M-1,-1L7,7M5,-1L7,1M-1,5L1,7",
      "M0,3L6,3",
      "M3,0L3,6",
      "M0,3L6,3M3,0L3,6"};
  return kStrokes[hatch % kHatches];
}

struct LegendSpot {
  double x = 0;
  double y = 0;
  std::string text;
};

std::vector<LegendSpot> PlaceLegend(const std::vector<std::string>& names,
                                    double width) {
  std::vector<LegendSpot> spots;
  double x = 0;
  double y = 0;
  for (const std::string& name : names) {
    const std::string text = FitText(name, kFontPx, width - kSwatch - 6);
    const double needed = kSwatch + 6 + TextWidth(text, kFontPx);
    if (x > 0 && x + needed > width) {
      x = 0;
      y += kLineGapPx + 4;
    }
    spots.push_back({x, y, text});
    x += needed + 18;
  }
  return spots;
}

}  // namespace

SvgFrame::SvgFrame(HtmlWriter& writer, double width, double height,
                   std::string_view title, std::string_view description,
                   const Notes& notes, const DrawOptions& options)
    : svg_(writer.Open(
          "svg",
          {Attribute::When(options.standalone, "xmlns", "http://www.w3.org/2000/svg"),
           {"class", "chart"},
           {"role", "img"},
           {"aria-label", title},
           {"viewBox", fmt::format("0 0 {} {}", CompactNumber(width),
                                   CompactNumber(FullHeight(height, notes, options)))},
           {"width", width},
           {"height", FullHeight(height, notes, options)}})),
      top_(WritePrologue(writer, width, height, title, description, notes, options)),
      body_(writer.Open("g", {Attribute::When(top_ > 0, "transform",
                                              fmt::format("translate(0,{})", top_))})) {
}

std::string_view ColourClass(size_t index) {
  constexpr std::array<std::string_view, kColours> kClasses = {"c0", "c1", "c2", "c3",
                                                               "c4"};
  return kClasses[index % kColours];
}

void WriteHatches(HtmlWriter& writer, size_t count, const DrawOptions& options) {
  const auto defs = writer.Open("defs");
  for (size_t i = 0; i < count; ++i) {
    const auto pattern =
        writer.Open("pattern", {{"id", fmt::format("{}_h{}", options.id, i)},
                                {"class", ColourClass(i)},
                                {"patternUnits", "userSpaceOnUse"},
                                {"width", 6},
                                {"height", 6}});
    writer.Empty("rect", {{"width", 6}, {"height", 6}, {"class", "fill"}});
    if (const std::string_view strokes = HatchStrokes(i); !strokes.empty()) {
      writer.Empty("path", {{"d", strokes}, {"class", "hatch"}});
    }
  }
}

std::string FillOf(size_t index, const DrawOptions& options) {
  return fmt::format("url(#{}_h{})", options.id, index);
}

double LegendHeight(const std::vector<std::string>& names, double width) {
  if (names.empty()) return 0;
  return PlaceLegend(names, width).back().y + kLineGapPx + 10;
}

void WriteLegend(HtmlWriter& writer, const std::vector<std::string>& names, double x,
                 double y, double width, const DrawOptions& options) {
  const std::vector<LegendSpot> spots = PlaceLegend(names, width);
  for (size_t i = 0; i < spots.size(); ++i) {
    writer.Empty("rect", {{"x", x + spots[i].x},
                          {"y", y + spots[i].y},
                          {"width", kSwatch},
                          {"height", kSwatch - 2},
                          {"fill", FillOf(i, options)},
                          {"class", "edge"}});
    WriteText(writer, x + spots[i].x + kSwatch + 6, y + spots[i].y + 10.5,
              spots[i].text);
  }
}

void WriteText(HtmlWriter& writer, double x, double y, std::string_view text,
               std::string_view anchor, std::string_view css_class) {
  writer.Leaf("text",
              {{"x", x},
               {"y", y},
               Attribute::When(anchor != "start", "text-anchor", anchor),
               Attribute::When(!css_class.empty(), "class", css_class)},
              text);
}

void WriteLine(HtmlWriter& writer, double x1, double y1, double x2, double y2,
               std::string_view css_class) {
  writer.Empty("path", {{"d", PathData().Move(x1, y1).Line(x2, y2).text()},
                        {"class", css_class}});
}

PathData& PathData::Add(char command, double x, double y) {
  text_ += command;
  text_ += CompactNumber(x, 1);
  text_ += ',';
  text_ += CompactNumber(y, 1);
  return *this;
}

PathData& PathData::Close() {
  text_ += 'Z';
  return *this;
}

PathData& PathData::Rectangle(double x, double y, double width, double height) {
  Move(x, y);
  text_ += fmt::format("h{}v{}h{}", CompactNumber(width), CompactNumber(height, 1),
                       CompactNumber(-width));
  return Close();
}

void AddMarker(PathData& path, size_t shape, double x, double y, double radius) {
  const double r = radius;
  switch (shape % 5) {
    case 0: {  // a 12-gon reads as a circle at this size and keeps one path for all
      for (int i = 0; i < 12; ++i) {
        const double angle = i * kPi / 6;
        const double px = x + r * std::cos(angle);
        const double py = y + r * std::sin(angle);
        i == 0 ? path.Move(px, py) : path.Line(px, py);
      }
      path.Close();
      break;
    }
    case 1:
      path.Move(x - r, y - r).Line(x + r, y - r).Line(x + r, y + r).Line(x - r, y + r);
      path.Close();
      break;
    case 2:
      path.Move(x, y - 1.2 * r)
          .Line(x + 1.2 * r, y + r)
          .Line(x - 1.2 * r, y + r)
          .Close();
      break;
    case 3:
      path.Move(x, y - 1.4 * r).Line(x + 1.4 * r, y).Line(x, y + 1.4 * r);
      path.Line(x - 1.4 * r, y).Close();
      break;
    default:
      path.Move(x - r, y - r).Line(x + r, y + r).Move(x - r, y + r).Line(x + r, y - r);
  }
}

std::vector<double> Separate(const std::vector<double>& wanted, double gap, double top,
                             double bottom) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  const auto count = static_cast<double>(wanted.size());
  const double step = count > 1 ? std::min(gap, (bottom - top) / (count - 1)) : gap;
  std::vector<double> placed(wanted.size());
  // Down: each at least `step` below the one before. Then up from the bottom.
  for (size_t i = 0; i < order.size(); ++i) {
    const double floor = i == 0 ? top : placed[order[i - 1]] + step;
    placed[order[i]] = std::max(std::clamp(wanted[order[i]], top, bottom), floor);
  }
  double ceiling = bottom;
  for (size_t i = order.size(); i-- > 0;) {
    placed[order[i]] = std::min(placed[order[i]], ceiling);
    ceiling = placed[order[i]] - step;
  }
  return placed;
}

}  // namespace stepslack::render
