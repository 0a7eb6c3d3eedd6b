#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "display_text.h"
#include "stepslack/base/text.h"
#include "stepslack/render/trace_report.h"
#include "text_table.h"

namespace stepslack::render {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kMostMissing = 8;
constexpr size_t kMostRows = 200;
constexpr size_t kWorst = 3;

class Lines {
 public:
  explicit Lines(bool colour) : colour_(colour) {}

  void Add(std::string_view text) { out_.append(text).append("\n"); }
  void Heading(std::string_view text) {
    out_ += "\n";
    Add(colour_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text));
  }
  // "  label  text", wrapped under itself.
  void Item(std::string_view label, size_t width, std::string_view text,
            size_t most_lines) {
    const auto lines = WrapColumns(OneLine(text), kWidth - width - 4, most_lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      Add(fmt::format("  {:<{}}  {}", i == 0 ? label : "", width, lines[i]));
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  bool colour_;
  std::string out_;
};

std::string StepsText(const measure::TraceReport& report) {
  std::map<std::string, std::pair<size_t, size_t>> sources;  // fewest, most steps
  for (const analyze::RankTrace& rank : report.ranks) {
    const std::string source(ToString(rank.step_source));
    const size_t count = rank.steps.size();
    const auto [entry, is_new] = sources.emplace(source, std::pair{count, count});
    if (is_new) continue;
    entry->second.first = std::min(entry->second.first, count);
    entry->second.second = std::max(entry->second.second, count);
  }
  std::string text;
  for (const auto& [source, counts] : sources) {
    if (!text.empty()) text += "; ";
    if (source == "none") {
      text += "no steps";
      continue;
    }
    text += counts.first == counts.second
                ? fmt::format("{} step{}", counts.first, counts.first == 1 ? "" : "s")
                : fmt::format("{} to {} steps", counts.first, counts.second);
    text += fmt::format(" a rank by {}", source);
  }
  return text;
}

std::string ReadText(const measure::TraceReport& report) {
  size_t used = 0;
  std::map<std::string, size_t> formats;
  for (const measure::InputRow& row : report.inputs) {
    if (!row.used) continue;
    ++used;
    ++formats[std::string(ToString(row.format))];
  }
  std::string text = fmt::format("{} of {} inputs:", used, report.inputs.size());
  for (const auto& [format, count] : formats) {
    text += fmt::format(" {} {},", count, format);
  }
  text.back() = used == 0 ? ' ' : ';';
  if (report.ranks.empty()) {
    text.pop_back();
    return text;
  }
  int64_t world = 0;
  int64_t events = 0;
  for (const analyze::RankTrace& rank : report.ranks) {
    world = std::max(world, rank.world_size);
    events += rank.events;
  }
  text += fmt::format(" {}{} ranks, {} events, {}", report.ranks.size(),
                      world > 0 ? fmt::format(" of {}", world) : "", events,
                      StepsText(report));
  return text;
}

void AddHeadline(const measure::TraceReport& report, Lines& lines) {
  if (report.headline.empty()) return;
  lines.Heading("Five numbers");
  for (const measure::Headline& headline : report.headline) {
    const bool factor = headline.name == "parallel efficiency";
    const std::string value = !headline.value ? "n/a"
                              : factor        ? fmt::format("{:.3f}", *headline.value)
                                       : fmt::format("{:.1f} %", 100 * *headline.value);
    lines.Item(fmt::format("{:<24}{:>8}", headline.name, value), 32, headline.text, 2);
  }
}

int64_t WindowStart(const measure::TraceReport& report, int32_t rank) {
  for (const analyze::RankTrace& trace : report.ranks) {
    if (trace.rank == rank) return trace.window_start_ns;
  }
  return 0;
}

void AddWorst(const measure::TraceReport& report, Lines& lines) {
  if (report.worst.empty()) return;
  lines.Heading("Worst three");
  for (size_t i = 0; i < std::min(report.worst.size(), kWorst); ++i) {
    const measure::WorstPlace& place = report.worst[i];
    const std::string where =
        fmt::format("rank {}{}", place.rank,
                    place.step >= 0 ? fmt::format(" step {}", place.step) : "");
    lines.Item(fmt::format("{} {}", i + 1, where), 20,
               fmt::format("{}, {:.3f} ms into its trace", place.what,
                           static_cast<double>(place.start_ns -
                                               WindowStart(report, place.rank)) /
                               1e6),
               2);
  }
}

void AddRecords(const measure::TraceReport& report, Lines& lines) {
  if (report.hang) {
    lines.Heading("Hang");
    lines.Item(ToString(report.hang->verdict), 12, report.hang->reason, 3);
  }
  if (report.what_if) {
    const analyze::WhatIf& what_if = *report.what_if;
    lines.Heading("Without stragglers");
    const auto share = [](const std::optional<analyze::WhatIfShare>& part) {
      return part ? fmt::format("{:.3f}", part->share) : std::string("n/a");
    };
    lines.Item(
        "S", 12,
        fmt::format("{:.3f}: a step takes {:.4f} s, {:.4f} s with every operation "
                    "at its typical time",
                    what_if.slowdown, what_if.actual_step_ns / 1e9,
                    what_if.ideal_step_ns / 1e9),
        2);
    lines.Item(
        "M_W, M_S", 12,
        fmt::format("{} of the slowdown goes with the slowest workers, {} with the "
                    "last stage",
                    share(what_if.slowest_workers), share(what_if.last_stage)),
        2);
  }
}

void AddRunSets(const measure::TraceReport& report, Lines& lines) {
  constexpr size_t kMost = 12;
  if (!report.run_sets || report.run_sets->sets.empty()) return;
  lines.Heading("Sets of runs");
  Table table{
      "", {"set", "workers", "runs", "reached", "minutes", "E", "Es", "Eh"}, {}};
  const auto factor = [](const std::optional<double>& value) {
    return value ? Cell(*value) : Cell(std::string("n/a"));
  };
  for (const analyze::RunSet& set : report.run_sets->sets) {
    if (table.rows.size() == kMost) break;
    table.rows.push_back({set.name,
                          set.world_size ? Cell(static_cast<double>(*set.world_size))
                                         : Cell(std::string("n/a")),
                          static_cast<double>(set.runs),
                          static_cast<double>(set.successes), CellText(set.ttt),
                          factor(set.E), factor(set.Es), factor(set.Eh)});
  }
  const std::string text = RenderTableText(table, false);
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!line.empty()) lines.Add(fmt::format("  {}", line));
  }
  if (report.run_sets->sets.size() > kMost) {
    lines.Add(fmt::format("  and {} more; --format json has all",
                          report.run_sets->sets.size() - kMost));
  }
}

void AddLogs(const measure::TraceReport& report, Lines& lines) {
  constexpr size_t kMost = 5;
  const auto& logs = report.records.metric_logs;
  if (logs.empty()) return;
  lines.Heading("Metric logs");
  for (size_t i = 0; i < std::min(logs.size(), kMost); ++i) {
    const logs::SeriesSet& set = logs[i].value;
    size_t points = 0;
    for (const logs::Series& series : set.series) points += series.points.size();
    lines.Item(fmt::format("{} series", set.series.size()), 12,
               fmt::format("{} points, {}", points, logs[i].name), 2);
  }
  if (logs.size() > kMost) {
    lines.Add(fmt::format("  and {} more; --format json has all", logs.size() - kMost));
  }
}

// What hosts and libraries say of themselves; findings only.
void AddFindings(const measure::TraceReport& report, Lines& lines) {
  constexpr size_t kMost = 10;
  std::vector<std::pair<std::string, std::string>> findings;
  for (const auto& host : report.records.host_reports) {
    for (const trace::HostEvidence& it : host.value.evidence) {
      if (it.severity == trace::Severity::kInfo) continue;
      findings.emplace_back(
          it.subject,
          fmt::format("{}{}{} x{}: {} (line {})", it.kind, it.code.empty() ? "" : " ",
                      it.code, it.count, it.meaning, it.first_line));
    }
  }
  for (const auto& log : report.records.nccl_logs) {
    for (const trace::NcclFact& fact : log.value.facts) {
      findings.emplace_back("NCCL", fact.text);
    }
  }
  if (findings.empty()) return;
  lines.Heading("Findings");
  for (size_t i = 0; i < std::min(findings.size(), kMost); ++i) {
    lines.Item(findings[i].first, 20, findings[i].second, 2);
  }
  if (findings.size() > kMost) {
    lines.Add(
        fmt::format("  and {} more; --format json has all", findings.size() - kMost));
  }
}

void AddMissing(const measure::TraceReport& report, Lines& lines) {
  lines.Heading("Missing");
  if (report.missing.empty()) lines.Add("  nothing");
  for (size_t i = 0; i < std::min(report.missing.size(), kMostMissing); ++i) {
    const measure::MissingPart& part = report.missing[i];
    lines.Item(part.part, 14,
               part.where.empty() ? part.reason
                                  : fmt::format("{} ({})", part.reason, part.where),
               2);
  }
  if (report.missing.size() > kMostMissing) {
    lines.Add(fmt::format("  and {} more; --format json has all",
                          report.missing.size() - kMostMissing));
  }
  const auto errors = report.import.CountOf(trace::Severity::kError);
  const auto warnings = report.import.CountOf(trace::Severity::kWarning);
  if (errors + warnings > 0) {
    lines.Add(fmt::format("  records not used as they were: {} errors, {} warnings",
                          errors, warnings));
  }
  if (!report.footnotes.empty()) {
    std::string codes;
    for (const measure::Footnote& note : report.footnotes) codes += " " + note.code;
    lines.Add(fmt::format("  HTA would print other numbers:{}", codes));
  }
}

}  // namespace

std::string RenderTraceText(const measure::TraceReport& report, bool colour) {
  Lines lines(colour);
  lines.Item("read", 6, ReadText(report), 3);
  AddHeadline(report, lines);
  AddWorst(report, lines);
  AddRecords(report, lines);
  AddFindings(report, lines);
  AddRunSets(report, lines);
  AddLogs(report, lines);
  AddMissing(report, lines);
  return lines.Take();
}

std::string RenderTableText(const Table& table, bool colour) {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool number =
        !table.rows.empty() && !std::holds_alternative<std::string>(table.rows[0][i]);
    columns.push_back({table.columns[i], number, 6});
  }
  std::vector<std::vector<TextCell>> rows;
  for (size_t i = 0; i < std::min(table.rows.size(), kMostRows); ++i) {
    std::vector<TextCell> cells;
    for (const Cell& cell : table.rows[i])
      cells.push_back({OneLine(CellText(cell)), ""});
    rows.push_back(std::move(cells));
  }
  Lines lines(colour);
  for (const std::string& line : FormatTable(columns, rows, kWidth + 40))
    lines.Add(line);
  if (table.rows.size() > kMostRows) {
    lines.Add(fmt::format("{} of {} rows; --format csv has all", kMostRows,
                          table.rows.size()));
  }
  return lines.Take();
}

std::string RenderImportText(const measure::TraceReport& report) {
  Table table{"Inputs", {"format", "used", "rank", "events", "input", "note"}, {}};
  for (const measure::InputRow& row : report.inputs) {
    std::string note = row.note;
    if (row.used && row.truncated) note = "ends inside; what came before is kept";
    table.rows.push_back({std::string(ToString(row.format)),
                          std::string(row.used ? "yes" : "no"),
                          row.rank >= 0 ? std::to_string(row.rank) : std::string("-"),
                          static_cast<double>(row.events), row.name, note});
  }
  return RenderTableText(table, false);
}

}  // namespace stepslack::render
