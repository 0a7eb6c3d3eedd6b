#include "figure_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "display_text.h"
#include "map_pixels.h"

namespace stepslack::render {
namespace {

size_t PointsOf(const Series& series) {
  return std::min(series.x.size(), series.y.size());
}

bool HasBounds(const Series& series) {
  const size_t count = PointsOf(series);
  return count > 0 && series.low.size() >= count && series.high.size() >= count;
}

bool ShareX(const LineChart& chart) {
  if (chart.series.empty() || chart.series.size() > 8) return false;
  const auto same = [&](const Series& series) {
    return series.x == chart.series.front().x && series.y.size() == series.x.size();
  };
  return std::all_of(chart.series.begin(), chart.series.end(), same);
}

// One row for each x.
Table WideTable(const LineChart& chart) {
  Table table{.title = chart.title, .columns = {chart.x_label}, .rows = {}};
  for (const Series& series : chart.series) {
    table.columns.push_back(series.name);
    if (HasBounds(series)) {
      table.columns.push_back("low");
      table.columns.push_back("high");
    }
  }
  for (size_t i = 0; i < chart.series.front().x.size(); ++i) {
    std::vector<Cell> row = {chart.series.front().x[i]};
    for (const Series& series : chart.series) {
      row.emplace_back(series.y[i]);
      if (HasBounds(series)) {
        row.emplace_back(series.low[i]);
        row.emplace_back(series.high[i]);
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table LongTable(const LineChart& chart) {
  Table table{.title = chart.title,
              .columns = {"series", chart.x_label, chart.y_label},
              .rows = {}};
  const bool bounds = std::any_of(chart.series.begin(), chart.series.end(), HasBounds);
  if (bounds) table.columns.insert(table.columns.end(), {"low", "high"});
  for (const Series& series : chart.series) {
    for (size_t i = 0; i < PointsOf(series); ++i) {
      std::vector<Cell> row = {series.name, series.x[i], series.y[i]};
      if (bounds && HasBounds(series)) {
        row.emplace_back(series.low[i]);
        row.emplace_back(series.high[i]);
      } else if (bounds) {
        row.insert(row.end(), 2, std::string());
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void AppendReferences(const LineChart& chart, Table& table) {
  const auto add = [&](const std::string& name, double y) {
    std::vector<Cell> row(table.columns.size(), std::string());
    row[0] = name;
    if (table.columns.size() > 1) row[table.columns[0] == "series" ? 2 : 1] = y;
    table.rows.push_back(std::move(row));
  };
  for (const ReferenceLine& line : chart.references)
    add("reference: " + line.name, line.y);
  if (chart.target_low) add("target region, low", *chart.target_low);
  if (chart.target_high) add("target region, high", *chart.target_high);
}

Table TableOf(const LineChart& chart) {
  Table table = ShareX(chart) ? WideTable(chart) : LongTable(chart);
  AppendReferences(chart, table);
  return table;
}

Table TableOf(const BarChart& chart) {
  Table table{.title = chart.title, .columns = {"bar"}, .rows = {}};
  size_t parts = 0;
  bool bounds = false;
  for (const Bar& bar : chart.bars) {
    parts = std::max(parts, bar.parts.size());
    bounds = bounds || bar.low || bar.high;
  }
  for (size_t i = 0; i < parts; ++i) {
    const bool named = i < chart.part_names.size() && !chart.part_names[i].empty();
    table.columns.push_back(named        ? chart.part_names[i]
                            : parts == 1 ? chart.x_label
                                         : fmt::format("part {}", i + 1));
  }
  if (bounds) table.columns.insert(table.columns.end(), {"low", "high"});
  const auto optional_cell = [](const std::optional<double>& value) -> Cell {
    if (value) return *value;
    return std::string();
  };
  for (const Bar& bar : chart.bars) {
    std::vector<Cell> row = {bar.label};
    for (size_t i = 0; i < parts; ++i) {
      row.push_back(i < bar.parts.size() ? Cell(bar.parts[i]) : Cell(std::string()));
    }
    if (bounds) {
      row.push_back(optional_cell(bar.low));
      row.push_back(optional_cell(bar.high));
    }
    table.rows.push_back(std::move(row));
  }
  if (chart.reference && parts > 0) {
    std::vector<Cell> row(table.columns.size(), std::string());
    row[0] = "reference: " + chart.reference_name;
    row[1] = *chart.reference;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table TableOf(const TimelineChart& chart) {
  struct Total {
    int64_t spans = 0;
    double ms = 0;
    double longest = 0;
  };
  std::map<std::pair<int, std::string>, Total> totals;
  for (const Span& span : chart.spans) {
    const double ms = span.end_ms - span.start_ms;
    if (!std::isfinite(ms)) continue;
    Total& total = totals[{span.lane, span.phase}];
    ++total.spans;
    total.ms += ms;
    total.longest = std::max(total.longest, ms);
  }
  Table table{.title = chart.title,
              .columns = {"lane", "phase", "spans", "total ms", "longest ms"},
              .rows = {}};
  for (const auto& [key, total] : totals) {
    const bool known =
        key.first >= 0 && static_cast<size_t>(key.first) < chart.lanes.size();
    table.rows.push_back({known ? chart.lanes[static_cast<size_t>(key.first)]
                                : fmt::format("lane {} (unknown)", key.first),
                          key.second, static_cast<double>(total.spans), total.ms,
                          total.longest});
  }
  return table;
}

Table TableOf(const MapChart& chart) {
  Table table{.title = chart.title,
              .columns = {"map", "unit", "pixels", "min", "mean", "max",
                          "largest at (row, column)"},
              .rows = {}};
  for (const MapImage& image : chart.images) {
    const MapStats stats = StatsOf(image);
    const std::string size = fmt::format("{} x {}", image.height, image.width);
    if (!stats.valid || stats.finite == 0) {
      table.rows.push_back({image.name, image.unit, size, std::string("no data"),
                            std::string(), std::string(), std::string()});
      continue;
    }
    table.rows.push_back({image.name, image.unit, size, stats.min, stats.mean,
                          stats.max,
                          fmt::format("({}, {})", stats.max_row, stats.max_column)});
  }
  return table;
}

}  // namespace

Table FigureTable(const Figure& figure) {
  return std::visit([](const auto& chart) { return TableOf(chart); }, figure);
}

const std::string& FigureTitle(const Figure& figure) {
  return std::visit([](const auto& chart) -> const std::string& { return chart.title; },
                    figure);
}

const std::string& FigureCaption(const Figure& figure) {
  return std::visit(
      [](const auto& chart) -> const std::string& { return chart.caption; }, figure);
}

}  // namespace stepslack::render
