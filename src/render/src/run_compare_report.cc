#include "stepslack/render/run_compare_report.h"

#include <fmt/format.h>

#include "display_text.h"
#include "stepslack/base/utf8.h"
#include "stepslack/render/trace_report.h"

namespace stepslack::render {
namespace {

using analyze::RunComparison;

Cell OptionalCell(const std::optional<double>& value) {
  if (!value) return Cell(std::string("absent"));
  return Cell(*value);
}

Table SidesTable(const RunComparison& comparison) {
  Table table;
  table.title = "Minutes to the target";
  table.columns = {"set", "name", "runs", "reached", "mean", "median"};
  for (const auto& [letter, side] :
       {std::pair{"A", &comparison.a}, std::pair{"B", &comparison.b}}) {
    table.rows.push_back(
        {std::string(letter), side->name, static_cast<double>(side->runs),
         static_cast<double>(side->reached), OptionalCell(side->mean_min),
         OptionalCell(side->median_min)});
  }
  return table;
}

std::vector<Cell> EstimateRow(std::string what, const base::Estimate& estimate) {
  return {std::move(what), OptionalCell(estimate.value), IntervalText(estimate),
          estimate.method};
}

std::vector<Cell> PValueRow(std::string what, const std::optional<double>& p,
                            std::string how) {
  return {std::move(what), OptionalCell(p), std::string(), std::move(how)};
}

Table TestsTable(const RunComparison& comparison) {
  Table table;
  table.title = "Tests";
  table.columns = {"what", "value", "interval", "how"};
  table.rows = {
      EstimateRow("ratio B / A", comparison.ratio),
      EstimateRow("shift B - A, min", comparison.hodges_lehmann),
      PValueRow("Mann-Whitney p", comparison.mann_whitney_p,
                "exact without ties, else corrected for them"),
      PValueRow("Welch p", comparison.welch.p, "t test on the minutes"),
      PValueRow("permutation p", comparison.permutation_p,
                comparison.permutation_p ? "exact, difference of means"
                                         : comparison.no_permutation),
      PValueRow("log-rank p", comparison.log_rank_p,
                "runs without the target included"),
      PValueRow("Cliff's delta", comparison.cliffs_delta, "above 0: B is slower")};
  return table;
}

// `reason` begins with the verdict.
std::string Finding(const RunComparison& comparison) {
  if (comparison.verdict != analyze::EffectVerdict::kInconclusive ||
      !comparison.more_runs) {
    return comparison.reason;
  }
  return fmt::format("{}; {} more runs a side would decide", comparison.reason,
                     *comparison.more_runs);
}

}  // namespace

Document RunCompareDocument(const RunComparison& comparison) {
  Document document;
  document.title = "Runs compared";
  document.lead = {Finding(comparison)};
  Section section;
  section.id = "time-to-accuracy";
  section.title = "Time to accuracy";
  section.tables = {SidesTable(comparison), TestsTable(comparison)};
  document.sections = {std::move(section)};
  return document;
}

std::string RenderRunCompareText(const RunComparison& comparison) {
  std::string text = base::OneLine(Finding(comparison)) + "\n\n";
  text += RenderTableText(SidesTable(comparison), false) + "\n";
  text += RenderTableText(TestsTable(comparison), false);
  return text;
}

}  // namespace stepslack::render
