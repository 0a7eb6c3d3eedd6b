// Which rank this process is, from the environment that a launcher sets.
#pragma once

#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::record {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string store_path;        // file of the rendezvous; or the master address
  std::string interface = "lo";  // "": the one that leads to the master address
  std::string master_address;    // host name or number; rank 0 listens there
  int master_port = 0;
  bool store_runs_elsewhere = false;  // torchrun serves the store
  int local_rank = 0;
  int local_size = 0;             // ranks on this host; 0: not known
  std::string launcher = "none";  // stepslack, torchrun, mpirun, pmix, slurm
  std::string local_path;         // prefix of files between the ranks of one host
  std::string job;  // equal on all ranks of an attempt, differs between attempts
  // A file is only waited for by ranks that see it: taken for one host.
  bool OneHost() const {
    return world_size == 1 || local_size == world_size ||
           (local_size == 0 && !store_path.empty());
  }
};

// The first launcher whose variables are set:
//   STEPSLACK_RANK, _WORLD_SIZE (_LOCAL_RANK, _LOCAL_SIZE)             stepslack
//   RANK, WORLD_SIZE (LOCAL_RANK, LOCAL_WORLD_SIZE)                    torchrun
//   OMPI_COMM_WORLD_RANK, _SIZE (_LOCAL_RANK, _LOCAL_SIZE)             mpirun
//   PMIX_RANK, SLURM_NTASKS (SLURM_LOCALID)                            pmix
//   SLURM_PROCID, SLURM_NTASKS (SLURM_LOCALID)                         slurm
// None: one rank. The store is, in this order, STEPSLACK_STORE (a path or
// tcp://host:port), MASTER_ADDR with MASTER_PORT, for ranks of one mpirun on one host a
// file in the temporary folder, and inside Slurm the first host of the node list with a
// port derived from the job. STEPSLACK_INTERFACE, else GLOO_SOCKET_IFNAME, names the
// network interface. STEPSLACK_HOST renames this host, where the kernel's name, boot
// and namespaces do not tell hosts apart. COMM-0001: a value makes no sense, or
// STEPSLACK_STORE is missing. COMM-0043: some of a launcher's variables are missing.
// COMM-0044: two launchers contradict each other.
base::Result<RankEnvironment> ReadRankEnvironment();

// First host of a Slurm node list: "n7", "gpu[003-010,12],cpu1" -> "gpu003"; "" when
// the list is malformed.
std::string FirstSlurmHost(std::string_view list);

}  // namespace stepslack::record
