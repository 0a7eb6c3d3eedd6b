// A parallel loop whose result does not depend on the number of threads: each index is
// handled once and writes only its own output.
#pragma once

#include <cstddef>
#include <functional>

namespace stepslack::base {

// Calls body(i) for i in [0, count) on up to `threads` threads (0: one per usable
// core).
void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& body);

// Cores this process may run on (affinity mask), at least 1.
int UsableCores();

}  // namespace stepslack::base
