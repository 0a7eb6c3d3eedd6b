#include "stepslack/render/section_json.h"

#include <charconv>
#include <cmath>

namespace stepslack::render {
namespace {

using base::Json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json Number(const std::optional<double>& value) {
  return value ? Number(*value) : Json();
}

// The shortest decimal that reads back to the same float, as a double: 0.1f becomes
// 0.1, not 0.10000000149011612.
Json Number(float value) {
  if (!std::isfinite(value)) return {};
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  double shortest = 0;
  std::from_chars(buffer, end, shortest);
  return shortest;
}

template <typename T>
Json Numbers(const std::vector<T>& values) {
  Json::Array items;
  items.reserve(values.size());
  for (const T value : values) items.push_back(Number(value));
  return items;
}

Json Strings(const std::vector<std::string>& values) {
  Json::Array items;
  for (const std::string& value : values) items.emplace_back(value);
  return items;
}

// Named before the template, which finds only these and the public ones.
Json ToJson(const Series& series);
Json ToJson(const ReferenceLine& line);
Json ToJson(const Bar& bar);
Json ToJson(const Span& span);
Json ToJson(const MapImage& image);

template <typename T>
Json Objects(const std::vector<T>& values) {
  Json::Array items;
  for (const T& value : values) items.push_back(ToJson(value));
  return items;
}

Json ToJson(const Series& series) {
  Json json;
  json.Set("name", series.name);
  json.Set("x", Numbers(series.x));
  json.Set("y", Numbers(series.y));
  if (!series.low.empty()) json.Set("low", Numbers(series.low));
  if (!series.high.empty()) json.Set("high", Numbers(series.high));
  json.Set("steps", series.steps);
  return json;
}

Json ToJson(const ReferenceLine& line) {
  Json json;
  json.Set("name", line.name);
  json.Set("y", Number(line.y));
  return json;
}

Json ToJson(const Bar& bar) {
  Json json;
  json.Set("label", bar.label);
  json.Set("parts", Numbers(bar.parts));
  json.Set("low", Number(bar.low));
  json.Set("high", Number(bar.high));
  return json;
}

Json ToJson(const Span& span) {
  Json json;
  json.Set("lane", span.lane);
  json.Set("phase", span.phase);
  json.Set("start_ms", Number(span.start_ms));
  json.Set("end_ms", Number(span.end_ms));
  return json;
}

Json ToJson(const MapImage& image) {
  Json json;
  json.Set("name", image.name);
  json.Set("unit", image.unit);
  json.Set("height", image.height);
  json.Set("width", image.width);
  json.Set("diverging", image.diverging);
  json.Set("scale_low", Number(image.scale_low));
  json.Set("scale_high", Number(image.scale_high));
  json.Set("values", Numbers(image.values));
  return json;
}

Json Titled(std::string_view type, const std::string& title,
            const std::string& caption) {
  Json json;
  json.Set("type", type);
  json.Set("title", title);
  json.Set("caption", caption);
  return json;
}

Json CellJson(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return Number(*number);
  return base::ToJson(std::get<base::Estimate>(cell));
}

}  // namespace

Json ToJson(const Table& table) {
  Json json;
  json.Set("title", table.title);
  json.Set("columns", Strings(table.columns));
  Json::Array rows;
  for (const std::vector<Cell>& row : table.rows) {
    Json::Array cells;
    for (const Cell& cell : row) cells.push_back(CellJson(cell));
    rows.emplace_back(std::move(cells));
  }
  json.Set("rows", std::move(rows));
  return json;
}

Json ToJson(const LineChart& chart) {
  Json json = Titled("line", chart.title, chart.caption);
  json.Set("x_label", chart.x_label);
  json.Set("y_label", chart.y_label);
  json.Set("log2_x", chart.log2_x);
  json.Set("log_y", chart.log_y);
  json.Set("series", Objects(chart.series));
  json.Set("references", Objects(chart.references));
  json.Set("target_low", Number(chart.target_low));
  json.Set("target_high", Number(chart.target_high));
  return json;
}

Json ToJson(const BarChart& chart) {
  Json json = Titled("bar", chart.title, chart.caption);
  json.Set("x_label", chart.x_label);
  json.Set("part_names", Strings(chart.part_names));
  json.Set("bars", Objects(chart.bars));
  json.Set("reference", Number(chart.reference));
  json.Set("reference_name", chart.reference_name);
  return json;
}

Json ToJson(const TimelineChart& chart) {
  Json json = Titled("timeline", chart.title, chart.caption);
  json.Set("lanes", Strings(chart.lanes));
  json.Set("spans", Objects(chart.spans));
  return json;
}

Json ToJson(const MapChart& chart) {
  Json json = Titled("map", chart.title, chart.caption);
  json.Set("images", Objects(chart.images));
  return json;
}

Json ToJson(const Figure& figure) {
  return std::visit([](const auto& chart) { return ToJson(chart); }, figure);
}

Json ToJson(const Section& section) {
  Json json;
  json.Set("id", section.id);
  json.Set("title", section.title);
  json.Set("text", Strings(section.text));
  json.Set("figures", Objects(section.figures));
  json.Set("tables", Objects(section.tables));
  return json;
}

}  // namespace stepslack::render
