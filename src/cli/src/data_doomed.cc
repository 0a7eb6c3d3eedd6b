#include "data_doomed.h"

#include <fmt/format.h>

#include "stepslack/audit/doomed_runs.h"
#include "stepslack/base/json.h"
#include "stepslack/base/text.h"
#include "stepslack/data/table_source.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::Json;

base::Result<double> NumberOf(const Arguments& arguments, const char* option) {
  const auto value = base::ParseDouble(arguments.Value(option));
  if (value) return *value;
  return base::Fail("PROBE-0006", ExitCode::kUsage, "must be a number",
                    fmt::format("{} {}", option, arguments.Value(option)),
                    fmt::format("for example {} 0.05", option));
}

base::Result<audit::DoomedOptions> OptionsOf(const Arguments& arguments,
                                             const base::Context& context) {
  audit::DoomedOptions options;
  options.label = arguments.Value("--label");
  options.ran = arguments.Value("--ran");
  // "--label dr_drc,dr_wl" names both.
  if (const size_t comma = options.label.find(','); comma != std::string::npos) {
    options.ran = options.label.substr(comma + 1);
    options.label.resize(comma);
  }
  options.before = arguments.Value("--before");
  options.cost = arguments.Value("--cost");
  options.group = arguments.Value("--group");
  options.threads = context.threads;
  SS_TRY(options.cost_false_stop, NumberOf(arguments, "--cost-false-stop"));
  SS_TRY(options.cost_missed_stop, NumberOf(arguments, "--cost-missed-stop"));
  SS_TRY(options.good_lost, NumberOf(arguments, "--good-lost"));
  return options;
}

Json RuleJson(const audit::StopRule& rule) {
  Json json;
  json.Set("stopped", rule.stopped);
  json.Set("good_stopped", rule.good_stopped);
  json.Set("good_lost", rule.good_lost);
  json.Set("hours_saved", rule.hours_saved);
  json.Set("bad_hours_saved", rule.bad_hours_saved);
  return json;
}

Json SplitJson(const audit::DoomedSplit& split) {
  Json json;
  json.Set("name", split.name);
  json.Set("auc", split.auc ? Json(*split.auc) : Json());
  json.Set("auc_reached", split.auc_reached ? Json(*split.auc_reached) : Json());
  json.Set("judged", split.judged);
  json.Set("abstained", split.abstained);
  json.Set("at_good_lost", RuleJson(split.at_good_lost));
  json.Set("at_costs", RuleJson(split.at_costs));
  json.Set("auc_range", Json(Json::Array{split.auc_low, split.auc_high}));
  json.Set("hours_range", Json(Json::Array{split.hours_low, split.hours_high}));
  json.Set("reason", split.reason);
  return json;
}

Json Names(const std::vector<std::string>& names) {
  Json json{Json::Array{}};
  for (const std::string& name : names) json.Append(name);
  return json;
}

Json ReportJson(const audit::DoomedReport& report) {
  Json runs;
  runs.Set("clean", report.clean);
  runs.Set("dirty", report.dirty);
  runs.Set("failed", report.failed);
  runs.Set("unknown", report.unknown);
  runs.Set("not_reached", report.not_reached);
  Json cells;
  cells.Set("empty", report.cells_empty);
  cells.Set("not_available", report.cells_not_available);
  cells.Set("failed", report.cells_failed);
  Json json;
  json.Set("schema", "stepslack.doomed/1");
  json.Set("runs", std::move(runs));
  json.Set("cells_without_value", std::move(cells));
  json.Set("hours", report.hours);
  json.Set("bad_hours", report.bad_hours);
  json.Set("groups", report.groups);
  json.Set("threshold_at_costs", report.threshold_at_costs);
  json.Set("features", Names(report.features));
  json.Set("left_out", Names(report.left_out));
  json.Set("grouped", SplitJson(report.grouped));
  json.Set("random", SplitJson(report.random));
  json.Set("worthless", report.worthless);
  json.Set("warnings", Names(report.warnings));
  return json;
}

std::string SplitText(const audit::DoomedSplit& split, double allowed, double cost) {
  if (!split.reason.empty()) {
    return fmt::format("{}: no answer, {}\n", split.name, split.reason);
  }
  const auto rule = [](const audit::StopRule& r) {
    return fmt::format(
        "{:.0f} h saved ({:.0f} of bad runs), {:.2f} % of good runs lost",
        r.hours_saved, r.bad_hours_saved, 100 * r.good_lost);
  };
  return fmt::format(
      "{}: AUC {} [{:.3f}, {:.3f}], {} runs judged, {} abstained\n"
      "  at most {:.3g} % of good runs lost in calibration: {}; {:.0f} to {:.0f} h "
      "over "
      "fold assignments\n"
      "  p(bad) above {:.3g}: {}\n",
      split.name, split.auc ? fmt::format("{:.3f}", *split.auc) : "unknown",
      split.auc_low, split.auc_high, split.judged, split.abstained, 100 * allowed,
      rule(split.at_good_lost), split.hours_low, split.hours_high, cost,
      rule(split.at_costs));
}

std::string ReportText(const audit::DoomedReport& report, double allowed) {
  std::string text = fmt::format(
      "{} clean, {} dirty, {} failed, {} unknown (left out); {} died before the stage\n"
      "{:.1f} hours, of them {:.1f} on runs that did not end clean\n\n",
      report.clean, report.dirty, report.failed, report.unknown, report.not_reached,
      report.hours, report.bad_hours);
  for (const audit::DoomedSplit* split : {&report.grouped, &report.random}) {
    text += SplitText(*split, allowed, report.threshold_at_costs);
  }
  for (const std::string& warning : report.warnings) {
    text += "warning: " + warning + "\n";
  }
  return text;
}

}  // namespace

base::Result<CommandResult> DataDoomed(const Arguments& arguments,
                                       const base::Context& context) {
  SS_TRY(const auto options, OptionsOf(arguments, context));
  data::TableOptions reading;
  reading.schema = arguments.Value("--schema");
  SS_TRY(const auto whole, data::ReadTable(arguments.Value("TABLE"), reading));
  SS_TRY(const auto table, audit::RowsWhere(whole, arguments.Value("--where")));
  SS_TRY(const auto report, audit::JudgeDoomedRuns(table, options));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json ? ReportJson(report).Dump() + "\n"
                                         : ReportText(report, options.good_lost),
                       .exit_code = report.worthless || !report.grouped.reason.empty()
                                        ? ExitCode::kFinding
                                        : ExitCode::kOk};
}

}  // namespace stepslack::cli
