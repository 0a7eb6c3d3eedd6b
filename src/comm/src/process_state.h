// Whether another process of this host still runs.
#pragma once

#include <cstdint>

namespace stepslack::comm {

enum class ProcessState { kAlive, kStopped, kEnded };

// A zombie has ended, although a signal could still be sent to it.
ProcessState StateOf(int64_t pid);

}  // namespace stepslack::comm
