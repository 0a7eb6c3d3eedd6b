// A discrete-event replay of a synchronous step on many ranks. Every number it gives is
// simulated; it exists to check closed forms.
#pragma once

#include <cstdint>

#include "stepslack/base/result.h"

namespace stepslack::analyze {

struct StepReplayOptions {
  int64_t world_size = 1;
  int64_t steps = 100;
  double compute_seconds = 1;   // mean of a rank's step
  double compute_cv = 0;        // deviation over mean; normal, cut at 0
  double exchange_seconds = 0;  // from the last arrival to the end on all ranks
  // Share of the computing time during which the exchange can already run: max, not
  // sum. 0: the exchange starts after the computation.
  double overlap = 0;
  uint64_t seed = 1;
};

struct StepReplay {            // simulated
  double step_seconds = 0;     // mean
  double wait_seconds = 0;     // mean over ranks and steps, for the last to arrive
  double exposed_seconds = 0;  // mean exchange that no computation hides
  int64_t events = 0;
};

// Ranks compute, then arrive; what is exposed of the exchange runs from the last
// arrival on, and all ranks
// start the next step at its end. Deterministic in the seed; O(world_size x steps).
// Errors: PROJ-0004 (a value outside its range, or more than 1e9 events).
base::Result<StepReplay> ReplaySteps(const StepReplayOptions& options);

// Expected largest of n independent standard normals; Blom's approximation
// Phi^-1((n - 0.375) / (n + 0.25)), within 2 % from n = 2 on.
double ExpectedLargestNormal(int64_t n);

// compute (1 + cv E[max]) + what the overlap does not hide of the exchange.
double ClosedFormStep(const StepReplayOptions& options);

}  // namespace stepslack::analyze
