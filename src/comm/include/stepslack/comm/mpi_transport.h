// The MPI transport lives in libstepslack_mpi.so, which is loaded only when it is
// chosen: nobody else needs MPI on the machine, and MPI_Init ends a process that was
// not started by MPI's own launcher.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

struct MpiOptions {
  double timeout_seconds = 60;
  // Ranks of MPI_COMM_WORLD that form the group, in order; empty: all. Every member
  // calls ConnectMpi with the same list.
  std::vector<int> group;
  // All-reduce by one blocking MPI_Allreduce instead of our own messages: the library's
  // own speed, for benches. It ignores the time-out.
  bool blocking = false;
};

// Loads the adapter (beside the program, then ../lib, then the system's folders) and
// joins. MPI is initialised once a process, SERIALIZED; each group has a duplicate of
// the communicator. MPI ends with the process, unless a collective has failed: waiting
// for a lost peer would hang, and the launcher must see the failure.
// COMM-0052 no adapter, COMM-0053 it is of another build, COMM-0054 MPI did not start
// or the group was not made, COMM-0055 not started by an MPI launcher.
base::Result<std::unique_ptr<Transport>> ConnectMpi(const MpiOptions& options);

}  // namespace stepslack::comm
