// Two levels: one transport inside each host, another between one leader a host.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

struct HierLayout {
  int rank = 0;  // in the whole group
  // Ranks of each host in the order of their local ranks; the first one leads. Every
  // rank of the group appears once. Host h is rank h of the leaders' transport.
  std::vector<std::vector<int>> ranks_by_host;
  size_t chunk_bytes = size_t{1} << 20;  // the two levels overlap from 2 chunks on
};

// `leaders` is null on ranks that do not lead. The layout must fit the transports
// (SS_CHECK). All-reduce: sum inside the host, sum between leaders, broadcast inside
// the host. Send and receive work inside a host and between leaders only.
std::unique_ptr<Transport> MakeHier(HierLayout layout, std::unique_ptr<Transport> local,
                                    std::unique_ptr<Transport> leaders);

}  // namespace stepslack::comm
