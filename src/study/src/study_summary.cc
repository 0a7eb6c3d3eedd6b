#include "study_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepslack/base/text.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::study {
namespace {

using base::Estimate;

using Pick = std::optional<double> (*)(const TrialResult&);

std::vector<double> Values(const std::vector<const TrialResult*>& results, Pick pick) {
  std::vector<double> values;
  for (const TrialResult* result : results) {
    if (const auto value = pick(*result)) values.push_back(*value);
  }
  return values;
}

std::optional<double> Objective(const TrialResult& result) { return result.objective; }
std::optional<double> TargetSeconds(const TrialResult& result) {
  return result.seconds_to_target;
}
std::optional<double> Wall(const TrialResult& result) {
  return result.status == TrialStatus::kDone ? std::optional(result.wall_seconds)
                                             : std::nullopt;
}
std::optional<double> Rate(const TrialResult& result) {
  return result.samples_per_second;
}
// Samples a second and worker: of the way to the target, else as the log says.
std::optional<double> RatePerWorker(const TrialResult& result) {
  if (result.samples_to_target && result.seconds_to_target.value_or(0) > 0) {
    return static_cast<double>(*result.samples_to_target) /
           (*result.seconds_to_target * result.trial.ranks);
  }
  if (!result.samples_per_second) return std::nullopt;
  return *result.samples_per_second / result.trial.ranks;
}
std::optional<double> WorkerSeconds(const TrialResult& result) {
  const auto seconds =
      result.seconds_to_target ? result.seconds_to_target : Wall(result);
  if (!seconds) return std::nullopt;
  return *seconds * result.trial.ranks;
}
std::optional<double> TargetSamples(const TrialResult& result) {
  if (!result.samples_to_target) return std::nullopt;
  return static_cast<double>(*result.samples_to_target);
}

struct Pairs {
  std::vector<double> a, b;
  std::vector<std::string> labels;
};

// Values of two arms under the same seed.
Pairs PairUp(const std::vector<const TrialResult*>& a,
             const std::vector<const TrialResult*>& b, Pick pick) {
  Pairs pairs;
  for (const TrialResult* left : a) {
    for (const TrialResult* right : b) {
      if (left->trial.seed != right->trial.seed) continue;
      const auto x = pick(*left), y = pick(*right);
      if (!x || !y || !std::isfinite(*x) || !std::isfinite(*y)) continue;
      pairs.a.push_back(*x);
      pairs.b.push_back(*y);
      pairs.labels.push_back(fmt::format("seed {}", left->trial.seed));
    }
  }
  return pairs;
}

Estimate PairedRatio(const std::vector<const TrialResult*>& over,
                     const std::vector<const TrialResult*>& under, Pick pick) {
  const Pairs pairs = PairUp(over, under, pick);
  return stats::PairedLogRatioInterval(pairs.a, pairs.b, "seeds");
}

std::optional<analyze::Effect> EffectOf(const StudyFile& study, const std::string& name,
                                        const std::vector<const TrialResult*>& on,
                                        const std::vector<const TrialResult*>& off) {
  const Pairs pairs = PairUp(on, off, Objective);
  if (pairs.a.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : pairs.b) sum += value;
  const double mean = sum / static_cast<double>(pairs.b.size());
  auto effect = analyze::ComputeEffect({.option = name,
                                        .metric = study.objective.metric,
                                        .unit = "1",
                                        .better = study.objective.maximise
                                                      ? base::Direction::kAtLeast
                                                      : base::Direction::kAtMost,
                                        .labels = pairs.labels,
                                        .on = pairs.a,
                                        .off = pairs.b,
                                        .margin = study.margin * std::abs(mean)});
  return effect ? std::optional(std::move(*effect)) : std::nullopt;
}

std::vector<const TrialResult*> Pointers(const std::vector<TrialResult>& results) {
  std::vector<const TrialResult*> pointers;
  for (const TrialResult& result : results) pointers.push_back(&result);
  return pointers;
}

ArmSummary Summarise(const StudyFile& study, const StudyArm& arm,
                     const std::vector<const TrialResult*>& runs) {
  ArmSummary summary{.arm = arm, .runs = static_cast<int64_t>(runs.size())};
  int64_t reached = 0;
  for (const TrialResult* run : runs) {
    summary.done += run->status == TrialStatus::kDone ? 1 : 0;
    reached += run->target_reached ? 1 : 0;
  }
  summary.objective = stats::MeanInterval(Values(runs, Objective), "1", "seeds");
  summary.seconds_to_target =
      stats::GeometricMeanInterval(Values(runs, TargetSeconds), "s", "seeds");
  if (study.objective.target) {
    summary.success_share =
        stats::ClopperPearsonInterval(reached, summary.runs, "runs");
  }
  summary.wall_seconds = stats::GeometricMeanInterval(Values(runs, Wall), "s", "seeds");
  summary.samples_per_second =
      stats::GeometricMeanInterval(Values(runs, Rate), "samples/s", "seeds");
  return summary;
}

std::map<std::string, std::string> Texts(const Settings& values) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : values) {
    texts[key] = value.is_string() ? value.AsString() : value.Dump(-1);
  }
  return texts;
}

analyze::Trial RowOf(const ScoredStep& scored) {
  analyze::Trial row;
  row.id = fmt::format("trial {}", scored.step.config + 1);
  row.parameters = Texts(scored.step.values);
  for (const TrialResult& result : scored.results) {
    row.seconds += result.wall_seconds;
    if (result.objective && row.failure.empty()) {
      row.values.push_back(*result.objective);
    } else if (!result.objective && row.failure.empty()) {
      row.failure = fmt::format("{}: {}", ToString(result.status), result.reason);
      row.values.clear();
    }
  }
  return row;
}

}  // namespace

std::vector<ArmSummary> SummariseArms(const StudyFile& study,
                                      const std::vector<TrialResult>& results) {
  std::map<std::string, std::vector<const TrialResult*>> by_arm;
  for (const TrialResult& result : results) by_arm[result.trial.arm].push_back(&result);
  const StudyArm* base = &study.arms.front();
  if (study.kind == StudyKind::kScale) {
    base = &*std::ranges::min_element(study.arms, {}, &StudyArm::ranks);
  }
  const auto& baseline = by_arm[base->name];
  const bool timed = study.objective.target || study.rule == ScalingRule::kStrong;
  std::vector<ArmSummary> summaries;
  for (const StudyArm& arm : study.arms) {
    const auto& runs = by_arm[arm.name];
    ArmSummary summary = Summarise(study, arm, runs);
    if (study.kind == StudyKind::kScale) {
      if (timed) summary.efficiency = PairedRatio(baseline, runs, WorkerSeconds);
      summary.hardware = PairedRatio(runs, baseline, RatePerWorker);
      summary.statistical = PairedRatio(baseline, runs, TargetSamples);
    } else if (&arm != base) {
      summary.effect = EffectOf(study, arm.name, runs, baseline);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

const ScoredStep* BestStep(const StudyFile& study,
                           const std::vector<ScoredStep>& steps) {
  const auto length = [&](const ScoredStep& scored) {
    const auto found = scored.step.values.find(study.search.resource);
    return found != scored.step.values.end() ? found->second.AsInt() : 0;
  };
  const ScoredStep* best = nullptr;
  for (const ScoredStep& scored : steps) {
    if (std::isnan(scored.score)) continue;
    const bool longer = best == nullptr || length(scored) > length(*best);
    const bool better = !longer && length(scored) == length(*best) &&
                        (study.objective.maximise ? scored.score > best->score
                                                  : scored.score < best->score);
    if (longer || better) best = &scored;
  }
  return best;
}

SearchSummary SummariseSearch(const StudyFile& study,
                              const std::vector<ScoredStep>& steps,
                              const ScoredStep* best,
                              const std::vector<TrialResult>& winners,
                              const std::vector<TrialResult>& baselines) {
  SearchSummary summary;
  std::vector<analyze::Trial> rows;
  std::map<int64_t, bool> configs;
  for (const ScoredStep& scored : steps) {
    rows.push_back(RowOf(scored));
    configs[scored.step.config] = true;
  }
  summary.configurations = static_cast<int64_t>(configs.size());
  const auto better =
      study.objective.maximise ? base::Direction::kAtLeast : base::Direction::kAtMost;
  summary.table =
      analyze::TabulateTrials(std::move(rows), study.objective.metric, "1", better);
  if (best == nullptr) return summary;
  summary.best = fmt::format("trial {}", best->step.config + 1);
  summary.values = best->step.values;
  summary.best_score = best->score;
  const auto fresh = Pointers(winners), baseline = Pointers(baselines);
  summary.fresh = stats::MeanInterval(Values(fresh, Objective), "1", "fresh seeds");
  summary.baseline =
      stats::MeanInterval(Values(baseline, Objective), "1", "fresh seeds");
  if (summary.fresh.value) {
    const double gap = *summary.fresh.value - best->score;
    summary.optimism = study.objective.maximise ? -gap : gap;
  }
  summary.effect = EffectOf(study, summary.best, fresh, baseline);
  return summary;
}

std::string VerdictOf(const StudyReport& report) {
  const std::string& metric = report.study.objective.metric;
  if (report.refused) {
    return "refused: the baseline does not reproduce, so a search would tune noise";
  }
  if (report.search) {
    const SearchSummary& search = *report.search;
    if (search.best.empty()) return "no configuration gave a result";
    std::string text = fmt::format("{} is best in the search ({} {})", search.best,
                                   metric, base::Human(search.best_score));
    if (search.effect) {
      text +=
          fmt::format("; on fresh seeds against the baseline: {} ({})",
                      analyze::ToString(search.effect->verdict), search.effect->reason);
    }
    return text;
  }
  std::string text;
  for (const ArmSummary& summary : report.arms) {
    std::string part;
    if (summary.effect) {
      part = fmt::format("{}: {} ({})", summary.arm.name,
                         analyze::ToString(summary.effect->verdict),
                         summary.effect->reason);
    } else if (report.study.kind == StudyKind::kScale && summary.efficiency.value) {
      part =
          fmt::format("{}: E {}", summary.arm.name, base::Describe(summary.efficiency));
    } else if (report.study.kind == StudyKind::kScale && summary.hardware.value) {
      part =
          fmt::format("{}: Eh {}", summary.arm.name, base::Describe(summary.hardware));
    } else if (report.study.kind == StudyKind::kSeeds && summary.objective.value) {
      part = fmt::format("{} {}", metric, base::Describe(summary.objective));
    }
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text.empty() ? "nothing to compare: no arm has a result" : text;
}

}  // namespace stepslack::study
