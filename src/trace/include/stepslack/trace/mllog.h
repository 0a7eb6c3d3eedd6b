// Reads the `:::MLLOG {...}` lines of MLPerf training logs (mlcommons/logging, mllog)
// out of whatever else the processes printed: any prefix before the marker, several
// markers in one line, every process repeating the lines of the start-up.
//
// An event is its key and time; `event_type` is not trusted (some logs call init_start
// an INTERVAL_END). "<kind>_start" opens an interval and "<kind>_stop" closes it, in
// order of time. Milliseconds in decimal text become int64 ns without a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

enum class MllogKind : uint8_t { kInit, kRun, kEpoch, kBlock, kEval };
std::string_view ToString(MllogKind kind);  // "init", ...

// Where training stood, as the log says it. `epoch` (epoch_num or first_epoch_num) is a
// count of samples or tokens in some benchmarks (bert, gpt3).
struct MllogPosition {
  std::optional<double> epoch;
  std::optional<int64_t> samples;  // samples_count

  friend bool operator==(const MllogPosition&, const MllogPosition&) = default;
};

struct MllogInterval {
  MllogKind kind = MllogKind::kRun;
  int64_t start_ns = 0;  // since 1970
  int64_t end_ns = 0;
  bool ended =
      true;  // false: the log has no end; end_ns is the next start or last line
  MllogPosition at_start;
  MllogPosition at_end;
  std::string status;  // of the run: "success", "aborted"; empty when not said
};

struct MllogPoint {
  int64_t time_ns = 0;
  double value = 0;    // finite
  std::string metric;  // "FID", "CLIP"; empty when the benchmark has one only
  MllogPosition at;
};

struct MllogRun {
  std::string benchmark;  // submission_*; empty when not said
  std::string submitter;
  std::string platform;
  std::optional<int64_t> seed;
  std::optional<int64_t> global_batch_size;
  std::optional<int64_t> train_samples;
  std::optional<int64_t> eval_samples;

  std::vector<MllogInterval> intervals;   // by start, then kind
  std::vector<MllogPoint> eval_accuracy;  // by time
  std::vector<MllogPoint> throughput;  // as logged; not comparable between benchmarks

  // Totals of the first run, absent with a reason when the log does not say.
  std::optional<int64_t> init_ns;   // first init_start to run_start (else to init_stop)
  std::optional<int64_t> run_ns;    // run_start to run_stop
  std::optional<int64_t> eval_ns;   // union of eval intervals inside the run
  std::optional<int64_t> train_ns;  // run_ns - eval_ns
  std::string no_init;
  std::string no_run;
  std::string no_eval;
  int64_t eval_after_run_ns = 0;  // evaluation of checkpoints afterwards
  std::string status;             // of the first run: "success", "aborted" or ""

  int64_t lines = 0;  // with the marker, good or not
  ImportStats stats;
};

struct MllogOptions {
  int64_t max_bytes = int64_t{4} << 30;  // of the inflated text
};

bool LooksLikeMllog(std::string_view text);

// Counted: broken lines, repeated lines (same text), lines of other processes (the same
// start, stop or accuracy again), intervals without an end, ends without a start,
// values that are no number, further runs. Errors: TRACE-0143 (no usable line); from
// the file also TRACE-0003, TRACE-0002 (larger than max_bytes).
base::Result<MllogRun> ParseMllog(std::string_view text, std::string_view name);
base::Result<MllogRun> ReadMllog(const std::string& path,
                                 const MllogOptions& options = {});

// Keys benchmark, status, init_s, run_s, eval_s, train_s (null with <key>_reason),
// eval_accuracy, throughput, intervals (counts and seconds by kind), stats.
base::Json ToJson(const MllogRun& run);

}  // namespace stepslack::trace
