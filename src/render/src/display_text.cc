#include "display_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stepslack/base/text.h"

namespace stepslack::render {
namespace {

using base::Verdict;

// A unit that is worth printing; "1" marks a ratio.
std::string WithUnit(std::string text, std::string_view unit) {
  if (unit.empty() || unit == "1") return text;
  return fmt::format("{} {}", text, unit);
}

double SlackKey(const base::Slack& slack) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!slack.margin || std::isnan(*slack.margin)) return -kInfinity;
  if (slack.percent && !std::isnan(*slack.percent)) {
    return std::clamp(*slack.percent, -1e300, 1e300);
  }
  if (*slack.margin == 0) return 0;
  return *slack.margin < 0 ? -1e301 : 1e301;
}

}  // namespace

std::string_view VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMet:
      return "OK";
    case Verdict::kViolated:
      return "FAIL";
    case Verdict::kInconclusive:
      return "HOLD";
    case Verdict::kError:
      return "ERROR";
    case Verdict::kNotRun:
      return "NOT RUN";
  }
  return "ERROR";
}

std::string_view CauseWord(diagnose::CauseState state) {
  switch (state) {
    case diagnose::CauseState::kSupported:
      return "supported";
    case diagnose::CauseState::kRefuted:
      return "refuted";
    case diagnose::CauseState::kUndecided:
      return "undecided";
  }
  return "undecided";
}

std::string ShortDigest(std::string_view digest) {
  return OneLine(digest.substr(0, 12));
}

std::string ValueText(const base::Estimate& estimate) {
  if (!estimate.value || !std::isfinite(*estimate.value)) return "no value";
  return WithUnit(base::Human(*estimate.value), estimate.unit);
}

std::string IntervalText(const base::Estimate& estimate) {
  if (!estimate.low || !estimate.high || *estimate.low == *estimate.high) return "";
  return fmt::format("[{}, {}]", NumberText(*estimate.low), NumberText(*estimate.high));
}

std::string BasisText(const base::Estimate& estimate) {
  if (!estimate.value) return estimate.method;
  const std::string level = !estimate.low || !estimate.high ? "no interval"
                            : estimate.confidence >= 1
                                ? "exact"
                                : fmt::format("{:g} %", 100 * estimate.confidence);
  return fmt::format("{}, n = {}{}{}", level, estimate.n,
                     estimate.n_of.empty() ? "" : " ", estimate.n_of);
}

std::string BoundText(const base::Requirement& requirement, Signs signs) {
  const bool least = requirement.direction == base::Direction::kAtLeast;
  const std::string_view sign =
      signs == Signs::kAscii ? (least ? ">=" : "<=") : (least ? "\u2265" : "\u2264");
  return WithUnit(fmt::format("{} {}", sign, NumberText(requirement.bound)),
                  requirement.unit);
}

std::string SlackText(const evidence::RequirementResult& result) {
  const base::Slack& slack = result.slack;
  if (slack.percent && std::isfinite(*slack.percent)) {
    if (std::abs(*slack.percent) >= 1e5)
      return *slack.percent > 0 ? "> +100000 %" : "< -100000 %";
    std::string text = fmt::format("{:+.1f} %", *slack.percent);
    // A miss that rounds to zero must not read as met exactly.
    if (*slack.percent < 0 && text == "-0.0 %") return "> -0.05 %";
    return text;
  }
  if (!slack.margin || !std::isfinite(*slack.margin)) return "none";
  const std::string sign = *slack.margin > 0 ? "+" : "";
  return WithUnit(sign + base::Human(*slack.margin), result.requirement.unit);
}

std::string DecidingText(const evidence::RequirementResult& result) {
  if (!result.slack.samples_to_decide) return "";
  const std::string of = result.estimate && !result.estimate->n_of.empty()
                             ? result.estimate->n_of
                             : "samples";
  return fmt::format("about {} {} in all would decide", *result.slack.samples_to_decide,
                     of);
}

std::string NumberText(double value) {
  return std::isfinite(value) ? base::Human(value) : "n/a";
}

std::string CellText(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return NumberText(*number);
  const auto& estimate = std::get<base::Estimate>(cell);
  std::string text = ValueText(estimate);
  if (const std::string interval = IntervalText(estimate); !interval.empty()) {
    text += " " + interval;
  }
  const std::string basis = BasisText(estimate);
  return basis.empty() ? text : fmt::format("{} ({})", text, basis);
}

std::string CountVerdicts(const std::vector<evidence::RequirementResult>& results) {
  std::string text;
  for (const Verdict verdict : {Verdict::kError, Verdict::kNotRun, Verdict::kViolated,
                                Verdict::kInconclusive, Verdict::kMet}) {
    const auto count =
        std::count_if(results.begin(), results.end(),
                      [&](const auto& item) { return item.slack.verdict == verdict; });
    if (count == 0) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", count, VerdictWord(verdict));
  }
  return text.empty() ? "none" : text;
}

std::vector<size_t> WorstFirst(
    const std::vector<evidence::RequirementResult>& results) {
  std::vector<size_t> order(results.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return SlackKey(results[a].slack) < SlackKey(results[b].slack);
  });
  return order;
}

}  // namespace stepslack::render
