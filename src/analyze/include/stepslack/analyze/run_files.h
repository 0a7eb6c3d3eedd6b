// From paths to outcomes: training logs (files, folders, archives) and the system
// descriptions among or beside them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/run_outcome.h"
#include "stepslack/analyze/system_description.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/mllog.h"

namespace stepslack::analyze {

struct RunFileOptions {
  int64_t max_log_bytes = int64_t{1} << 30;  // inflated, of one log
  // Also descriptions in the folder of an input and in "systems" in it or up to four
  // folders above (the layout of published results).
  bool look_beside = true;
  // Logs that the caller has parsed already, by the name of the input: not parsed
  // again. What they point to outlives the call.
  std::map<std::string, const trace::MllogRun*> parsed;
};

struct SkippedInput {
  std::string name;
  std::string reason;
};

struct RunFiles {
  std::vector<RunOutcome> runs;  // in the order of the inputs
  std::vector<SystemDescription> systems;
  // Neither log nor description, not readable, or the same bytes as an earlier log.
  std::vector<SkippedInput> skipped;
};

// World size of a run: what its own log says (":::SYSJSON"), else the description that
// MatchSystem finds, else absent with a reason. Formats are told by content.
// Errors: ANL-0184 (no training log in the inputs); TRACE-0005, TRACE-0006 of
// trace::ExpandPaths. One input that can not be read is skipped, not fatal.
base::Result<RunFiles> ReadRunFiles(std::span<const std::string> paths,
                                    const RunFileOptions& options = {});

}  // namespace stepslack::analyze
