// What the metric log of a training run says, whoever wrote it: one series per metric.
// Nothing is smoothed or filled in. What follows from other values is marked as derived
// and says how; what does not fit together is a check that fails, never a correction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::logs {

// Canonical names of metrics. A metric that no table knows keeps its own name.
inline constexpr std::string_view kLoss = "loss";
inline constexpr std::string_view kLearningRate = "learning_rate";
inline constexpr std::string_view kGradNorm = "grad_norm";
inline constexpr std::string_view kBatch = "global_batch_size";         // samples
inline constexpr std::string_view kSamples = "consumed_samples";        // samples
inline constexpr std::string_view kTokens = "consumed_tokens";          // tokens
inline constexpr std::string_view kSequenceLength = "sequence_length";  // tokens
inline constexpr std::string_view kSamplesPerSecond =
    "samples_per_second";                                                  // whole job
inline constexpr std::string_view kTokensPerSecond = "tokens_per_second";  // whole job
inline constexpr std::string_view kTokensPerSecondPerDevice =
    "tokens_per_second_per_device";
inline constexpr std::string_view kStepSeconds = "step_seconds";
inline constexpr std::string_view kTflops =
    "tflops";  // 1e12 operations/s of one device
inline constexpr std::string_view kMemoryBytes = "memory_bytes";
inline constexpr std::string_view kPeakMemoryBytes = "peak_memory_bytes";
inline constexpr std::string_view kEvalLoss = "eval_loss";
inline constexpr std::string_view kEvalAccuracy = "eval_accuracy";
inline constexpr std::string_view kEpoch = "epoch";

struct Point {
  int64_t step = 0;
  std::optional<int64_t> samples;  // consumed by the job up to this step
  std::optional<int64_t> time_ns;  // see RunMeta::clock
  double value = 0;                // may be NaN or infinite: then the log says so
  int32_t segment = 0;  // grows where the steps of this metric go back (a restart)
};

struct Series {
  std::string metric;         // canonical, or `original` when no table knows it
  std::string original;       // as the log writes it
  bool known = false;         // `metric` is canonical
  std::string unit;           // "s", "bytes", "samples/s", ...; "" without or unknown
  std::vector<Point> points;  // in the order of the log
  bool derived = false;
  std::string how;          // of a derived series
  std::string step_source;  // "" when logged, else how steps were counted
  std::string samples_how;  // of derived Point::samples
};

// A relation that must hold between logged values.
struct Check {
  std::string name;     // "samples_per_second"
  std::string formula;  // "global_batch_size / step_seconds = samples_per_second"
  int64_t compared = 0;
  int64_t agreed = 0;
  double tolerance = 0;  // relative
  // Of the worst disagreement, or of the worst agreement when all agree.
  int64_t worst_step = 0;
  double expected = 0;
  double found = 0;
  bool Passed() const { return compared == agreed; }
};

// What the time stamps are.
enum class Clock : uint8_t {
  kNone,
  kUtc,        // ns since 1970
  kLocal,      // no zone in the log: taken as UTC, so only differences mean anything
  kMonotonic,  // ns of a clock with an unknown zero
  kRelative    // ns since the run began
};
std::string_view ToString(Clock clock);

struct RunMeta {
  std::string name;       // of the input
  std::string format;     // "text_log", "tfevents", ...
  std::string framework;  // "megatron", "megatron+deepspeed", ...; "" unknown
  Clock clock = Clock::kNone;
  std::optional<int64_t> global_batch_size;
  std::optional<int64_t> world_size;
  std::optional<int64_t> sequence_length;
  std::optional<int64_t> planned_steps;
  int64_t segments = 1;                      // most that a series has
  std::map<std::string, std::string> facts;  // "benchmark": "resnet"
  // Member or fact -> how, for those that the log does not say itself.
  std::map<std::string, std::string> derived;
};

struct SeriesSet {
  RunMeta run;
  std::vector<Series> series;  // logged in the order of first sight, then derived
  std::vector<Check> checks;
  std::vector<std::string> notes;  // sentences for people
  trace::ImportStats stats;

  // First logged, else derived, series of that canonical or own name; null when absent.
  const Series* Find(std::string_view metric) const;
};

// {"schema": "stepslack.series/1", "run", "series": [{"metric", "points": {"step": [],
// "value": [], ...}}], "checks", "notes", "import"}. NaN and infinities are the strings
// "nan", "inf", "-inf".
base::Json ToJson(const SeriesSet& set);

}  // namespace stepslack::logs
