// A group of ranks as threads of the test's process.
#pragma once

#include <functional>

#include "stepslack/comm/communicator.h"

namespace stepslack::train {

// Calls `body` once a rank, each with its own communicator, and returns when all have.
void RunRanks(int world_size, const std::function<void(comm::Communicator&)>& body);

}  // namespace stepslack::train
