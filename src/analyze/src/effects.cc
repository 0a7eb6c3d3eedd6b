#include "stepslack/analyze/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "block_estimate.h"
#include "stepslack/base/text.h"
#include "stepslack/stats/exact_tests.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/stats/power.h"

namespace stepslack::analyze {
namespace {

double Deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

bool AllPositive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

void Decide(Effect& effect) {
  const base::Estimate& difference = effect.difference;
  if (!difference.low || !difference.high) {
    effect.verdict = EffectVerdict::kInconclusive;
    effect.reason =
        difference.value ? "one pair gives no interval" : "no pair of runs to compare";
    return;
  }
  const double margin = effect.input.margin;
  const std::string range = fmt::format(
      "difference in [{}, {}] {}", base::Human(*difference.low),
      base::Human(*difference.high), effect.input.unit == "1" ? "" : effect.input.unit);
  const bool all_equal = *difference.low == 0 && *difference.high == 0;
  if (all_equal ||
      (margin > 0 && *difference.low >= -margin && *difference.high <= margin)) {
    effect.verdict = EffectVerdict::kNoChange;
    effect.reason =
        range + fmt::format(", within the margin of {}", base::Human(margin));
  } else if (*difference.low > 0 || *difference.high < 0) {
    const bool lower = *difference.high < 0;
    const bool good = lower == (effect.input.better == base::Direction::kAtMost);
    effect.verdict = good ? EffectVerdict::kImproved : EffectVerdict::kRegressed;
    effect.reason = range + ", all on one side of 0";
  } else {
    effect.verdict = EffectVerdict::kInconclusive;
    effect.reason = range + ", which holds 0 and leaves the margin";
  }
}

// Finished before failed, then by metric, then by id.
bool BetterRow(const TrialRow& a, const TrialRow& b, base::Direction better) {
  if (a.finished != b.finished) return a.finished;
  if (a.finished && *a.metric.value != *b.metric.value) {
    return better == base::Direction::kAtMost ? *a.metric.value < *b.metric.value
                                              : *a.metric.value > *b.metric.value;
  }
  return a.trial.id < b.trial.id;
}

void CompareWithBest(TrialTable& table, std::optional<double> seed_deviation) {
  if (table.finished == 0) return;
  const TrialRow best = table.rows.front();
  const double best_runs = static_cast<double>(best.trial.values.size());
  for (TrialRow& row : table.rows) {
    if (!row.finished) continue;
    row.behind_best = *row.metric.value - *best.metric.value;
    if (!seed_deviation) continue;
    const double runs = static_cast<double>(row.trial.values.size());
    const double noise = 2 * *seed_deviation * std::sqrt(1 / runs + 1 / best_runs);
    row.within_noise = std::abs(row.behind_best) <= noise;
  }
  const TrialRow& worst = table.rows[static_cast<size_t>(table.finished - 1)];
  table.spread = std::abs(*worst.metric.value - *best.metric.value);
  if (*best.metric.value != 0) {
    table.relative_spread = *table.spread / std::abs(*best.metric.value);
  }
}

base::Json Optional(const std::optional<double>& value) {
  return value ? base::Json(*value) : base::Json();
}

base::Json Numbers(const std::vector<double>& values) {
  base::Json json = base::Json::Array{};
  for (const double value : values) json.Append(value);
  return json;
}

base::Json RowJson(const TrialRow& row) {
  base::Json json;
  json.Set("id", row.trial.id);
  base::Json parameters = base::Json::Object{};
  for (const auto& [key, value] : row.trial.parameters) parameters.Set(key, value);
  json.Set("parameters", std::move(parameters));
  json.Set("values", Numbers(row.trial.values));
  json.Set("metric", base::ToJson(row.metric));
  json.Set("finished", row.finished);
  json.Set("failure", row.trial.failure);
  json.Set("seconds", row.trial.seconds);
  json.Set("behind_best", row.behind_best);
  json.Set("within_noise",
           row.within_noise ? base::Json(*row.within_noise) : base::Json());
  return json;
}

}  // namespace

std::string_view ToString(EffectVerdict verdict) {
  switch (verdict) {
    case EffectVerdict::kImproved:
      return "improved";
    case EffectVerdict::kRegressed:
      return "regressed";
    case EffectVerdict::kNoChange:
      return "no change";
    case EffectVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

base::Result<Effect> ComputeEffect(const EffectInput& input, double confidence) {
  if (input.on.size() != input.off.size()) {
    return base::Fail("ANL-0003", base::ExitCode::kInput,
                      fmt::format("{} runs with and {} without the option",
                                  input.on.size(), input.off.size()),
                      input.option, "run both sides with the same seeds");
  }
  std::vector<double> differences;
  for (size_t i = 0; i < input.on.size(); ++i) {
    if (!std::isfinite(input.on[i]) || !std::isfinite(input.off[i])) {
      return base::Fail(
          "ANL-0004", base::ExitCode::kInput,
          fmt::format("the metric of pair {} is not a finite number", i + 1),
          input.option,
          "leave out the seed whose training diverged, or "
          "repeat it, and say so in the report");
    }
    differences.push_back(input.on[i] - input.off[i]);
  }
  Effect effect;
  effect.input = input;
  effect.difference =
      stats::PairedMeanDifference(input.on, input.off, input.unit, "seeds", confidence);
  effect.ratio =
      AllPositive(input.on) && AllPositive(input.off)
          ? stats::PairedLogRatioInterval(input.on, input.off, "seeds", confidence)
          : Unknown("1", "not all values are positive");
  const stats::TestResult test = stats::SignFlipTest(differences);
  effect.p = test.p;
  effect.p_exact = test.exact;
  // All signs flipped gives the same size of mean: two patterns of 2^n at least.
  effect.smallest_p =
      std::min(1.0, std::pow(2.0, 1.0 - static_cast<double>(differences.size())));
  Decide(effect);
  const double size =
      input.margin > 0 ? input.margin : std::abs(effect.difference.value.value_or(0));
  effect.pairs_needed = stats::PairsNeeded(size, Deviation(differences));
  return effect;
}

TrialTable TabulateTrials(std::vector<Trial> trials, std::string metric,
                          std::string unit, base::Direction better,
                          std::optional<double> seed_deviation) {
  TrialTable table;
  table.metric = std::move(metric);
  table.unit = std::move(unit);
  table.better = better;
  for (Trial& trial : trials) {
    TrialRow row;
    row.metric = stats::MeanInterval(trial.values, table.unit, "seeds");
    row.finished = trial.failure.empty() && row.metric.value.has_value();
    row.trial = std::move(trial);
    table.finished += row.finished ? 1 : 0;
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [better](const TrialRow& a, const TrialRow& b) {
                     return BetterRow(a, b, better);
                   });
  CompareWithBest(table, seed_deviation);
  table.caution = fmt::format(
      "The best of {} finished trials was chosen on validation data, so its value "
      "there is "
      "too good; judge it on test data, which no trial has seen.",
      table.finished);
  return table;
}

base::Json ToJson(const Effect& effect) {
  base::Json json;
  json.Set("schema", "stepslack.effect/1");
  json.Set("option", effect.input.option);
  json.Set("metric", effect.input.metric);
  json.Set("unit", effect.input.unit);
  json.Set("lower_is_better", effect.input.better == base::Direction::kAtMost);
  base::Json labels = base::Json::Array{};
  for (const std::string& label : effect.input.labels) labels.Append(label);
  json.Set("labels", std::move(labels));
  json.Set("on", Numbers(effect.input.on));
  json.Set("off", Numbers(effect.input.off));
  json.Set("margin", effect.input.margin);
  json.Set("difference", base::ToJson(effect.difference));
  json.Set("ratio", base::ToJson(effect.ratio));
  json.Set("p", Optional(effect.p));
  json.Set("p_exact", effect.p_exact);
  json.Set("smallest_p", effect.smallest_p);
  json.Set("verdict", ToString(effect.verdict));
  json.Set("reason", effect.reason);
  json.Set("pairs_needed",
           effect.pairs_needed ? base::Json(*effect.pairs_needed) : base::Json());
  return json;
}

base::Json ToJson(const TrialTable& table) {
  base::Json json;
  json.Set("schema", "stepslack.trials/1");
  json.Set("metric", table.metric);
  json.Set("unit", table.unit);
  json.Set("lower_is_better", table.better == base::Direction::kAtMost);
  json.Set("finished", table.finished);
  json.Set("spread", Optional(table.spread));
  json.Set("relative_spread", Optional(table.relative_spread));
  json.Set("caution", table.caution);
  base::Json rows = base::Json::Array{};
  for (const TrialRow& row : table.rows) rows.Append(RowJson(row));
  json.Set("rows", std::move(rows));
  return json;
}

}  // namespace stepslack::analyze
