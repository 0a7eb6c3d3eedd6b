#include "stepslack/render/trace_compare_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "display_text.h"
#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"
#include "stepslack/render/markdown_report.h"
#include "text_table.h"

namespace stepslack::render {
namespace {

using base::Columns;

using analyze::Presence;
using analyze::TimeDelta;
using analyze::TraceComparison;

constexpr size_t kWidth = 120;
constexpr size_t kMostName = 44;
constexpr std::string_view kIntervalNote =
    "Intervals cover the spread of steps inside these runs, not that between runs.";

double Microseconds(double ns) { return ns / 1000; }

// "+12.3", so that the direction is plain without a colour.
std::string Signed(double ns) {
  const double us = Microseconds(ns);
  return (us > 0 ? "+" : "") + base::Human(us);
}

std::string RatioText(const TimeDelta& delta) {
  if (!delta.ratio.value) return std::string(ToString(delta.presence));
  const std::string interval = IntervalText(delta.ratio);
  const std::string value = base::Human(*delta.ratio.value);
  return interval.empty() ? value : value + " " + interval;
}

std::string CountText(const TimeDelta& delta) {
  if (delta.ratio.low) return fmt::format("{} steps", delta.ratio.n);
  return "no interval";
}

// What the rows of a table are: kernels have no interval, phases no calls.
struct Shape {
  bool calls = false;
  bool intervals = false;
};

Table TableOf(std::string title, std::string name, const std::vector<TimeDelta>& deltas,
              Shape shape) {
  Table table;
  table.title = std::move(title);
  table.columns = {std::move(name), "A us", "B us", "delta us", "B / A"};
  if (shape.intervals) table.columns.emplace_back("n");
  if (shape.calls) {
    table.columns.insert(table.columns.end(),
                         {"calls A", "calls B", "call A us", "call B us"});
  }
  for (const TimeDelta& delta : deltas) {
    std::vector<Cell> row = {delta.name, Microseconds(delta.a_ns),
                             Microseconds(delta.b_ns), Signed(delta.delta_ns),
                             RatioText(delta)};
    if (shape.intervals) row.emplace_back(CountText(delta));
    if (shape.calls) {
      row.insert(row.end(), {Cell(delta.calls_a), Cell(delta.calls_b),
                             Cell(Microseconds(delta.call_a_ns)),
                             Cell(Microseconds(delta.call_b_ns))});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

size_t Count(const std::vector<TimeDelta>& deltas, Presence presence) {
  return static_cast<size_t>(std::count_if(
      deltas.begin(), deltas.end(),
      [presence](const TimeDelta& delta) { return delta.presence == presence; }));
}

// What the numbers are, and why some have no interval.
std::vector<std::string> NotesOf(const TraceComparison& comparison) {
  std::vector<std::string> notes = {"Times " + comparison.basis + "."};
  notes.push_back(fmt::format("Kernels: {} in both, {} new in B, {} vanished.",
                              Count(comparison.kernels, Presence::kBoth),
                              Count(comparison.kernels, Presence::kOnlyB),
                              Count(comparison.kernels, Presence::kOnlyA)));
  const bool enough =
      comparison.per_step && comparison.a.steps >= 3 && comparison.b.steps >= 3;
  if (enough) {
    notes.emplace_back(kIntervalNote);
    notes.emplace_back(
        "Kernels have none: their totals are of whole traces, also outside of steps.");
  } else {
    notes.emplace_back("No intervals: they need at least 3 steps on each side.");
  }
  const int64_t outside =
      comparison.a.collectives_outside + comparison.b.collectives_outside;
  if (outside > 0) {
    notes.push_back(fmt::format(
        "{} collectives (A {}, B {}) start outside of all steps and are not counted.",
        outside, comparison.a.collectives_outside, comparison.b.collectives_outside));
  }
  return notes;
}

// What tells long kernel names apart: no return type, no list of arguments, no
// namespaces that all have. Other texts stay as they are.
std::string WithoutBoilerplate(std::string text) {
  if (Columns(text) <= kMostName) return text;
  if (text.starts_with("void ")) text.erase(0, 5);
  for (const std::string_view common :
       {"at::native::", "(anonymous namespace)::", "at::detail::"}) {
    for (size_t at = text.find(common); at != std::string::npos;
         at = text.find(common, at)) {
      text.erase(at, common.size());
    }
  }
  const size_t arguments = text.rfind('(');
  const bool list = text.ends_with(')') && arguments != std::string::npos;
  if (list && arguments > 0) text.erase(arguments);
  return text;
}

// Long names differ at both ends: the middle goes.
std::string CutMiddle(const std::string& text) {
  if (Columns(text) <= kMostName) return text;
  size_t tail = text.size() - kMostName / 2;
  while (tail < text.size() && (text[tail] & 0xc0) == 0x80) ++tail;
  std::string cut = CutText(text, kMostName / 2);
  return cut.append(text, tail);
}

void AppendTextTable(const Table& table, size_t most_rows, std::string& out) {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool words = i == 0 || table.columns[i] == "n";
    columns.push_back({table.columns[i], !words, i == 0 ? size_t{16} : size_t{60}});
  }
  const size_t shown = std::min(table.rows.size(), most_rows);
  std::vector<std::vector<TextCell>> rows;
  for (size_t i = 0; i < shown; ++i) {
    std::vector<TextCell> cells;
    for (const Cell& cell : table.rows[i]) {
      cells.push_back({CutMiddle(WithoutBoilerplate(OneLine(CellText(cell)))), {}});
    }
    rows.push_back(std::move(cells));
  }
  out += "\n" + table.title + "\n";
  for (const std::string& line : FormatTable(columns, rows, kWidth)) {
    out += "  " + line + "\n";
  }
  if (shown < table.rows.size()) {
    out += fmt::format("  and {} more rows; the JSON holds all\n",
                       table.rows.size() - shown);
  }
}

}  // namespace

std::vector<Table> CompareTables(const TraceComparison& comparison) {
  std::vector<Table> tables;
  const auto add = [&](const char* title, const char* name,
                       const std::vector<TimeDelta>& deltas, Shape shape) {
    if (!deltas.empty()) tables.push_back(TableOf(title, name, deltas, shape));
  };
  add("Device time", "part", comparison.device, {.intervals = true});
  add("Phases", "phase", comparison.phases, {.intervals = true});
  add("Kernels by change", "kernel", comparison.kernels, {.calls = true});
  add("Collectives by change", "operation", comparison.collectives,
      {.calls = true, .intervals = true});
  return tables;
}

std::string RenderCompareText(const TraceComparison& comparison, size_t most_rows) {
  std::string out = "Stepslack comparison of traces, A before and B after\n";
  for (const std::string& note : NotesOf(comparison)) {
    for (const std::string& line : WrapColumns(note, kWidth, 3)) out += line + "\n";
  }
  for (const Table& table : CompareTables(comparison)) {
    AppendTextTable(table, most_rows, out);
  }
  return out;
}

std::string RenderCompareMarkdown(const TraceComparison& comparison) {
  std::string out = "# Comparison of traces\n\nA before, B after.\n\n";
  for (const std::string& note : NotesOf(comparison)) {
    out += "- " + EscapeMarkdown(note) + "\n";
  }
  out += "\n";
  for (const Table& table : CompareTables(comparison)) {
    out += "## " + EscapeMarkdown(table.title) + "\n\n" + RenderMarkdownTable(table);
  }
  return out;
}

}  // namespace stepslack::render
