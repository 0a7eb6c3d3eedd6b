// Which rank this process is, from the environment that the launcher sets.
#pragma once

#include <memory>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string store_path;  // empty only when world_size is 1
  std::string interface = "lo";
};

// STEPSLACK_RANK, STEPSLACK_WORLD_SIZE (both absent: one rank), STEPSLACK_STORE and
// STEPSLACK_INTERFACE. COMM-0001: a value is missing or makes no sense.
base::Result<RankEnvironment> ReadRankEnvironment();

// Joins the group of `environment`: one rank needs no engine, more use Gloo.
// COMM-0004: the ranks did not find each other in time.
base::Result<std::unique_ptr<Communicator>> Connect(const RankEnvironment& environment,
                                                    double timeout_seconds);

}  // namespace stepslack::comm
