// The files by which a trial's shell and the study talk; see trial_process.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "trial_process.h"

namespace stepslack::study {

// command.sh; `directives` ("#SBATCH ...") follow its first line.
base::Status WriteScript(const TrialCommand& command,
                         const std::vector<std::string>& directives);

// The end that was noted; absent while there is none (or a damaged note).
std::optional<CommandEnd> ReadExit(const std::string& folder);
base::Status WriteExit(const std::string& folder, const CommandEnd& end);
base::Status WriteTimeout(const std::string& folder, double wall_seconds);

// What an interrupted command leaves, so that the next start begins anew.
void RemoveTraces(const std::string& folder);

}  // namespace stepslack::study
