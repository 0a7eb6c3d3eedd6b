// Brings the ranks of a job together over the transport that suits them.
#pragma once

#include <memory>
#include <string>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/comm/link_model.h"
#include "stepslack/record/rank_environment.h"

namespace stepslack::comm {

using record::RankEnvironment;

struct ConnectOptions {
  std::string backend = "auto";     // auto, self, shm, gloo, nccl, mpi or hier
  double timeout_seconds = 60;      // of the rendezvous and of every collective
  LinkModelOptions link;            // modelled on top; its time-out is set from here
  std::string cost_table;           // file of `stepslack bench comm`; "": none
  std::string all_reduce = "auto";  // of Gloo, as GlooOptions; auto: table or usual
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
