// Child processes and host facts.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::base {

struct ProcessSpec {
  std::vector<std::string> argv;           // argv[0] is the executable's path
  std::map<std::string, std::string> env;  // added to the parent's environment
  std::string log_path;                    // stdout and stderr, appended
  int core = -1;                           // pin to this core; -1: leave as it is
  // In a session of its own, and left running when the parent is killed. A parent that
  // ends in order still ends it.
  bool outlives_parent = false;
  int kept_descriptor = -1;  // open in the child as well; -1: none
};

struct ProcessEnd {
  int exit_code = 0;  // meaningful when signal is 0
  int signal = 0;     // terminating signal
};

// A child in its own process group; it is killed when the parent dies (PDEATHSIG,
// unless it `outlives_parent`) and when the handle is destroyed while it still runs.
class Process {
 public:
  static Result<Process> Start(const ProcessSpec& spec);  // PROC-0001
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  // The end of the child if it has ended; never blocks.
  std::optional<ProcessEnd> Poll();
  // SIGKILL to the whole group, then reaped.
  void Kill();

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<ProcessEnd> end_;
};

// CPU model, usable cores, memory, kernel, BLAS, C library: the hardware tag's content.
Json HostFacts();
// The AVX-512 subset of server CPUs since Skylake: F, BW, VL and DQ.
bool CpuHasAvx512();
// The kernels that OpenBLAS should use on this CPU, as OPENBLAS_CORETYPE names them; ""
// where its own choice is as good. An OpenBLAS older than the CPU takes it for a
// Pentium 4 (measured on a Xeon of 2024 with OpenBLAS 0.3.21: 28 GFLOP/s a core against
// 145).
std::string OpenBlasCoreType();
// Absolute path of the running executable.
std::string ExecutablePath();

}  // namespace stepslack::base
