// The report as a document: sections with sentences, figures and tables. Renderers
// (text, markdown, HTML) take this struct; they do no arithmetic beyond laying marks
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/evidence/review.h"

namespace stepslack::render {

// A table cell: text, a number, or an estimate (shown with its interval).
using Cell = std::variant<std::string, double, base::Estimate>;

struct Table {
  std::string title;
  std::vector<std::string> columns;  // unit in the name: "step ms"
  std::vector<std::vector<Cell>> rows;
};

struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;          // NaN: a gap
  std::vector<double> low, high;  // empty, or one interval per point
  bool steps = false;             // staircase (survival curves)
  bool dashed = false;
  bool points = true;
};

struct ReferenceLine {
  std::string name;
  double y = 0;
};

// Lines or points over x: scaling, loss, time-to-accuracy, before/after.
struct LineChart {
  std::string title, caption, x_label, y_label;  // labels with units
  bool log2_x = false;
  bool log_y = false;
  std::vector<Series> series;
  std::vector<ReferenceLine> references;
  std::optional<double> target_low, target_high;  // shaded target region in y
};

struct Bar {
  std::string label;
  std::vector<double> parts;        // one value per part name; one part: a plain bar
  std::optional<double> low, high;  // interval of the total
};

// Horizontal bars, plain or stacked: risk bars, effects, shares, hyperparameters.
struct BarChart {
  std::string title, caption, x_label;
  std::vector<std::string> part_names;
  std::vector<Bar> bars;
  std::optional<double> reference;
  std::string reference_name;
};

struct Span {
  int lane = 0;
  std::string phase;
  double start_ms = 0;
  double end_ms = 0;
};

// Training timeline: one lane per rank and kind of work.
struct TimelineChart {
  std::string title, caption;
  std::vector<std::string> lanes;
  std::vector<Span> spans;
};

struct MapImage {
  std::string name;  // "input current", "target", "prediction", "error"
  std::string unit;
  int64_t height = 0, width = 0;
  std::vector<float> values;                    // row-major
  bool diverging = false;                       // error maps: symmetric about zero
  std::optional<double> scale_low, scale_high;  // shared colour scale with a sibling
};

struct MapChart {
  std::string title, caption;
  std::vector<MapImage> images;
};

using Figure = std::variant<LineChart, BarChart, TimelineChart, MapChart>;

struct Section {
  std::string id;                 // "split-audit": anchor, file name
  std::string title;              // "Split audit"
  std::vector<std::string> text;  // paragraphs; the first is the finding
  std::vector<Figure> figures;
  std::vector<Table> tables;
};

struct Report {
  evidence::Review review;
  std::vector<Section> sections;
};

}  // namespace stepslack::render
