#include "stepslack/base/estimate.h"

#include <fmt/format.h>

#include <cmath>

#include "stepslack/base/text.h"

namespace stepslack::base {
namespace {

Json OptionalJson(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json();
}

std::optional<double> OptionalDouble(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  return json.AsDouble();
}

}  // namespace

Estimate Exact(double value, std::string unit, int64_t n, std::string n_of,
               std::string method) {
  return {.value = value,
          .low = value,
          .high = value,
          .unit = std::move(unit),
          .confidence = 1.0,
          .n = n,
          .n_of = std::move(n_of),
          .method = std::move(method)};
}

std::string Describe(const Estimate& estimate) {
  if (!estimate.value) return "no value (" + estimate.method + ")";
  std::string text = Human(*estimate.value);
  if (estimate.unit != "1" && !estimate.unit.empty()) text += " " + estimate.unit;
  if (estimate.low && estimate.high && *estimate.low != *estimate.high) {
    text += fmt::format(" [{}, {}]", Human(*estimate.low), Human(*estimate.high));
  }
  const bool exact = estimate.confidence >= 1.0;
  const std::string level =
      exact ? "exact" : fmt::format("{:g} %", 100 * estimate.confidence);
  return text + fmt::format(" ({}, n = {} {})", estimate.low ? level : "no interval",
                            estimate.n, estimate.n_of);
}

Json ToJson(const Estimate& estimate) {
  Json json;
  json.Set("value", OptionalJson(estimate.value));
  json.Set("low", OptionalJson(estimate.low));
  json.Set("high", OptionalJson(estimate.high));
  json.Set("unit", estimate.unit);
  json.Set("confidence", estimate.confidence);
  json.Set("n", estimate.n);
  json.Set("n_of", estimate.n_of);
  json.Set("method", estimate.method);
  return json;
}

Estimate EstimateFromJson(const Json& json) {
  return {.value = OptionalDouble(json["value"]),
          .low = OptionalDouble(json["low"]),
          .high = OptionalDouble(json["high"]),
          .unit = json["unit"].AsString(),
          .confidence = json["confidence"].AsDouble(0.95),
          .n = json["n"].AsInt(),
          .n_of = json["n_of"].AsString(),
          .method = json["method"].AsString()};
}

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMet:
      return "met";
    case Verdict::kViolated:
      return "violated";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kError:
      return "error";
    case Verdict::kNotRun:
      return "not_run";
  }
  return "error";
}

Slack Evaluate(const Requirement& requirement,
               const std::optional<Estimate>& estimate) {
  Slack slack;
  if (!estimate) return slack;
  if (!estimate->value || !std::isfinite(*estimate->value)) {
    slack.verdict = Verdict::kError;
    return slack;
  }
  const double sign = requirement.direction == Direction::kAtLeast ? 1.0 : -1.0;
  slack.margin = sign * (*estimate->value - requirement.bound);
  if (requirement.bound != 0) {
    slack.percent = 100.0 * *slack.margin / std::abs(requirement.bound);
  }
  if (!estimate->low || !estimate->high || !std::isfinite(*estimate->low) ||
      !std::isfinite(*estimate->high)) {
    slack.verdict = Verdict::kInconclusive;
    return slack;
  }
  const double worst =
      sign * ((sign > 0 ? *estimate->low : *estimate->high) - requirement.bound);
  const double best =
      sign * ((sign > 0 ? *estimate->high : *estimate->low) - requirement.bound);
  if (worst >= 0) {
    slack.verdict = Verdict::kMet;
  } else if (best < 0) {
    slack.verdict = Verdict::kViolated;
  } else {
    slack.verdict = Verdict::kInconclusive;
    const double half = 0.5 * (*estimate->high - *estimate->low);
    const double ratio = half / std::abs(*slack.margin);
    const double needed = static_cast<double>(estimate->n) * ratio * ratio;
    if (*slack.margin != 0 && needed < 1e12) {
      slack.samples_to_decide = static_cast<int64_t>(std::ceil(needed));
    }
  }
  return slack;
}

}  // namespace stepslack::base
