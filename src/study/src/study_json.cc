#include <fmt/format.h>

#include "stepslack/study/study_run.h"

namespace stepslack::study {
namespace {

using base::Json;

Json EstimateOrNull(const base::Estimate& estimate) {
  return estimate.value ? base::ToJson(estimate) : Json();
}

Json ArmJson(const ArmSummary& summary) {
  Json json;
  json.Set("name", summary.arm.name).Set("ranks", summary.arm.ranks);
  json.Set("values", ToJson(summary.arm.values));
  json.Set("runs", summary.runs).Set("done", summary.done);
  json.Set("objective", EstimateOrNull(summary.objective));
  json.Set("seconds_to_target", EstimateOrNull(summary.seconds_to_target));
  json.Set("success_share", EstimateOrNull(summary.success_share));
  json.Set("wall_seconds", EstimateOrNull(summary.wall_seconds));
  json.Set("samples_per_second", EstimateOrNull(summary.samples_per_second));
  json.Set("E", EstimateOrNull(summary.efficiency));
  json.Set("Eh", EstimateOrNull(summary.hardware));
  json.Set("Es", EstimateOrNull(summary.statistical));
  json.Set("effect", summary.effect ? analyze::ToJson(*summary.effect) : Json());
  return json;
}

Json SearchJson(const SearchSummary& search) {
  Json json;
  json.Set("configurations", search.configurations);
  json.Set("table", analyze::ToJson(search.table));
  json.Set("best", search.best.empty() ? Json() : Json(search.best));
  json.Set("values", ToJson(search.values));
  json.Set("best_score", search.best.empty() ? Json() : Json(search.best_score));
  json.Set("fresh_seeds", EstimateOrNull(search.fresh));
  json.Set("baseline", EstimateOrNull(search.baseline));
  json.Set("optimism", search.optimism ? Json(*search.optimism) : Json());
  json.Set("effect", search.effect ? analyze::ToJson(*search.effect) : Json());
  return json;
}

// RFC 4180.
std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + "\"";
}

std::string Number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

Json ToJson(const StudyReport& report) {
  Json json;
  json.Set("schema", "stepslack.study/1").Set("id", report.id);
  json.Set("title", report.study.title).Set("kind", ToString(report.study.kind));
  json.Set("metric", report.study.objective.metric);
  json.Set("goal", report.study.objective.maximise ? "max" : "min");
  json.Set("verdict", report.verdict).Set("refused", report.refused);
  json.Set("executed", report.executed);
  Json checks = Json::Array();
  for (const StudyCheck& check : report.checks) {
    Json item;
    item.Set("id", check.id).Set("verdict", ToString(check.verdict));
    checks.Append(item.Set("text", check.text));
  }
  Json trials = Json::Array();
  for (const TrialResult& trial : report.trials) trials.Append(ToJson(trial));
  Json arms = Json::Array();
  for (const ArmSummary& arm : report.arms) arms.Append(ArmJson(arm));
  json.Set("checks", checks).Set("trials", trials).Set("arms", arms);
  json.Set("search", report.search ? SearchJson(*report.search) : Json());
  return json;
}

std::string TrialsCsv(const StudyReport& report) {
  std::string text =
      "id,arm,purpose,ranks,seed,repeat,values,status,objective,seconds_to_target,"
      "samples_to_target,wall_seconds,reason\n";
  for (const TrialResult& result : report.trials) {
    const auto samples = result.samples_to_target
                             ? fmt::format("{}", *result.samples_to_target)
                             : std::string();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", result.id,
                        CsvCell(result.trial.arm), result.trial.purpose,
                        result.trial.ranks, result.trial.seed, result.trial.repeat,
                        CsvCell(ToJson(result.trial.values).Dump(-1)),
                        ToString(result.status), Number(result.objective),
                        Number(result.seconds_to_target), samples, result.wall_seconds,
                        CsvCell(result.reason));
  }
  return text;
}

}  // namespace stepslack::study
