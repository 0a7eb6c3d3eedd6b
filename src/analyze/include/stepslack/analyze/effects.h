// What an option does, paired over seeds, and the table of a hyperparameter search.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"

namespace stepslack::analyze {

enum class EffectVerdict { kImproved, kRegressed, kNoChange, kInconclusive };
std::string_view ToString(EffectVerdict verdict);  // "no change"

// One pair per seed; `on` and `off` are equally long and differ in the option only.
struct EffectInput {
  std::string option;  // "augmentation"
  std::string metric;  // "relative MAE on unseen families"
  std::string unit = "1";
  base::Direction better = base::Direction::kAtMost;  // kAtMost: lower is better
  std::vector<std::string> labels;                    // "seed 1"
  std::vector<double> on;
  std::vector<double> off;
  double margin = 0;  // smallest difference that matters, in the metric's unit
};

struct Effect {
  EffectInput input;
  base::Estimate difference;  // on - off, paired t interval
  base::Estimate ratio;       // on / off, when all values are positive
  std::optional<double> p;    // sign-flip permutation test
  bool p_exact = false;
  double smallest_p = 1;  // that so few pairs can give
  EffectVerdict verdict = EffectVerdict::kInconclusive;
  std::string reason;
  // Pairs in all to see a difference of the margin (without one: of the size observed)
  // with power 0.8 at 5 %.
  std::optional<int64_t> pairs_needed;
};

// no change: the interval lies within +-margin; improved or regressed: it lies on one
// side of zero (and not within the margin); else inconclusive. ANL-0003: the two sides
// are not equally long; ANL-0004: a value is not finite.
base::Result<Effect> ComputeEffect(const EffectInput& input, double confidence = 0.95);

struct Trial {
  std::string id;
  std::map<std::string, std::string> parameters;  // "learning_rate" -> "0.003"
  std::vector<double>
      values;  // validation metric, one per seed; empty: the trial failed
  double seconds = 0;
  std::string failure;
};

struct TrialRow {
  Trial trial;
  base::Estimate metric;  // mean over seeds
  bool finished = false;
  double behind_best = 0;            // signed in the metric's unit; 0 for the best
  std::optional<bool> within_noise;  // not separable from the best, given seed noise
};

struct TrialTable {
  std::string metric;
  std::string unit;
  base::Direction better = base::Direction::kAtMost;
  std::vector<TrialRow> rows;  // best first; failed trials last, by id
  int64_t finished = 0;
  std::optional<double> spread;           // worst - best of the finished, absolute
  std::optional<double> relative_spread;  // over |best|
  std::string caution;
};

// `seed_deviation`: standard deviation of the metric between seeds at one setting, when
// known; two trials differ by noise when they are within 2 sqrt(1/n_a + 1/n_b) of it.
TrialTable TabulateTrials(std::vector<Trial> trials, std::string metric,
                          std::string unit, base::Direction better,
                          std::optional<double> seed_deviation = {});

base::Json ToJson(const Effect& effect);     // "stepslack.effect/1"
base::Json ToJson(const TrialTable& table);  // "stepslack.trials/1"

}  // namespace stepslack::analyze
