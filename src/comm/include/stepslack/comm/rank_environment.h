// Which rank this process is, from the environment that the launcher sets.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/comm/link_model.h"

namespace stepslack::comm {

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
// network interface.
// COMM-0001: a value makes no sense, or STEPSLACK_STORE is missing. COMM-0043: some of
// a launcher's variables are missing. COMM-0044: two launchers contradict each other.
base::Result<RankEnvironment> ReadRankEnvironment();

// First host of a Slurm node list: "n7", "gpu[003-010,12],cpu1" -> "gpu003"; "" when
// the list is malformed.
std::string FirstSlurmHost(std::string_view list);

struct ConnectOptions {
  std::string backend = "auto";     // auto, self, shm, gloo, nccl, mpi or hier
  double timeout_seconds = 60;      // of the rendezvous and of every collective
  LinkModelOptions link;            // modelled on top; its time-out is set from here
  std::string cost_table;           // file of `stepslack bench comm`; "": none
  int64_t message_bytes = 1 << 20;  // usual size, for the choice from the table
};

// What Connect chose, for the run's record.
struct ConnectionFacts {
  std::string transport;  // "shm", "gloo+link"
  std::string topology;   // "4 ranks on 2 hosts (2+2)"
  std::string reason;     // "one host", "asked for", "least in the table of costs"
  std::string store;      // "file", "tcp 10.0.0.1:29500", "none"
  std::string interface;
  std::string launcher;
};
base::Json ToJson(const ConnectionFacts& facts);

struct Connection {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ProgressBoard> board;  // null unless all ranks are on this host
  ConnectionFacts facts;
  GroupFactory make_group;  // over the same kind of transport; COMM-0057
};

// Joins the group of `environment`. "auto": one rank needs no engine; ranks of one host
// share memory; several hosts use the hierarchy, with Gloo between hosts (NCCL when
// LibTorch has it); a table of costs for this hardware and number of ranks may choose
// otherwise among these. MPI is used only when asked for.
// COMM-0004: the ranks did not find each other in time; COMM-0040 to 0042, 0047: the
// rendezvous (rendezvous.h); COMM-0045: no such backend, or not for these
// ranks; COMM-0046: no store; COMM-0049: MPI counts the ranks otherwise; COMM-0052 to
// 0055: MPI (mpi_transport.h).
base::Result<Connection> ConnectTransport(const RankEnvironment& environment,
                                          const ConnectOptions& options);

// The same as a communicator; `facts` may be null.
base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    const ConnectOptions& options,
                                                    ConnectionFacts* facts = nullptr);
base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    double timeout_seconds);

}  // namespace stepslack::comm
