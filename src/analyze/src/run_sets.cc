#include "stepslack/analyze/run_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "block_estimate.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

using base::Estimate;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSecondsPerMinute = 60;
// A product of (n - d) / n misses a simple fraction by some units in the last place.
constexpr double kSurvivalRounding = 1e-12;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

std::optional<double> Median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Mean without `drop` values at either end; no value when nothing, or "never", is left.
std::optional<double> Olympic(std::vector<double> values, int64_t drop) {
  const auto n = static_cast<int64_t>(values.size());
  if (drop < 0 || n <= 2 * drop) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::vector<double> kept(values.begin() + drop, values.end() - drop);
  if (!std::isfinite(kept.back())) return std::nullopt;
  return Mean(kept);
}

using SetKey = std::tuple<std::string, std::string, std::string, int64_t, int64_t>;

SetKey KeyOf(const RunOutcome& run) {
  return {run.benchmark, Lower(run.submitter), run.system, run.world_size.value_or(-1),
          run.global_batch.value_or(-1)};
}

bool IsComplete(const RunOutcome& run) { return run.global_batch && run.world_size; }

// A run of key `a`, which may lack world size or batch, can be one of the set `b`.
bool MayBelong(const SetKey& a, const SetKey& b) {
  const auto fits = [](int64_t mine, int64_t other) {
    return mine == -1 || mine == other;
  };
  return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b) &&
         std::get<2>(a) == std::get<2>(b) && fits(std::get<3>(a), std::get<3>(b)) &&
         fits(std::get<4>(a), std::get<4>(b));
}

std::map<SetKey, std::vector<size_t>> Members(const std::vector<RunOutcome>& runs) {
  std::map<SetKey, std::vector<size_t>> sets;
  std::map<SetKey, std::vector<size_t>> incomplete;
  for (size_t i = 0; i < runs.size(); ++i) {
    (IsComplete(runs[i]) ? sets : incomplete)[KeyOf(runs[i])].push_back(i);
  }
  // Those that lack the batch only come last: their home may be a set without size.
  const auto by_what_is_known = [](const auto* a, const auto* b) {
    return (std::get<4>(a->first) == -1) < (std::get<4>(b->first) == -1);
  };
  std::vector<std::pair<const SetKey, std::vector<size_t>>*> order;
  for (auto& entry : incomplete) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), by_what_is_known);
  for (const auto* entry : order) {
    std::vector<size_t>* home = nullptr;
    int homes = 0;
    for (auto& [other, list] : sets) {
      if (!MayBelong(entry->first, other)) continue;
      home = &list;
      ++homes;
    }
    if (homes != 1) home = &sets[entry->first];
    home->insert(home->end(), entry->second.begin(), entry->second.end());
    std::sort(home->begin(), home->end());
  }
  return sets;
}

std::vector<RunOutcome> Pick(const std::vector<RunOutcome>& runs,
                             const std::vector<size_t>& members) {
  std::vector<RunOutcome> picked;
  for (const size_t i : members) picked.push_back(runs[i]);
  return picked;
}

Estimate TimeToTarget(const std::vector<RunOutcome>& runs, double confidence) {
  std::vector<double> minutes;
  for (const RunOutcome& run : runs) {
    if (run.reached()) minutes.push_back(*run.ttt_min);
  }
  if (minutes.empty()) {
    return Unknown("min", "no run reached the target");
  }
  if (minutes.size() == runs.size()) {
    return stats::GeometricMeanInterval(minutes, "min", "runs", confidence);
  }
  const std::vector<stats::Duration> durations = Durations(runs, Censoring::kAtStop);
  Estimate estimate = stats::MedianTime(durations, "min", "runs", confidence);
  // The reference tables take the smallest time, not the middle of the step at 1/2.
  const auto median = KaplanMeierQuantile(stats::KaplanMeier(durations), 0.5);
  if (median && estimate.value) estimate.value = median;
  return estimate;
}

RunQuantiles Quantiles(const std::vector<RunOutcome>& runs) {
  const auto stop = stats::KaplanMeier(Durations(runs, Censoring::kAtStop));
  const auto never = stats::KaplanMeier(Durations(runs, Censoring::kNever));
  RunQuantiles quantiles;
  quantiles.q25 = KaplanMeierQuantile(never, 0.25);
  quantiles.median_censor_at_stop = KaplanMeierQuantile(stop, 0.5);
  quantiles.median_censor_at_inf = KaplanMeierQuantile(never, 0.5);
  quantiles.q75 = KaplanMeierQuantile(never, 0.75);
  return quantiles;
}

// Times and samples as the score counts them: "never" for what did not converge.
struct Ordered {
  std::vector<double> minutes;
  std::vector<double> samples;
  bool samples_known = true;
};

Ordered OrderedBy(const std::vector<RunOutcome>& runs) {
  Ordered ordered;
  for (const RunOutcome& run : runs) {
    const bool reached = run.reached();
    ordered.minutes.push_back(reached ? *run.ttt_min : kNever);
    if (reached && !run.samples_to_target) ordered.samples_known = false;
    ordered.samples.push_back(reached && run.samples_to_target
                                  ? static_cast<double>(*run.samples_to_target)
                                  : kNever);
  }
  return ordered;
}

void SetScore(const std::vector<RunOutcome>& runs, RunSet& set) {
  const Ordered ordered = OrderedBy(runs);
  set.drop_each_side = set.benchmark == "unet3d" ? 4 : 1;
  set.olympic_min = Olympic(ordered.minutes, set.drop_each_side);
  if (!set.olympic_min) {
    set.no_olympic = set.runs <= 2 * set.drop_each_side
                         ? fmt::format("{} runs; the score needs {}", set.runs,
                                       2 * set.drop_each_side + 1)
                         : fmt::format("{} runs did not converge; the score allows {}",
                                       set.runs - set.successes, set.drop_each_side);
  }
  std::vector<double> reached = ordered.minutes;
  std::erase(reached, kNever);
  if (!reached.empty()) set.mean_min = Mean(reached);
  const bool all = set.successes == set.runs;
  if (set.olympic_min) {
    set.time_basis = "olympic mean";
  } else if (all && set.mean_min) {
    set.time_basis = "mean";
  }
  if (set.time_basis.empty() || !ordered.samples_known) return;
  set.samples =
      Olympic(ordered.samples, set.olympic_min ? set.drop_each_side : int64_t{0});
  const double minutes = set.olympic_min ? *set.olympic_min : *set.mean_min;
  if (!set.samples || !(minutes > 0)) return;
  set.throughput = *set.samples / (kSecondsPerMinute * minutes);
  if (set.world_size) {
    set.throughput_per_worker = *set.throughput / static_cast<double>(*set.world_size);
  }
}

void SetMedians(const std::vector<RunOutcome>& runs, RunSet& set) {
  std::vector<double> eval;
  std::vector<double> grid;
  std::vector<double> init;
  for (const RunOutcome& run : runs) {
    if (!run.reached()) continue;
    if (run.eval_share) eval.push_back(*run.eval_share);
    if (run.init_min) init.push_back(*run.init_min);
    if (run.eval_grid_width && run.samples_to_target && *run.samples_to_target > 0) {
      grid.push_back(static_cast<double>(*run.eval_grid_width) /
                     static_cast<double>(*run.samples_to_target));
    }
  }
  set.eval_share = Median(std::move(eval));
  set.eval_grid_share = Median(std::move(grid));
  set.init_min = Median(std::move(init));
}

RunSet MakeSet(const std::vector<RunOutcome>& all, std::vector<size_t> members,
               double confidence) {
  const std::vector<RunOutcome> runs = Pick(all, members);
  RunSet set;
  set.benchmark = runs.front().benchmark;
  set.system = runs.front().system;
  set.submitter = runs.front().submitter;
  for (const RunOutcome& run : runs) {
    if (!set.world_size) set.world_size = run.world_size;
    if (!set.global_batch) set.global_batch = run.global_batch;
    if (set.unit.empty() && run.reached()) set.unit = run.unit;
  }
  set.members = std::move(members);
  set.runs = static_cast<int64_t>(runs.size());
  set.successes = std::count_if(runs.begin(), runs.end(),
                                [](const RunOutcome& run) { return run.reached(); });
  set.name = fmt::format("{}/{}", set.system.empty() ? "?" : set.system,
                         set.benchmark.empty() ? "?" : set.benchmark);
  set.ttt = TimeToTarget(runs, confidence);
  set.ttt.method +=
      fmt::format("; {} of {} runs reached the target", set.successes, set.runs);
  set.success_share =
      stats::ClopperPearsonInterval(set.successes, set.runs, "runs", confidence);
  set.quantiles = Quantiles(runs);
  SetScore(runs, set);
  SetMedians(runs, set);
  return set;
}

void MakeNamesUnique(std::vector<RunSet>& sets) {
  const auto repeated = [&sets] {
    std::map<std::string, int> count;
    for (const RunSet& set : sets) ++count[set.name];
    return count;
  };
  const auto extend = [&sets](const std::map<std::string, int>& count,
                              const auto& suffix) {
    for (RunSet& set : sets) {
      if (count.at(set.name) > 1) set.name += suffix(set);
    }
  };
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? fmt::format("{}", *value) : std::string("?");
  };
  extend(repeated(), [](const RunSet& set) { return ", " + set.submitter; });
  extend(repeated(), [&](const RunSet& set) {
    return fmt::format(", {} workers", number(set.world_size));
  });
  extend(repeated(), [&](const RunSet& set) {
    return fmt::format(", batch {}", number(set.global_batch));
  });
}

// (sd / mean)^2 / n of the runs that arrived; no value below two.
std::optional<double> RelativeVariance(const std::vector<RunOutcome>& all,
                                       const RunSet& set) {
  std::vector<double> minutes;
  for (const size_t i : set.members) {
    if (all[i].reached()) minutes.push_back(*all[i].ttt_min);
  }
  if (minutes.size() < 2) return std::nullopt;
  const double mean = Mean(minutes);
  if (!(mean > 0)) return std::nullopt;
  double squares = 0;
  for (const double m : minutes) squares += (m - mean) * (m - mean);
  const auto n = static_cast<double>(minutes.size());
  return squares / (n - 1) / (mean * mean) / n;
}

double TimeOf(const RunSet& set) {
  return set.olympic_min ? *set.olympic_min : *set.mean_min;
}

std::string WhyNotScaled(const RunSet& base, const RunSet& set) {
  if (set.time_basis.empty()) return "the set has no time: " + set.no_olympic;
  if (base.time_basis.empty()) return "the baseline has no time: " + base.no_olympic;
  if (set.time_basis != base.time_basis) {
    return fmt::format("its time is the {}, that of the baseline the {}",
                       set.time_basis, base.time_basis);
  }
  if (!(TimeOf(base) > 0) || !(TimeOf(set) > 0)) return "a time of zero";
  return "";
}

void Scale(const std::vector<RunOutcome>& all, const RunSet& base, bool is_base,
           RunSet& set) {
  set.baseline = base.name;
  set.no_scaling = WhyNotScaled(base, set);
  if (!set.no_scaling.empty()) return;
  const double workers =
      static_cast<double>(*set.world_size) / static_cast<double>(*base.world_size);
  set.speedup = TimeOf(base) / TimeOf(set);
  set.E = *set.speedup / workers;
  const auto here = RelativeVariance(all, set);
  const auto there = RelativeVariance(all, base);
  if (is_base) {
    set.se_log_E = 0.0;  // the ratio to itself
  } else if (here && there) {
    set.se_log_E = std::sqrt(*here + *there);
  }
  if (!set.samples || !base.samples) {
    set.no_scaling = "E is not split: samples to the target are not known";
  } else if (set.unit != base.unit) {
    set.no_scaling = "E is not split: the sets count " + set.unit + " and " + base.unit;
  } else if (set.throughput && base.throughput) {
    set.Es = *base.samples / *set.samples;
    set.Eh = *set.throughput / *base.throughput / workers;
  }
}

void ScaleAll(RunSetReport& report) {
  std::map<std::pair<std::string, std::string>, size_t> bases;
  std::vector<RunSet>& sets = report.sets;
  for (size_t i = 0; i < sets.size(); ++i) {
    if (!sets[i].world_size || *sets[i].world_size <= 0) continue;
    const auto key = std::make_pair(sets[i].benchmark, Lower(sets[i].submitter));
    const auto [it, inserted] = bases.try_emplace(key, i);
    if (inserted) continue;
    const RunSet& base = sets[it->second];
    if (std::tie(*sets[i].world_size, sets[i].name) <
        std::tie(*base.world_size, base.name)) {
      it->second = i;
    }
  }
  const std::vector<RunSet> unscaled = sets;
  for (size_t i = 0; i < sets.size(); ++i) {
    RunSet& set = sets[i];
    const auto found = bases.find({set.benchmark, Lower(set.submitter)});
    if (!set.world_size || *set.world_size <= 0 || found == bases.end()) {
      set.no_scaling = "the world size is not known";
      continue;
    }
    Scale(report.runs, unscaled[found->second], found->second == i, set);
  }
}

}  // namespace

std::optional<double> KaplanMeierQuantile(const stats::SurvivalCurve& curve,
                                          double share) {
  if (!(share > 0 && share < 1)) return std::nullopt;
  for (const stats::SurvivalStep& step : curve.steps) {
    if (step.survival <= 1 - share + kSurvivalRounding) return step.time;
  }
  return std::nullopt;
}

std::vector<stats::Duration> Durations(std::span<const RunOutcome> runs,
                                       Censoring censoring) {
  double last = 0;
  for (const RunOutcome& run : runs) {
    last = std::max(last, run.watched_min.value_or(0.0));
  }
  std::vector<stats::Duration> durations;
  for (const RunOutcome& run : runs) {
    if (run.reached()) {
      durations.push_back({*run.ttt_min, true});
    } else if (censoring == Censoring::kAtStop && run.status == RunStatus::kAborted &&
               run.watched_min) {
      durations.push_back({*run.watched_min, false});
    } else {
      durations.push_back({last, false});
    }
  }
  return durations;
}

RunSetReport GroupRuns(std::vector<RunOutcome> runs, double confidence) {
  RunSetReport report;
  report.runs = std::move(runs);
  for (auto& [key, members] : Members(report.runs)) {
    report.sets.push_back(MakeSet(report.runs, std::move(members), confidence));
  }
  MakeNamesUnique(report.sets);
  std::stable_sort(report.sets.begin(), report.sets.end(),
                   [](const RunSet& a, const RunSet& b) {
                     const auto key = [](const RunSet& set) {
                       return std::make_tuple(set.benchmark, Lower(set.submitter),
                                              set.world_size.value_or(-1), set.name);
                     };
                     return key(a) < key(b);
                   });
  ScaleAll(report);
  return report;
}

}  // namespace stepslack::analyze
