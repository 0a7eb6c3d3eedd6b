#include "stepslack/analyze/overfit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

// Mean of the loss over the last tenth of rank 0's steps, at least one.
std::optional<double> FinalTrainLoss(const record::RunRecord& run) {
  if (run.steps.empty() || run.steps.front().empty()) return std::nullopt;
  std::vector<const record::StepRecord*> steps;
  for (const record::StepRecord& step : run.steps.front()) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto* a, const auto* b) { return a->step < b->step; });
  const size_t count = std::max<size_t>(steps.size() / 10, 1);
  double sum = 0;
  for (size_t i = steps.size() - count; i < steps.size(); ++i) sum += steps[i]->loss;
  const double mean = sum / static_cast<double>(count);
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

OverfitRun Describe(const LabelledRun& labelled) {
  OverfitRun result;
  result.label = labelled.label;
  result.final_train_loss = FinalTrainLoss(*labelled.run);
  std::vector<const record::EvalRecord*> evals;
  for (const record::EvalRecord& eval : labelled.run->evals) {
    if (std::isfinite(eval.relative_mae)) evals.push_back(&eval);
  }
  std::stable_sort(evals.begin(), evals.end(),
                   [](const auto* a, const auto* b) { return a->step < b->step; });
  result.evaluations = static_cast<int64_t>(evals.size());
  if (evals.empty()) return result;
  const auto* best = *std::min_element(
      evals.begin(), evals.end(),
      [](const auto* a, const auto* b) { return a->relative_mae < b->relative_mae; });
  const auto* last = evals.back();
  result.best_metric = best->relative_mae;
  result.best_step = best->step;
  result.last_metric = last->relative_mae;
  result.last_step = last->step;
  if (best->relative_mae > 0) {
    result.drift = last->relative_mae / best->relative_mae - 1;
  }
  result.last_validation_loss = last->loss;
  if (result.final_train_loss && *result.final_train_loss > 0 &&
      std::isfinite(last->loss)) {
    result.gap = last->loss / *result.final_train_loss - 1;
  }
  return result;
}

base::Json Optional(const std::optional<double>& value) {
  return value ? base::Json(*value) : base::Json();
}

}  // namespace

Overfit ComputeOverfit(std::span<const LabelledRun> runs, double confidence) {
  Overfit overfit;
  std::vector<double> drifts;
  std::vector<double> gaps;
  for (const LabelledRun& labelled : runs) {
    const OverfitRun run = Describe(labelled);
    if (run.drift) drifts.push_back(*run.drift);
    if (run.gap) gaps.push_back(*run.gap);
    overfit.runs.push_back(run);
  }
  overfit.drift = stats::MeanInterval(drifts, "1", "runs", confidence);
  overfit.gap = stats::MeanInterval(gaps, "1", "runs", confidence);
  return overfit;
}

base::Json ToJson(const Overfit& overfit) {
  base::Json json;
  json.Set("schema", "stepslack.overfit/1");
  json.Set("drift", base::ToJson(overfit.drift));
  json.Set("gap", base::ToJson(overfit.gap));
  base::Json runs = base::Json::Array{};
  for (const OverfitRun& run : overfit.runs) {
    base::Json item;
    item.Set("label", run.label);
    item.Set("evaluations", run.evaluations);
    item.Set("best_metric", run.best_metric);
    item.Set("best_step", run.best_step);
    item.Set("last_metric", run.last_metric);
    item.Set("last_step", run.last_step);
    item.Set("drift", Optional(run.drift));
    item.Set("last_validation_loss", run.last_validation_loss);
    item.Set("final_train_loss", Optional(run.final_train_loss));
    item.Set("gap", Optional(run.gap));
    runs.Append(std::move(item));
  }
  json.Set("runs", std::move(runs));
  return json;
}

}  // namespace stepslack::analyze
