// Measures the collectives of several transports in one process per rank, interleaved,
// together with a memcpy of the same bytes as the yardstick.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/comm/connect.h"
#include "stepslack/comm/cost_table.h"

namespace stepslack::comm {

struct BenchCommOptions {
  // shm, gloo (with each all-reduce algorithm; "gloo:ring": one), mpi, hier, nccl;
  // "openmpi": the MPI library's own blocking call.
  std::vector<std::string> backends;
  std::vector<std::string> collectives = {"all_reduce"};
  std::vector<int64_t> bytes;  // of one rank's vector; multiples of 4 * world_size
  double timeout_seconds = 60;
};

// Called by every rank. Samples are taken in rounds over all transports; a sample is
// the mean of calls in a row (short ones), of the slowest rank. Shared memory is
// measured in place, as the trainer uses it. The table is complete on every rank.
// COMM-0058: unknown collective. COMM-0059: a transport failed in the middle.
base::Result<CostTable> BenchComm(const RankEnvironment& environment,
                                  const BenchCommOptions& options);

}  // namespace stepslack::comm
