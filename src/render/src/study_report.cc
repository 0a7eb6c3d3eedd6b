#include "stepslack/render/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "display_text.h"
#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"
#include "stepslack/render/trace_report.h"

namespace stepslack::render {
namespace {

using study::StudyReport;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

Cell OptionalCell(const std::optional<double>& value) {
  if (!value) return Cell(std::string("-"));
  return Cell(*value);
}

// Value and interval; level and count stand once, over the tables.
Cell EstimateCell(const base::Estimate& estimate) {
  if (!estimate.value) return Cell(std::string("-"));
  if (!estimate.low || !estimate.high) return Cell(*estimate.value);
  return Cell(fmt::format("{} [{}, {}]", base::Human(*estimate.value),
                          base::Human(*estimate.low), base::Human(*estimate.high)));
}

std::string ValuesText(const study::Settings& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key,
                        value.is_string() ? value.AsString()
                        : value.is_int()  ? value.Dump(-1)
                        : value.is_bool() ? value.Dump(-1)
                                          : base::Human(value.AsDouble()));
  }
  return text;
}

Table ChecksTable(const StudyReport& report) {
  Table table;
  table.title = "Checks before anything is compared";
  table.columns = {"check", "verdict", "what was seen"};
  for (const auto& check : report.checks) {
    table.rows.push_back({check.id, std::string(ToString(check.verdict)), check.text});
  }
  return table;
}

Table ArmsTable(const StudyReport& report) {
  Table table;
  const bool target = report.study.objective.target.has_value();
  table.title = "Arms";
  table.columns = {"arm", "runs", "done", report.study.objective.metric, "wall s"};
  if (target) table.columns.insert(table.columns.end(), {"reached", "s to target"});
  for (const auto& arm : report.arms) {
    table.rows.push_back({arm.arm.name, static_cast<double>(arm.runs),
                          static_cast<double>(arm.done), EstimateCell(arm.objective),
                          EstimateCell(arm.wall_seconds)});
    if (!target) continue;
    table.rows.back().push_back(EstimateCell(arm.success_share));
    table.rows.back().push_back(EstimateCell(arm.seconds_to_target));
  }
  return table;
}

Table EffectsTable(const StudyReport& report) {
  Table table;
  table.title =
      fmt::format("Against {}, paired by seed", report.study.arms.front().name);
  table.columns = {"arm", "difference", "p", "verdict"};
  for (const auto& arm : report.arms) {
    if (!arm.effect) continue;
    table.rows.push_back({arm.arm.name, EstimateCell(arm.effect->difference),
                          OptionalCell(arm.effect->p),
                          std::string(analyze::ToString(arm.effect->verdict))});
  }
  return table;
}

Table ScalingTable(const StudyReport& report) {
  Table table;
  table.title = fmt::format(
      "Scaling, {} ({})",
      report.study.rule == study::ScalingRule::kWeak ? "weak" : "strong",
      report.study.batch > 0
          ? fmt::format(
                "batch {} {}", report.study.batch,
                report.study.rule == study::ScalingRule::kWeak ? "a worker" : "in all")
          : std::string("batch not named"));
  table.columns = {"workers", "samples/s", "Eh", "Es", "E = Es x Eh"};
  for (const auto& arm : report.arms) {
    table.rows.push_back({static_cast<double>(arm.arm.ranks),
                          EstimateCell(arm.samples_per_second),
                          EstimateCell(arm.hardware), EstimateCell(arm.statistical),
                          EstimateCell(arm.efficiency)});
  }
  return table;
}

LineChart ScalingChart(const StudyReport& report) {
  LineChart chart;
  chart.title = "Efficiency";
  chart.x_label = "workers";
  chart.y_label = "share of the ideal";
  chart.log2_x = true;
  chart.references = {{"ideal", 1.0}};
  const auto add = [&](const char* name, base::Estimate study::ArmSummary::*member,
                       bool dashed) {
    Series series;
    series.name = name;
    series.dashed = dashed;
    for (const auto& arm : report.arms) {
      const base::Estimate& estimate = arm.*member;
      if (!estimate.value) continue;
      series.x.push_back(arm.arm.ranks);
      series.y.push_back(*estimate.value);
      series.low.push_back(estimate.low.value_or(kGap));
      series.high.push_back(estimate.high.value_or(kGap));
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  };
  add("E", &study::ArmSummary::efficiency, false);
  add("Eh, hardware", &study::ArmSummary::hardware, true);
  return chart;
}

Section ArmsSection(const StudyReport& report) {
  Section section;
  section.id = "arms";
  section.title = "Arms";
  section.text = {report.verdict};
  section.tables.push_back(ArmsTable(report));
  if (report.study.kind == study::StudyKind::kScale) {
    LineChart chart = ScalingChart(report);
    if (!chart.series.empty()) section.figures.push_back(std::move(chart));
    section.tables.push_back(ScalingTable(report));
  }
  if (Table effects = EffectsTable(report); !effects.rows.empty()) {
    section.tables.push_back(std::move(effects));
  }
  return section;
}

Table TrackerTable(const analyze::TrialTable& tracker) {
  Table table;
  table.title = "Hyperparameter tracker, best first";
  table.columns = {"trial", "values", tracker.metric, "behind", "s", "note"};
  for (const auto& row : tracker.rows) {
    std::string values;
    for (const auto& [key, value] : row.trial.parameters) {
      const auto number = base::ParseDouble(value);
      values += fmt::format("{}{}={}", values.empty() ? "" : " ", key,
                            number ? base::Human(*number) : value);
    }
    const bool tied = row.within_noise.value_or(false);
    table.rows.push_back({row.trial.id, values, EstimateCell(row.metric),
                          row.finished ? Cell(row.behind_best) : Cell(std::string("-")),
                          row.trial.seconds,
                          row.finished
                              ? std::string(tied ? "within noise of the best" : "")
                              : row.trial.failure});
  }
  return table;
}

Section SearchSection(const study::SearchSummary& search) {
  Section section;
  section.id = "search";
  section.title = "Search";
  section.tables.push_back(TrackerTable(search.table));
  if (!search.table.caution.empty()) section.text.push_back(search.table.caution);
  if (search.best.empty()) return section;
  section.text.push_back(fmt::format("{}: {}", search.best, ValuesText(search.values)));
  Table fresh;
  fresh.title = "The best of the search on seeds that it was not chosen by";
  fresh.columns = {"what", "value"};
  fresh.rows.push_back({std::string("in the search"), search.best_score});
  fresh.rows.push_back({std::string("on fresh seeds"), EstimateCell(search.fresh)});
  fresh.rows.push_back(
      {std::string("baseline, same seeds"), EstimateCell(search.baseline)});
  fresh.rows.push_back(
      {std::string("optimism of the search"), OptionalCell(search.optimism)});
  if (search.effect) {
    fresh.rows.push_back({std::string("difference to the baseline"),
                          EstimateCell(search.effect->difference)});
    fresh.rows.push_back({std::string("verdict"),
                          std::string(analyze::ToString(search.effect->verdict))});
  }
  section.tables.push_back(std::move(fresh));
  return section;
}

Section TrialsSection(const StudyReport& report) {
  Section section;
  section.id = "trials";
  section.title = "Trials";
  section.text = {fmt::format("{} trials, {} of them run now, the others known before",
                              report.trials.size(), report.executed)};
  Table table;
  table.title = "In the order of their issue";
  table.columns = {"id", "arm",   "seed", "status", report.study.objective.metric,
                   "s",  "reason"};
  for (const auto& trial : report.trials) {
    table.rows.push_back(
        {trial.id.substr(0, 8), trial.trial.arm, std::to_string(trial.trial.seed),
         std::string(ToString(trial.status)), OptionalCell(trial.objective),
         trial.wall_seconds, trial.reason});
  }
  section.tables = {std::move(table)};
  return section;
}

}  // namespace

Document StudyDocument(const StudyReport& report) {
  Document document;
  document.title = report.study.title;
  document.lead = {
      report.verdict,
      fmt::format("study {}, {}; [low, high]: 95 % interval over {} seeds", report.id,
                  ToString(report.study.kind), report.study.seeds.size())};
  Section checks;
  checks.id = "checks";
  checks.title = "Checks";
  checks.tables = {ChecksTable(report)};
  document.sections.push_back(std::move(checks));
  if (!report.arms.empty()) document.sections.push_back(ArmsSection(report));
  if (report.search) document.sections.push_back(SearchSection(*report.search));
  document.sections.push_back(TrialsSection(report));
  return document;
}

std::string RenderStudyText(const StudyReport& report) {
  const Document document = StudyDocument(report);
  std::string text = base::OneLine(document.title) + "\n";
  for (const std::string& line : document.lead) text += base::OneLine(line) + "\n";
  for (const Section& section : document.sections) {
    for (const Table& table : section.tables)
      text += "\n" + RenderTableText(table, false);
  }
  return text;
}

}  // namespace stepslack::render
