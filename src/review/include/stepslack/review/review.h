// The main job: from review.toml to a decision with its evidence, in one room.
#pragma once

#include <optional>
#include <string>

#include "stepslack/base/context.h"
#include "stepslack/base/result.h"

namespace stepslack::review {

struct ReviewOptions {
  std::string config_file;
  std::string room;
  std::string data_folder;   // replaces [data]; empty: as configured
  std::optional<int> ranks;  // replaces [train].ranks
  std::string worker;        // path of stepslack-worker
  std::string causes;        // path of causes.toml
};

// The same review in every form that `--format` offers.
struct ReviewOutcome {
  std::string room;  // absolute path
  bool ship = false;
  bool from_cache = false;  // nothing had changed
  std::string json, text, markdown, html;
};

// Leaves review.json, report.html, memo.md, decision.md, capsule.json, capsule.txt and
// the other artifacts in the room. Everything that took long is cached there: an
// interrupted review resumes, a changed one redoes only what the change touches.
base::Result<ReviewOutcome> RunReview(const ReviewOptions& options,
                                      const base::Context& context);

}  // namespace stepslack::review
