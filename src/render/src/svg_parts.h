// Parts shared by the figures: the frame with its accessible description, hatch
// patterns, legends, markers, paths and labels that keep apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "html_writer.h"

namespace stepslack::render {

inline constexpr double kFontPx = 12;     // of every label in a figure
inline constexpr double kLineGapPx = 15;  // between lines of text
inline constexpr double kChartWidth = 760;

struct DrawOptions {
  std::string id = "f";        // prefix of ids inside the figure, unique in a document
  bool standalone = false;     // a file of its own: style, title and notes are drawn in
  size_t max_marks = 3000;     // rectangles or points; beyond, marks are merged
  int64_t max_map_side = 256;  // pixels; larger maps are shown coarser
};

// Sentences on what was merged or left out; shown under the figure. Empty: nothing.
using Notes = std::vector<std::string>;

// <svg role="img"> with <title> and <desc>; what is written while it lives goes inside.
class SvgFrame {
 public:
  SvgFrame(HtmlWriter& writer, double width, double height, std::string_view title,
           std::string_view description, const Notes& notes,
           const DrawOptions& options);

 private:
  HtmlWriter::Element svg_;
  double top_;  // of the body: below the title of a standalone figure
  HtmlWriter::Element body_;
};

// Colour class of a series or part: "c0" to "c4".
std::string_view ColourClass(size_t index);

// <defs> with one hatched fill per part; FillOf(i) refers to it. The first 30 parts
// differ in colour or hatch, the first six in hatch alone.
void WriteHatches(HtmlWriter& writer, size_t count, const DrawOptions& options);
std::string FillOf(size_t index, const DrawOptions& options);

// Swatches and names in rows; LegendHeight says how high it will be.
double LegendHeight(const std::vector<std::string>& names, double width);
void WriteLegend(HtmlWriter& writer, const std::vector<std::string>& names, double x,
                 double y, double width, const DrawOptions& options);

// anchor: "start", "middle" or "end".
void WriteText(HtmlWriter& writer, double x, double y, std::string_view text,
               std::string_view anchor = "start", std::string_view css_class = "");
void WriteLine(HtmlWriter& writer, double x1, double y1, double x2, double y2,
               std::string_view css_class);

// The d attribute of a path.
class PathData {
 public:
  PathData& Move(double x, double y) { return Add('M', x, y); }
  PathData& Line(double x, double y) { return Add('L', x, y); }
  PathData& Close();
  PathData& Rectangle(double x, double y, double width, double height);
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  PathData& Add(char command, double x, double y);
  std::string text_;
};

// Marker shapes differ for the first 5 indices: circle, square, triangle, diamond,
// cross.
void AddMarker(PathData& path, size_t shape, double x, double y, double radius);

// Moves label centres apart to at least `gap`, in [top, bottom], keeping their order
// and staying as near as possible; they are spread evenly when there is not room for
// all.
std::vector<double> Separate(const std::vector<double>& wanted, double gap, double top,
                             double bottom);

}  // namespace stepslack::render
