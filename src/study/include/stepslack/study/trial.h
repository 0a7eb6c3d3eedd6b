// One run of a study: what it is, and how it ended. A trial is known by the digest of
// what it is, so that no run is made twice, in this study or in the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/study/study_file.h"

namespace stepslack::study {

struct Trial {
  std::string arm;      // "baseline", "2 workers", "trial 7"
  std::string purpose;  // "main", "check", "search", "fresh seed"
  Settings values;
  int ranks = 1;
  uint64_t seed = 1;
  int64_t batch = 0;     // {batch}; 0: not given
  int repeat = 0;        // tells apart equal runs that are made on purpose
  std::string previous;  // id of the trial whose output {previous} names; may be empty
};

enum class TrialStatus {
  kDone,
  kFailed,    // ended with an error or by a signal
  kTimeout,   // was ended by us after the time that it was given
  kNoMetric,  // ended well, but its log does not have the metric
  kLost       // the scheduler does not know it any more and it left no result
};
std::string_view ToString(TrialStatus status);  // "done", "failed", "timeout", ...

struct TrialPoint {
  int64_t step = 0;
  double value = 0;
};

struct TrialResult {
  std::string id;
  Trial trial;
  TrialStatus status = TrialStatus::kFailed;
  std::string reason;  // of every status but kDone
  int exit_code = 0;
  std::optional<double> objective;  // best or last value of the metric
  std::optional<int64_t> objective_step;
  std::optional<double> seconds_to_target;  // by the log's clock, from its first point
  std::optional<int64_t> samples_to_target;
  bool target_reached = false;
  int64_t points = 0;                        // of the metric
  std::string series_digest;                 // of every logged number but times
  std::optional<double> samples_per_second;  // median over the log
  double wall_seconds = 0;
  std::string folder;   // where log and output lie
  bool cached = false;  // not run now
};

// First 16 digits of a SHA-256 over everything that decides what runs: command or
// run.toml, values, ranks, seed, batch, repeat, {previous}. Not the objective: another
// reading of the same runs needs no new runs.
std::string TrialId(const StudyFile& study, const Trial& trial);

base::Json ToJson(const Settings& settings);   // an object, keys sorted
base::Json ToJson(const TrialResult& result);  // "stepslack.trial/1"
// Absent when the JSON is not of that schema.
std::optional<TrialResult> ParseTrialResult(const base::Json& json);

}  // namespace stepslack::study
