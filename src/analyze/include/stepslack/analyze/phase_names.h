// The phases of a training step and the span names by which traces know them.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepslack::analyze {

enum class Phase {
  kData,  // waiting for the batch
  kForward,
  kBackward,
  kCommWait,  // the training thread blocked on communication
  kOptimizer,
  kEval,
  kCheckpoint,
  kCollective,  // a collective on the communication lane
  kOther
};
std::string_view ToString(Phase phase);  // "data", "comm_wait", ...

// Phase of an annotation: "forward", "## forward ##", "Optimizer.step#Adam.step",
// "enumerate(DataLoader)#...", "comm_wait", "eval", "checkpoint". kOther when the name
// is none of these. Case and '#' do not matter.
Phase PhaseOfSpan(std::string_view name);

// Step number of "ProfilerStep#12"; -1 for other names.
int64_t StepOfSpan(std::string_view name);

}  // namespace stepslack::analyze
