#include "stepslack/audit/finding.h"

namespace stepslack::audit {
namespace {

base::Json Strings(const std::vector<std::string>& items) {
  base::Json out{base::Json::Array{}};
  for (const std::string& item : items) out.Append(item);
  return out;
}

base::Json OptionalEstimate(const std::optional<base::Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  return base::ToJson(*estimate);
}

}  // namespace

std::string_view ToString(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed:
      return "passed";
    case CheckVerdict::kFinding:
      return "finding";
    case CheckVerdict::kWarning:
      return "warning";
    case CheckVerdict::kNotRun:
      return "not_run";
  }
  return "not_run";
}

base::Json ToJson(const Finding& finding) {
  base::Json out;
  out.Set("id", finding.id);
  out.Set("kind", finding.kind);
  out.Set("leakage_type",
          finding.leakage_type.empty() ? base::Json() : finding.leakage_type);
  out.Set("warning", finding.warning);
  out.Set("groups", Strings(finding.groups));
  out.Set("rows", finding.rows);
  out.Set("share", finding.share);
  out.Set("share_of", finding.share_of);
  out.Set("examples", Strings(finding.examples));
  base::Json facts{base::Json::Object{}};
  for (const auto& [name, count] : finding.facts) facts.Set(name, count);
  out.Set("facts", std::move(facts));
  out.Set("metric_with", OptionalEstimate(finding.metric_with));
  out.Set("metric_without", OptionalEstimate(finding.metric_without));
  out.Set("metric_group_split", OptionalEstimate(finding.metric_group_split));
  out.Set("metric_reason", finding.metric_reason);
  out.Set("text", finding.text);
  return out;
}

base::Json ToJson(const CheckResult& check) {
  base::Json out;
  out.Set("id", check.id);
  out.Set("verdict", std::string(ToString(check.verdict)));
  out.Set("reason", check.reason);
  out.Set("examined", check.examined);
  return out;
}

}  // namespace stepslack::audit
