// Starts the ranks that measure collectives, and tells what they found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/base/json.h"

namespace stepslack::study {

struct CommBenchRequest {
  std::string worker;  // path of stepslack-worker
  int ranks = 2;
  // Empty: shm and gloo, and mpi with openmpi where mpirun and the adapter are.
  std::vector<std::string> backends;
  std::vector<std::string> collectives;  // empty: all_reduce
  std::vector<int64_t> bytes;            // empty: 4 KiB to 100 MB
  std::string folder;                    // for logs and the rendezvous; exists
  double limit_seconds = 600;            // then the ranks are ended
};

// The table of costs (comm/cost_table.h) as JSON. With mpi or openmpi among the
// backends the ranks are started by mpirun, else one by one and pinned. COMM-0060: a
// rank ended with an error; COMM-0061: it took too long; COMM-0062: interrupted;
// COMM-0063: there is no mpirun.
base::Result<base::Json> MeasureCommunication(const CommBenchRequest& request,
                                              const base::Context& context);

// One block per collective: times (p10), bus bandwidth and the share of the memcpy
// bound, then the fits.
std::string CommBenchText(const base::Json& table);

}  // namespace stepslack::study
