#include "stepslack/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stepslack::base {

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& body) {
  const size_t wanted = static_cast<size_t>(threads > 0 ? threads : UsableCores());
  const size_t workers = std::min(wanted, count);
  if (workers <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<size_t> next{0};
  // The first exception (memory that runs out) is thrown again where it can be told.
  std::exception_ptr thrown;
  std::once_flag kept;
  {
    std::vector<std::jthread> pool;
    for (size_t worker = 0; worker < workers; ++worker) {
      pool.emplace_back([&] {
        try {
          for (size_t i = next++; i < count; i = next++) body(i);
        } catch (...) {
          next = count;
          std::call_once(kept, [&] { thrown = std::current_exception(); });
        }
      });
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace stepslack::base
