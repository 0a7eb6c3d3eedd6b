#include "stepslack/analyze/reproducibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace stepslack::analyze {
namespace {

using ByStep = std::map<int64_t, const record::StepRecord*>;

ByStep IndexRank(const record::RunRecord& run, size_t rank) {
  ByStep index;
  if (rank >= run.steps.size()) return index;
  for (const record::StepRecord& record : run.steps[rank]) {
    index.insert_or_assign(record.step, &record);
  }
  return index;
}

std::optional<bool> DigestsEqual(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  return a == b;
}

double RelativeDifference(double a, double b) {
  if (std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b)) return 0;
  const double scale = std::max(std::abs(a), std::abs(b));
  const double difference = std::abs(a - b) / scale;
  // NaN or infinity against a number: without bound, kept finite for reports.
  return std::isfinite(difference) ? difference : 1e300;
}

void CompareLosses(const record::RunRecord& a, const record::RunRecord& b,
                   Reproducibility& report) {
  const ByStep left = IndexRank(a, 0);
  const ByStep right = IndexRank(b, 0);
  for (const auto& [step, record] : left) {
    const auto other = right.find(step);
    if (other == right.end()) {
      ++report.steps_only_in_one;
      continue;
    }
    ++report.steps_compared;
    const double x = record->loss;
    const double y = other->second->loss;
    if (std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y)) continue;
    if (!report.first_loss_step) report.first_loss_step = step;
    report.max_relative_loss_difference =
        std::max(report.max_relative_loss_difference, RelativeDifference(x, y));
  }
  report.steps_only_in_one +=
      static_cast<int64_t>(right.size()) - report.steps_compared;
  if (report.steps_compared > 0) {
    report.losses_equal = !report.first_loss_step && report.steps_only_in_one == 0;
  }
}

void CompareSamples(const record::RunRecord& a, const record::RunRecord& b,
                    Reproducibility& report) {
  const size_t ranks = std::max(a.steps.size(), b.steps.size());
  bool compared = false;
  bool missing = false;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const ByStep left = IndexRank(a, rank);
    const ByStep right = IndexRank(b, rank);
    for (const auto& [step, record] : left) {
      const auto other = right.find(step);
      if (other == right.end() || record->sample_digest.empty() ||
          other->second->sample_digest.empty()) {
        missing = true;
        continue;
      }
      compared = true;
      if (record->sample_digest == other->second->sample_digest) continue;
      if (!report.first_sample_step || step < *report.first_sample_step) {
        report.first_sample_step = step;
        report.first_sample_rank = static_cast<int>(rank);
      }
      break;  // later steps of this rank cannot be earlier
    }
  }
  if (report.first_sample_step) {
    report.sample_order_equal = false;
  } else if (compared && !missing) {
    report.sample_order_equal = true;
  }
}

void CompareRuntimes(const record::RunRecord& a, const record::RunRecord& b,
                     Reproducibility& report) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [key, value] : a.summary.runtime) both[key].first = value;
  for (const auto& [key, value] : b.summary.runtime) both[key].second = value;
  for (const auto& [key, values] : both) {
    if (values.first == values.second) continue;
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string("nothing") : value;
    };
    report.runtime_differences.push_back(
        fmt::format("{}: {} and {}", key, shown(values.first), shown(values.second)));
  }
  if (a.summary.world_size != b.summary.world_size) {
    report.runtime_differences.push_back(fmt::format(
        "world_size: {} and {}", a.summary.world_size, b.summary.world_size));
  }
}

void Decide(const record::RunRecord& a, const record::RunRecord& b,
            Reproducibility& report) {
  using V = ReproducibilityVerdict;
  const auto is = [](const std::optional<bool>& fact, bool value) {
    return fact.has_value() && *fact == value;
  };
  if (a.summary.status != "done" || b.summary.status != "done") {
    report.verdict = V::kNotComparable;
    report.reason = "a run did not finish";
  } else if (is(report.sample_order_equal, false)) {
    report.verdict = V::kDataOrderDiffers;
    report.reason = fmt::format("rank {} saw other samples at step {}",
                                report.first_sample_rank, *report.first_sample_step);
  } else if (report.first_loss_step) {
    report.verdict = V::kDiverged;
    report.reason =
        fmt::format("the loss differs from step {} on, by up to {:.3g}",
                    *report.first_loss_step, report.max_relative_loss_difference);
  } else if (is(report.parameters_equal, false) ||
             is(report.predictions_equal, false)) {
    report.verdict = V::kDiverged;
    report.reason = is(report.parameters_equal, false)
                        ? "parameters differ at the end although no recorded loss does"
                        : "predictions differ although the parameters do not";
  } else if (is(report.losses_equal, false)) {
    report.verdict = V::kNotComparable;
    report.reason =
        fmt::format("{} steps are recorded in one run only", report.steps_only_in_one);
  } else if (is(report.parameters_equal, true) && is(report.losses_equal, true) &&
             is(report.sample_order_equal, true)) {
    report.verdict = V::kBitEqual;
    report.reason = fmt::format("parameters, {} losses and all sample digests agree",
                                report.steps_compared);
  } else {
    report.reason = !report.parameters_equal ? "no digest of the parameters"
                    : !report.losses_equal   ? "no step records to compare"
                                             : "sample digests are missing";
  }
}

base::Json OptionalJson(const std::optional<bool>& fact) {
  return fact ? base::Json(*fact) : base::Json();
}

base::Json OptionalJson(const std::optional<int64_t>& number) {
  return number ? base::Json(*number) : base::Json();
}

}  // namespace

std::string_view ToString(ReproducibilityVerdict verdict) {
  switch (verdict) {
    case ReproducibilityVerdict::kBitEqual:
      return "bit_equal";
    case ReproducibilityVerdict::kDataOrderDiffers:
      return "data_order_differs";
    case ReproducibilityVerdict::kDiverged:
      return "diverged";
    case ReproducibilityVerdict::kNotComparable:
      return "not_comparable";
  }
  return "not_comparable";
}

Reproducibility CompareRuns(const record::RunRecord& a, const record::RunRecord& b) {
  Reproducibility report;
  report.parameters_equal =
      DigestsEqual(a.summary.parameters_sha256, b.summary.parameters_sha256);
  report.predictions_equal =
      DigestsEqual(a.summary.predictions_sha256, b.summary.predictions_sha256);
  CompareLosses(a, b, report);
  CompareSamples(a, b, report);
  CompareRuntimes(a, b, report);
  Decide(a, b, report);
  return report;
}

base::Json ToJson(const Reproducibility& report) {
  base::Json json;
  json.Set("schema", "stepslack.reproducibility/1");
  json.Set("verdict", ToString(report.verdict));
  json.Set("reason", report.reason);
  json.Set("parameters_equal", OptionalJson(report.parameters_equal));
  json.Set("predictions_equal", OptionalJson(report.predictions_equal));
  json.Set("sample_order_equal", OptionalJson(report.sample_order_equal));
  json.Set("losses_equal", OptionalJson(report.losses_equal));
  json.Set("steps_compared", report.steps_compared);
  json.Set("steps_only_in_one", report.steps_only_in_one);
  json.Set("first_loss_step", OptionalJson(report.first_loss_step));
  json.Set("first_sample_step", OptionalJson(report.first_sample_step));
  json.Set("first_sample_rank", report.first_sample_rank);
  json.Set("max_relative_loss_difference", report.max_relative_loss_difference);
  base::Json differences = base::Json::Array{};
  for (const std::string& one : report.runtime_differences) differences.Append(one);
  json.Set("runtime_differences", std::move(differences));
  return json;
}

}  // namespace stepslack::analyze
