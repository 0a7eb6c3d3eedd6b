#include "text_table.h"

#include <algorithm>
#include <numeric>

#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"

namespace stepslack::render {
namespace {

using base::Columns;
using base::DecodeUtf8;

constexpr size_t kGap = 2;
constexpr std::string_view kReset = "\x1b[0m";

// Bytes of the longest beginning that takes at most `columns`.
size_t PrefixBytes(std::string_view text, size_t columns) {
  size_t at = 0;
  size_t used = 0;
  while (at < text.size()) {
    const size_t bytes = DecodeUtf8(text, at).bytes;
    used += Columns(text.substr(at, bytes));
    if (used > columns) break;
    at += bytes;
  }
  return at;
}

std::vector<size_t> FitWidths(const std::vector<TextColumn>& columns,
                              const std::vector<std::vector<TextCell>>& rows,
                              size_t width) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t widest = Columns(columns[i].name);
    for (const auto& row : rows) widest = std::max(widest, Columns(row[i].text));
    widths.push_back(widest);
  }
  const auto total = [&] {
    return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  };
  while (total() > width) {
    size_t widest = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] <= columns[i].least) continue;
      if (widest == columns.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns.size()) break;  // nothing left to cut
    --widths[widest];
  }
  return widths;
}

std::string FormatRow(const std::vector<TextColumn>& columns,
                      const std::vector<size_t>& widths,
                      const std::vector<TextCell>& cells) {
  std::string line;
  size_t pending = 0;  // spaces owed, so that no line ends in one
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string text = CutText(cells[i].text, widths[i]);
    const size_t pad = widths[i] - std::min(widths[i], Columns(text));
    pending += columns[i].right ? pad : 0;
    if (!text.empty()) {
      line.append(pending, ' ');
      pending = 0;
      line += cells[i].colour;
      line += text;
      if (!cells[i].colour.empty()) line += kReset;
    }
    pending += kGap + (columns[i].right ? 0 : pad);
  }
  return line;
}

}  // namespace

std::string CutText(std::string_view text, size_t columns) {
  if (Columns(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(text.substr(0, PrefixBytes(text, columns)));
  return std::string(base::Trim(text.substr(0, PrefixBytes(text, columns - 3)))) +
         "...";
}

std::vector<std::string> FormatTable(const std::vector<TextColumn>& columns,
                                     const std::vector<std::vector<TextCell>>& rows,
                                     size_t width) {
  const std::vector<size_t> widths = FitWidths(columns, rows, width);
  std::vector<TextCell> names;
  for (const TextColumn& column : columns) names.push_back({column.name, ""});
  std::vector<std::string> lines = {FormatRow(columns, widths, names)};
  for (const auto& row : rows) lines.push_back(FormatRow(columns, widths, row));
  return lines;
}

std::vector<std::string> WrapColumns(std::string_view text, size_t columns,
                                     size_t most_lines) {
  std::vector<std::string> lines;
  std::string_view rest = base::Trim(text);
  while (!rest.empty() && lines.size() < most_lines) {
    if (Columns(rest) <= columns) {
      lines.emplace_back(rest);
      return lines;
    }
    if (lines.size() + 1 == most_lines) {
      lines.push_back(CutText(rest, columns));
      return lines;
    }
    size_t end = std::max<size_t>(1, PrefixBytes(rest, columns));
    if (end < rest.size() && rest[end] != ' ') {
      const size_t space = rest.substr(0, end).rfind(' ');
      if (space != std::string_view::npos) end = space;
    }
    lines.emplace_back(base::Trim(rest.substr(0, end)));
    rest = base::Trim(rest.substr(end));
  }
  return lines;
}

}  // namespace stepslack::render
