#include "stepslack/render/run_sets_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "stepslack/base/text.h"

namespace stepslack::render {
namespace {

using analyze::RunSet;
using analyze::RunSetReport;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kNormal95 = 1.959964;
constexpr size_t kMostCurves = 8;

using Family = std::vector<const RunSet*>;  // as in the report: by world size

Cell Optional(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell(std::string("-"));
}

Cell Count(const std::optional<int64_t>& value) {
  return value ? Cell(static_cast<double>(*value)) : Cell(std::string("-"));
}

std::optional<double> PerRankBatch(const RunSet& set) {
  if (!set.world_size || !set.global_batch || *set.world_size < 1) return std::nullopt;
  return static_cast<double>(*set.global_batch) / static_cast<double>(*set.world_size);
}

std::string Range(double value, double low, double high) {
  return fmt::format("{} [{}, {}]", base::Human(value), base::Human(low),
                     base::Human(high));
}

Cell EfficiencyCell(const RunSet& set) {
  if (!set.E) return std::string("-");
  if (!set.se_log_E) return *set.E;
  const double factor = std::exp(kNormal95 * *set.se_log_E);
  return Range(*set.E, *set.E / factor, *set.E * factor);
}

Table SetsTable(const RunSetReport& report) {
  Table table{"Sets",
              {"set", "workers", "batch", "batch a worker", "runs", "reached",
               "min to target", "speedup", "E", "Es", "Eh", "remark"},
              {}};
  for (const RunSet& set : report.sets) {
    table.rows.push_back({set.name, Count(set.world_size), Count(set.global_batch),
                          Optional(PerRankBatch(set)), static_cast<double>(set.runs),
                          static_cast<double>(set.successes), set.ttt,
                          Optional(set.speedup), EfficiencyCell(set), Optional(set.Es),
                          Optional(set.Eh), set.no_scaling});
  }
  return table;
}

void AddPoint(Series& series, double x, const std::optional<double>& y,
              const std::optional<double>& log_error) {
  series.x.push_back(x);
  series.y.push_back(y.value_or(kGap));
  const double factor = std::exp(kNormal95 * log_error.value_or(kGap));
  series.low.push_back(y.value_or(kGap) / factor);
  series.high.push_back(y.value_or(kGap) * factor);
}

// Speedup and efficiency over the world size; nothing with one world size.
void AddScaling(const Family& family, Section& section) {
  LineChart speedup{.title = "Speedup",
                    .caption =
                        "In time to the target, against the smallest world "
                        "size. Whiskers: 95 %, normal on logs.",
                    .x_label = "workers",
                    .y_label = "times faster",
                    .log2_x = true,
                    .log_y = true};
  LineChart efficiency{.title = "Efficiency",
                       .caption =
                           "E = Es x Eh: convergence times hardware and "
                           "runtime; ideal is 1. Whiskers: 95 %.",
                       .x_label = "workers",
                       .y_label = "efficiency",
                       .log2_x = true};
  Series measured{.name = "measured"};
  Series ideal{.name = "ideal", .dashed = true, .points = false};
  Series e{.name = "E"}, es{.name = "Es", .dashed = true};
  Series eh{.name = "Eh", .dashed = true};
  std::set<int64_t> sizes;
  for (const RunSet* set : family) {
    if (!set->world_size || !set->E || !(*set->E > 0) || !set->speedup) continue;
    const double n = static_cast<double>(*set->world_size);
    sizes.insert(*set->world_size);
    AddPoint(measured, n, set->speedup, set->se_log_E);
    AddPoint(e, n, set->E, set->se_log_E);
    ideal.x.push_back(n);
    ideal.y.push_back(*set->speedup / *set->E);
    for (Series* series : {&es, &eh}) series->x.push_back(n);
    es.y.push_back(set->Es.value_or(kGap));
    eh.y.push_back(set->Eh.value_or(kGap));
  }
  if (sizes.size() < 2) {
    section.text.push_back("No scaling: fewer than two world sizes can be compared.");
    return;
  }
  speedup.series = {std::move(measured), std::move(ideal)};
  efficiency.series = {std::move(e), std::move(es), std::move(eh)};
  efficiency.references.push_back({.name = "ideal", .y = 1});
  section.figures.push_back(std::move(speedup));
  section.figures.push_back(std::move(efficiency));
}

Series Survival(const RunSetReport& report, const RunSet& set) {
  std::vector<analyze::RunOutcome> runs;
  for (const size_t member : set.members) runs.push_back(report.runs[member]);
  const auto curve =
      stats::KaplanMeier(analyze::Durations(runs, analyze::Censoring::kAtStop));
  Series series{
      .name = fmt::format("{} workers, {} of {} reached", set.world_size.value_or(0),
                          set.successes, set.runs),
      .x = {0},
      .y = {1},
      .low = {1},
      .high = {1},
      .steps = true,
      .points = false};
  for (const stats::SurvivalStep& step : curve.steps) {
    series.x.push_back(step.time);
    series.y.push_back(step.survival);
    series.low.push_back(step.low);
    series.high.push_back(step.high);
  }
  if (curve.last_time > series.x.back()) {  // censored runs watched for longer
    series.x.push_back(curve.last_time);
    series.y.push_back(series.y.back());
    series.low.push_back(series.low.back());
    series.high.push_back(series.high.back());
  }
  return series;
}

void AddSurvival(const RunSetReport& report, const Family& family, Section& section) {
  LineChart chart{.title = "Time to the target",
                  .caption =
                      "Share of runs still on their way (Kaplan-Meier, 95 % log "
                      "interval); a run that stopped before is censored there.",
                  .x_label = "min",
                  .y_label = "share on the way"};
  for (const RunSet* set : family) {
    if (set->successes < 1) continue;
    if (chart.series.size() == kMostCurves) {
      chart.caption +=
          fmt::format(" The first {} of {} sets.", kMostCurves, family.size());
      break;
    }
    chart.series.push_back(Survival(report, *set));
  }
  if (chart.series.empty()) {
    section.text.push_back("No run reached the target.");
    return;
  }
  section.figures.push_back(std::move(chart));
}

void AddThroughput(const Family& family, Section& section) {
  std::vector<std::pair<double, double>> points;
  std::string unit;
  for (const RunSet* set : family) {
    const auto batch = PerRankBatch(*set);
    if (!batch || !(*batch > 0) || !set->throughput_per_worker) continue;
    points.emplace_back(*batch, *set->throughput_per_worker);
    unit = set->unit;
  }
  if (points.size() < 2) return;
  std::ranges::sort(points);
  LineChart chart{.title = "Throughput of a worker",
                  .caption =
                      "Evaluation included, over the batch of a worker: points "
                      "below the others at their batch lose to something else.",
                  .x_label = "samples of a step in a worker",
                  .y_label = unit + "/s",
                  .log2_x = true};
  Series series{.name = "sets"};
  for (const auto& [x, y] : points) {
    series.x.push_back(x);
    series.y.push_back(y);
  }
  chart.series = {std::move(series)};
  section.figures.push_back(std::move(chart));
}

}  // namespace

std::vector<Section> RunSetSections(const RunSetReport& report) {
  if (report.sets.empty()) return {};
  std::map<std::pair<std::string, std::string>, Family> families;
  for (const RunSet& set : report.sets) {
    families[{set.benchmark, set.submitter}].push_back(&set);
  }
  Section all;
  all.id = "run-sets";
  all.title = "Sets of runs";
  all.text = {fmt::format("{} sets in {} families; min to target with a 95 % interval.",
                          report.sets.size(), families.size())};
  if (families.size() > kMostFamilies) {
    all.text.push_back(
        fmt::format("Figures of the first {} families; the table has "
                    "all.",
                    kMostFamilies));
  }
  all.tables = {SetsTable(report)};
  std::vector<Section> sections = {std::move(all)};
  for (const auto& [key, family] : families) {
    if (sections.size() > kMostFamilies) break;
    Section section;
    section.id = fmt::format("run-family-{}", sections.size());
    section.title = key.second.empty() ? key.first : key.first + ", " + key.second;
    if (section.title.empty()) section.title = "Runs";
    AddScaling(family, section);
    AddSurvival(report, family, section);
    AddThroughput(family, section);
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace stepslack::render
