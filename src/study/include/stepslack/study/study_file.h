// What `stepslack study` is asked to do: a study.toml, read to a plan of runs that
// differ on purpose. docs/study.md describes every key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::study {

// Values by name: placeholders of a command ("lr"), or keys of a run.toml
// ("train.learning_rate").
using Settings = std::map<std::string, base::Json>;

enum class StudyKind {
  kScale,  // the same work on 1, 2, 4 ... workers
  kSeeds,  // one configuration, many seeds
  kSweep,  // search for the best configuration
  kArms    // named configurations against the first: A/B, augmentation, a swapped tag
};
std::string_view ToString(StudyKind kind);  // "scale", "seeds", "sweep", "arms"

enum class ScalingRule { kStrong, kWeak };

struct StudyArm {
  std::string name;
  Settings values;
  int ranks = 1;
};

// One searched value.
struct SearchDimension {
  enum class Scale { kList, kLinear, kLog };
  std::string key;
  Scale scale = Scale::kList;
  std::vector<base::Json> values;  // of a list
  double low = 0;
  double high = 0;
  bool whole = false;  // whole numbers only
  int grid = 3;        // points of a grid over [low, high]
};

enum class SearchMethod { kGrid, kRandom, kBayes, kAsha, kHyperband };
std::string_view ToString(SearchMethod method);

struct StudySearch {
  SearchMethod method = SearchMethod::kGrid;
  std::vector<SearchDimension> space;
  int trials = 16;    // configurations; a grid has its own number
  uint64_t seed = 1;  // of the search, not of the training
  int batch = 1;      // decisions are made after this many results
  // ASHA and Hyperband: the key that says how long a trial may train.
  std::string resource;
  int64_t least_resource = 1;
  int64_t most_resource = 1;
  int64_t eta = 3;
  int fresh_seeds = 3;  // the winner and the baseline are run again with these
};

struct StudyObjective {
  std::string metric;  // canonical or own name in the log
  bool maximise = false;
  std::optional<double> target;
  bool last = false;    // the last value counts instead of the best
  std::string log;      // template of the log's path; empty: what the command prints
  std::string pattern;  // regular expression with one group, instead of a log format
};

struct StudySlurm {
  std::vector<std::string> options;  // of sbatch: "--partition=debug"
  double poll_seconds = 5;
};

struct StudyFile {
  std::string file;
  std::string title;
  StudyKind kind = StudyKind::kSeeds;

  // One of the two. A command has placeholders {ranks}, {seed}, {batch}, {out}, {log},
  // {previous} and those of the values.
  std::string train;  // run.toml
  std::string command;
  std::string train_sha256;  // of that file's bytes: part of what a trial is
  bool slurm = false;
  StudySlurm slurm_settings;
  double timeout_seconds = 3600;  // of one trial
  Settings values;                // of every arm

  StudyObjective objective;
  std::vector<uint64_t> seeds;  // one run of every arm for each
  std::vector<StudyArm> arms;   // in the order of the file; a sweep has its baseline
  ScalingRule rule = ScalingRule::kStrong;
  int64_t batch = 0;  // global (strong) or per worker (weak); 0: not said
  StudySearch search;

  bool check_reproducibility = true;  // the same seed twice, before anything else
  bool require_bit_equal = false;     // else within the tolerance
  double tolerance = 0.02;            // relative, of a baseline that is run again
  std::optional<double> expected;     // what the baseline is known to give
  double margin = 0.02;  // smallest relative change that matters between arms
};

// Paths in the file are relative to its folder. Errors: CONF-0001..4 with line.
base::Result<StudyFile> ReadStudyFile(const std::string& path);
base::Result<StudyFile> ParseStudyFile(std::string_view text, const std::string& path);

}  // namespace stepslack::study
