#include "data_drift.h"

#include <fmt/format.h>

#include "stepslack/base/json.h"
#include "stepslack/base/text.h"
#include "stepslack/data/table_source.h"
#include "stepslack/drift/table_drift.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::Json;

base::Result<double> NumberOf(const Arguments& arguments, const char* option) {
  const auto value = base::ParseDouble(arguments.Value(option));
  if (value) return *value;
  return base::Fail("DRIFT-0006", ExitCode::kUsage, "must be a number",
                    fmt::format("{} {}", option, arguments.Value(option)),
                    fmt::format("for example {} 0.2", option));
}

Json OptionalNumber(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json FeatureJson(const drift::FeatureDrift& feature) {
  Json row;
  row.Set("name", feature.name);
  row.Set("column", feature.column);
  row.Set("kind", drift::ToString(feature.kind));
  row.Set("effect", base::ToJson(feature.effect));
  row.Set("shift", base::ToJson(feature.shift));
  row.Set("margin", feature.margin);
  row.Set("p", OptionalNumber(feature.p));
  row.Set("p_adjusted", OptionalNumber(feature.p_adjusted));
  row.Set("reference_values", feature.reference_values);
  row.Set("current_values", feature.current_values);
  row.Set("verdict", drift::ToString(feature.verdict));
  row.Set("reason", feature.reason);
  return row;
}

Json ReportJson(const drift::DriftReport& report) {
  Json groups;
  groups.Set("column", report.group);
  groups.Set("reference_only", report.reference_groups);
  groups.Set("current_only", report.current_groups);
  groups.Set("shared", report.shared_groups);
  Json null;
  null.Set("assignments", report.assignments);
  null.Set("exact", report.exact);
  null.Set("least_p", report.least_p);
  Json features{Json::Array{}};
  for (const auto& feature : report.features) features.Append(FeatureJson(feature));
  Json notes{Json::Array{}};
  for (const std::string& note : report.notes) notes.Append(note);
  Json json;
  json.Set("schema", "stepslack.drift/1");
  json.Set("groups", std::move(groups));
  json.Set("null", std::move(null));
  json.Set("alpha", report.alpha);
  json.Set("reference_rows", report.reference_rows);
  json.Set("current_rows", report.current_rows);
  json.Set("features", std::move(features));
  json.Set("notes", std::move(notes));
  return json;
}

std::string ReportText(const drift::DriftReport& report) {
  std::string text = fmt::format(
      "{} rows in {} groups against {} rows in {} groups ({} shared)\n"
      "{} null of {:.4g} assignments; no p below {:.3g} can be reached\n\n",
      report.current_rows, report.current_groups + report.shared_groups,
      report.reference_rows, report.reference_groups + report.shared_groups,
      report.shared_groups, report.exact ? "exact" : "permutation", report.assignments,
      report.least_p);
  for (const auto& feature : report.features) {
    text +=
        fmt::format("{:<13} {:<24} {}\n{:38} margin {:.4g}: {}\n",
                    drift::ToString(feature.verdict), feature.name,
                    base::Describe(feature.effect), "", feature.margin, feature.reason);
  }
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace

base::Result<CommandResult> DataDrift(const Arguments& arguments,
                                      const base::Context& context) {
  drift::DriftOptions options;
  options.group = arguments.Value("--group");
  options.threads = context.threads;
  SS_TRY(options.margin, NumberOf(arguments, "--margin"));
  SS_TRY(options.share_margin, NumberOf(arguments, "--share-margin"));
  SS_TRY(options.alpha, NumberOf(arguments, "--alpha"));
  data::TableOptions reading;
  reading.schema = arguments.Value("--schema");
  SS_TRY(const auto reference, data::ReadTable(arguments.Value("REFERENCE"), reading));
  SS_TRY(const auto current, data::ReadTable(arguments.Value("CURRENT"), reading));
  SS_TRY(const auto report, drift::CompareTables(reference, current, options));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{
      .output = as_json ? ReportJson(report).Dump() + "\n" : ReportText(report),
      .exit_code = report.AnyDrift() ? ExitCode::kFinding : ExitCode::kOk};
}

}  // namespace stepslack::cli
