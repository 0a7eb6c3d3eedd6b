#include "stepslack/render/csv.h"

#include <cmath>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/utf8.h"

namespace stepslack::render {
namespace {

// Line ends and tabs are data here; other controls could reach a terminal.
std::string WithoutControls(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const base::CodePoint point = base::DecodeUtf8(text, at);
    const bool keep = point.valid && !base::IsControl(point.value);
    out += keep ? std::string_view(text).substr(at, point.bytes) : "\xEF\xBF\xBD";
    at += point.bytes;
  }
  return out;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string Exact(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "";
  // Counts and nanoseconds in full digits: "1000000", not "1e+06".
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (*value == std::floor(*value) && std::abs(*value) < kExactIntegers) {
    return std::to_string(static_cast<int64_t>(*value));
  }
  return base::FormatDouble(*value);
}

void AppendLine(const std::vector<std::string>& fields, std::string& out) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += Quoted(fields[i]);
  }
  out += "\r\n";
}

std::vector<bool> EstimateColumns(const Table& table) {
  std::vector<bool> columns(table.columns.size(), false);
  for (const std::vector<Cell>& row : table.rows) {
    for (size_t i = 0; i < std::min(row.size(), columns.size()); ++i) {
      if (std::holds_alternative<base::Estimate>(row[i])) columns[i] = true;
    }
  }
  return columns;
}

void AppendCell(const Cell& cell, bool expanded, std::vector<std::string>& fields) {
  if (const auto* estimate = std::get_if<base::Estimate>(&cell)) {
    fields.insert(fields.end(),
                  {Exact(estimate->value), Exact(estimate->low), Exact(estimate->high),
                   std::to_string(estimate->n), estimate->unit});
    return;
  }
  const auto* number = std::get_if<double>(&cell);
  fields.push_back(number != nullptr ? Exact(*number)
                                     : WithoutControls(std::get<std::string>(cell)));
  if (expanded) fields.insert(fields.end(), 4, "");
}

}  // namespace

std::string RenderCsv(const Table& table) {
  const std::vector<bool> expanded = EstimateColumns(table);
  std::string out;
  std::vector<std::string> fields;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& name = table.columns[i];
    fields.push_back(name);
    if (expanded[i]) {
      fields.insert(fields.end(),
                    {name + " low", name + " high", name + " n", name + " unit"});
    }
  }
  AppendLine(fields, out);
  for (const std::vector<Cell>& row : table.rows) {
    fields.clear();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      AppendCell(i < row.size() ? row[i] : Cell(std::string()), expanded[i], fields);
    }
    AppendLine(fields, out);
  }
  return out;
}

}  // namespace stepslack::render
