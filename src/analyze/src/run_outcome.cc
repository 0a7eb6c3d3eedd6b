#include "stepslack/analyze/run_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace stepslack::analyze {
namespace {

using trace::MllogInterval;
using trace::MllogKind;
using trace::MllogPoint;
using trace::MllogPosition;
using trace::MllogRun;

constexpr double kNsPerMinute = 60e9;
constexpr double kMostSamples = 9e15;  // doubles below are exact integers
constexpr double kImageNetImages = 1281167;
constexpr double kUnetVolumes = 168;
constexpr double kMostFid = 90;
constexpr double kLeastClip = 0.15;
constexpr std::string_view kDiffusion = "stable_diffusion";

double Minutes(int64_t ns) { return static_cast<double>(ns) / kNsPerMinute; }

void AddReason(RunOutcome& outcome, const std::string& reason) {
  if (!outcome.reason.empty()) outcome.reason += "; ";
  outcome.reason += reason;
}

// What a submitter forgot to fill in says nothing.
std::string Said(const std::string& text) {
  return text.find("PLACEHOLDER") == std::string::npos ? text : "";
}

std::optional<int64_t> WholeSamples(std::optional<double> samples) {
  if (!samples || !(*samples > 0) || *samples > kMostSamples) return std::nullopt;
  return std::llround(*samples);
}

std::optional<int64_t> SamplesAt(const MllogRun& run, const MllogPosition& at) {
  if (at.samples) return WholeSamples(static_cast<double>(*at.samples));
  if (!at.epoch) return std::nullopt;
  std::optional<double> per_epoch;
  if (run.train_samples) per_epoch = static_cast<double>(*run.train_samples);
  if (run.benchmark == "gpt3") per_epoch = 1;
  if (run.benchmark == "bert") {
    if (*at.epoch > 1) per_epoch = 1;  // else an epoch that never advances
  }
  if (run.benchmark == "resnet") per_epoch = kImageNetImages;
  if (run.benchmark == "unet3d" && !per_epoch) per_epoch = kUnetVolumes;
  if (!per_epoch) return std::nullopt;
  return WholeSamples(*at.epoch * *per_epoch);
}

const MllogInterval* RunInterval(const MllogRun& run, size_t skip) {
  for (const MllogInterval& interval : run.intervals) {
    if (interval.kind != MllogKind::kRun) continue;
    if (skip-- == 0) return &interval;
  }
  return nullptr;
}

// Evaluations of the first run; those of checkpoints may come after its end.
std::vector<MllogPoint> Evaluations(const MllogRun& run) {
  const MllogInterval* first = RunInterval(run, 0);
  const MllogInterval* second = RunInterval(run, 1);
  std::vector<MllogPoint> points;
  for (const MllogPoint& point : run.eval_accuracy) {
    if (first != nullptr && point.time_ns < first->start_ns) continue;
    if (second != nullptr && point.time_ns >= second->start_ns) break;
    points.push_back(point);
  }
  return points;
}

// Positions of the evaluations, ascending, up to the one that counts.
std::vector<int64_t> EvaluatedAt(const MllogRun& run,
                                 std::span<const MllogPoint> points) {
  struct Passed {
    bool fid = false;
    bool clip = false;
  };
  std::map<int64_t, Passed> by_position;
  for (const MllogPoint& point : points) {
    const std::optional<int64_t> samples = SamplesAt(run, point.at);
    if (!samples) continue;
    Passed& passed = by_position[*samples];
    if (point.metric == "FID") passed.fid = point.value <= kMostFid;
    if (point.metric == "CLIP") passed.clip = point.value >= kLeastClip;
  }
  std::vector<int64_t> positions;
  for (const auto& [samples, passed] : by_position) {
    positions.push_back(samples);
    if (run.benchmark == kDiffusion && passed.fid && passed.clip) return positions;
  }
  if (run.benchmark == kDiffusion) positions.clear();  // none passed
  return positions;
}

void SetSamples(const MllogRun& run, std::span<const MllogPoint> points,
                RunOutcome& outcome) {
  const bool tokens =
      run.benchmark == "gpt3" && !points.empty() && !points.back().at.samples;
  outcome.unit = tokens ? "tokens" : "samples";
  const std::vector<int64_t> positions = EvaluatedAt(run, points);
  if (positions.empty()) {
    const std::string what = points.empty() ? "the log has no evaluation"
                             : run.benchmark == kDiffusion
                                 ? "no checkpoint has FID <= 90 and CLIP >= 0.15"
                                 : "the evaluations do not say after how many samples";
    AddReason(outcome, "samples are not known: " + what);
    return;
  }
  outcome.samples_to_target = positions.back();
  const bool grid_known = run.benchmark != "bert" || points.back().at.samples ||
                          points.back().at.epoch.value_or(0) > 1;
  if (!grid_known) return;
  outcome.eval_grid_width =
      positions.back() - (positions.size() > 1 ? positions[positions.size() - 2] : 0);
}

// "its last evaluation, 0.7204, meets the target of at least 0.72".
std::string AgainstTarget(const RunOutcome& outcome) {
  if (!outcome.final_quality) return "it has no evaluation";
  const double quality = *outcome.final_quality;
  const std::optional<QualityTarget> target = TargetOf(outcome.benchmark);
  if (!target) return fmt::format("its last evaluation is {:.6g}", quality);
  const bool met =
      target->at_most ? quality <= target->bound : quality >= target->bound;
  return fmt::format("its last evaluation, {:.6g}, {} the target of at {} {:g}",
                     quality, met ? "meets" : "misses",
                     target->at_most ? "most" : "least", target->bound);
}

void SetStatus(const MllogRun& run, RunOutcome& outcome) {
  const MllogInterval* interval = RunInterval(run, 0);
  if (interval == nullptr || !interval->ended) {
    outcome.status = RunStatus::kTruncated;
    if (interval != nullptr) {
      outcome.watched_min = Minutes(interval->end_ns - interval->start_ns);
    }
    AddReason(outcome,
              fmt::format("truncated: {}; {}", run.no_run, AgainstTarget(outcome)));
    return;
  }
  outcome.ttt_min = Minutes(interval->end_ns - interval->start_ns);
  outcome.watched_min = outcome.ttt_min;
  if (interval->status == "success") {
    outcome.status = RunStatus::kSuccess;
    return;
  }
  outcome.status = RunStatus::kAborted;
  const std::string said = interval->status.empty()
                               ? "run_stop has no status"
                               : "run_stop has status " + interval->status;
  AddReason(outcome, fmt::format("aborted after {:.4g} min: {}; {}", *outcome.ttt_min,
                                 said, AgainstTarget(outcome)));
}

void SetEvalShare(const MllogRun& run, RunOutcome& outcome) {
  if (run.benchmark == kDiffusion) {
    AddReason(outcome, "no evaluation share: checkpoints are evaluated offline");
  } else if (run.eval_ns && run.run_ns && *run.run_ns > 0) {
    outcome.eval_share =
        static_cast<double>(*run.eval_ns) / static_cast<double>(*run.run_ns);
  } else if (outcome.ttt_min) {
    AddReason(outcome, "no evaluation share: " + run.no_eval);
  }
}

std::string SystemOfPath(std::string_view source, const MllogRun& run) {
  const std::vector<std::string_view> parts = PathParts(source);
  for (size_t i = parts.size(); i-- > 1;) {
    if (!run.benchmark.empty() && parts[i] == run.benchmark) {
      return std::string(parts[i - 1]);
    }
  }
  return Said(run.platform);
}

}  // namespace

std::string_view ToString(RunStatus status) {
  static constexpr std::array<std::string_view, 3> kNames = {"success", "aborted",
                                                             "truncated"};
  return kNames[static_cast<size_t>(status)];
}

std::optional<QualityTarget> TargetOf(std::string_view benchmark) {
  if (benchmark == "resnet") return QualityTarget{0.759, false};
  if (benchmark == "bert") return QualityTarget{0.72, false};
  if (benchmark == "unet3d") return QualityTarget{0.908, false};
  if (benchmark == "llama2_70b_lora") return QualityTarget{0.925, true};
  if (benchmark == "gpt3") return QualityTarget{2.69, true};
  return std::nullopt;
}

RunOutcome OutcomeOf(const trace::MllogRun& run, std::string_view source,
                     std::optional<int64_t> world_size) {
  RunOutcome outcome;
  outcome.source = source;
  outcome.format = "mllog";
  outcome.benchmark = run.benchmark;
  outcome.submitter = Said(run.submitter);
  outcome.system = SystemOfPath(source, run);
  outcome.global_batch = run.global_batch_size;
  outcome.seed = run.seed;
  if (world_size && *world_size > 0) {
    outcome.world_size = world_size;
  } else {
    outcome.world_size_reason = "the log does not say how many accelerators it used";
  }
  const std::vector<MllogPoint> points = Evaluations(run);
  if (!points.empty()) outcome.final_quality = points.back().value;
  SetStatus(run, outcome);
  SetSamples(run, points, outcome);
  SetEvalShare(run, outcome);
  if (run.init_ns) {
    outcome.init_min = Minutes(*run.init_ns);
  } else {
    AddReason(outcome, "no start-up time: " + run.no_init);
  }
  if (!outcome.global_batch) AddReason(outcome, "the log has no global_batch_size");
  return outcome;
}

void ApplySystem(const SystemDescription& system, RunOutcome& outcome) {
  outcome.world_size = system.world_size();
  outcome.world_size_reason.clear();
  if (!system.name.empty()) outcome.system = system.name;
  if (!system.submitter.empty()) outcome.submitter = system.submitter;
}

}  // namespace stepslack::analyze
