// review.toml: what is decided, by which requirements, on which data, with what
// training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/evidence/review.h"

namespace stepslack::review {

struct DataConfig {
  std::string source;  // "embedded" or "folder"
  std::string folder;  // for "folder"; the --data flag replaces it
  uint64_t seed = 1;   // embedded: generator
  int families = 0;
  int variants = 0;
  int tile = 64;      // side of a training tile, pixels
  int stride = 0;     // between tiles; 0: tile
  int downscale = 1;  // pixels of the map per pixel of a tile
};

struct SplitConfig {
  std::string policy;  // "by_group" or "leave_one_group_out"
  std::string source;  // leave_one_group_out: whose groups are left out
  uint64_t seed = 1;
  double test_share = 0.15;
  double validation_share = 0.10;
  int min_test_groups = 10;  // fewer forbid "ship"
};

struct TrainConfig {
  int ranks = 2;
  int base_channels = 16;
  int levels = 4;
  int64_t samples = 6000;
  int64_t global_batch = 16;
  double learning_rate = 3e-3;
  double weight_decay = 1e-4;
  int64_t warmup_samples = 500;
  int64_t eval_every_samples = 1000;
  double target_relative_mae = 0.3;
  bool augment_turns = false;  // quarter turns too: only for isotropic grids
  std::vector<uint64_t> seeds;
};

struct StudyConfig {
  std::vector<double> tune_learning_rates;
  int64_t tune_samples = 0;
  int scale_repeats = 3;
  int64_t scale_steps = 24;  // measured optimizer steps a run
  int64_t scale_batch = 16;  // global batch (strong), per-rank batch (weak)
};

struct GatedRequirement {
  base::Requirement requirement;
  std::string gate;      // "ship", or "pilot": needed even for a pilot
  std::string category;  // what causes it can be explained by, see docs/causes.md
};

struct ReviewConfig {
  std::string file;  // path it was read from
  std::string text_sha256;
  evidence::Framing framing;
  std::string primary;  // id of the requirement that the capsule quotes
  bool baseline_in_production = false;
  DataConfig data;
  SplitConfig split;
  TrainConfig train;
  StudyConfig study;
  std::vector<GatedRequirement> requirements;
};

// CONF-... for syntax, unknown keys and ranges; REV-0001 for a metric that is not
// known.
base::Result<ReviewConfig> LoadReviewConfig(const std::string& path);

}  // namespace stepslack::review
