// Reads what NCCL and RCCL write with NCCL_DEBUG=INFO (or WARN), alone or in the middle
// of another program's output: "host:pid:tid [device] NCCL INFO ...". Gives what the
// library says about itself, and facts that follow from it. A fact is an observation
// with its evidence, not a verdict: sockets between hosts may be what was meant.
//
// The format: src/debug.cc, src/transport/*.cc and src/init.cc of NVIDIA/nccl, 2.4 to
// 2.28; RCCL has the same lines.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

// One process and device that wrote lines.
struct NcclProcess {
  std::string host;
  int64_t process = 0;
  int64_t device = -1;      // the number in brackets; -1: none
  std::set<int32_t> ranks;  // in its communicators, world first or not
  std::string network;      // "IB", "Socket", "AWS Libfabric"; "" when not said
  int64_t lines = 0;
};

// Channels between two ranks, all of one kind.
struct NcclLink {
  std::string host;         // that wrote the lines
  int32_t source = -1;      // rank
  int32_t target = -1;      // rank
  std::string direction;    // "send", "receive", or "" inside a host
  std::string transport;    // "NET/IB", "NET/Socket", "P2P/IPC", "P2P/CUMEM", "SHM"
  bool gpu_direct = false;  // GPUDirect RDMA, of networks
  int64_t channels = 0;     // distinct lines
};

struct NcclSetting {
  std::string name;   // "NCCL_P2P_DISABLE"
  std::string value;  // "1"
  int64_t lines = 0;
  std::set<std::string> hosts;
};

struct NcclWarning {
  std::string text;  // without the place in the source
  int64_t lines = 0;
  int64_t first_offset = 0;
  std::set<std::string> hosts;
};

struct NcclInterface {
  std::string kind;  // "Bootstrap", "NET/IB", "NET/Socket"
  std::string name;  // "eth0", "mlx5_0:1/RoCE"
  std::string host;
  // clang-tidy 14 takes the defaulted comparison for a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const NcclInterface&, const NcclInterface&) = default;
};

struct NcclFact {
  std::string name;   // stable: "net_socket_between_hosts"
  std::string text;   // one sentence with the evidence
  int64_t lines = 0;  // that say so
  int64_t first_offset = 0;
};

struct NcclDebugLog {
  std::set<std::string> versions;      // "2.21.5+cuda12.4", "RCCL 2.30.4-HEAD:2b22ab0"
  std::vector<NcclProcess> processes;  // by host, process, device
  std::vector<NcclLink> links;         // by host, source, target
  std::vector<NcclSetting> settings;   // by name, value
  std::set<NcclInterface> interfaces;
  std::vector<NcclWarning> warnings;             // in order of the text
  std::map<std::string, int64_t> communicators;  // commId or pointer to its ranks
  int64_t ring_channels = 0;        // most rings of any communicator; 0: not said
  int64_t collective_channels = 0;  // likewise, "24 coll channels"
  int64_t p2p_channels = 0;
  bool has_trees = false;
  std::vector<NcclFact> facts;  // by name
  ImportStats stats;
};

bool LooksLikeNcclDebug(std::string_view head);

// Errors: TRACE-0121 (no line of NCCL is in the text).
base::Result<NcclDebugLog> ParseNcclDebug(std::string_view text, std::string_view name);

base::Json ToJson(const NcclDebugLog& log);

}  // namespace stepslack::trace
