// stepslack-worker --run-dir DIR: one training rank. Started by `stepslack train`, by
// `study`, or by hand with STEPSLACK_RANK, STEPSLACK_WORLD_SIZE and STEPSLACK_STORE.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "bench_command.h"
#include "stepslack/base/process.h"
#include "stepslack/base/result.h"
#include "stepslack/train/worker.h"

namespace {

using stepslack::base::Error;
using stepslack::base::ExitCode;

constexpr const char* kConfigured = "STEPSLACK_WORKER_CONFIGURED";

// The tensor library allocates and frees megabytes in every operation. Kept in the heap
// instead of being mapped anew each time, they cost no page faults (measured: a step is
// twice as fast).
void KeepMemoryMapped() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
}

// Libraries read these when they are loaded, before main: unless the launcher has set
// them, set them and start over. One thread a rank; huge pages make the first touch of
// memory cheap; wide vectors are opt-in in LibTorch, which reads its variable later.
void ConfigureLibraries(char** argv) {
  if (stepslack::base::CpuHasAvx512()) setenv("ATEN_CPU_CAPABILITY", "avx512", 0);
  bool complete = true;
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* value = std::getenv(name);
    complete = complete && value != nullptr && std::string_view(value) == "1";
    setenv(name, "1", 1);
  }
  const std::string blas = stepslack::base::OpenBlasCoreType();
  if (!blas.empty() && std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    setenv("OPENBLAS_CORETYPE", blas.c_str(), 0);
    complete = false;
  }
  if (complete || std::getenv(kConfigured) != nullptr) return;
  setenv(kConfigured, "1", 1);
  setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
  // Returns only on failure; going on with more threads is slower but correct.
  execv(stepslack::base::ExecutablePath().c_str(), argv);
}

int Report(const Error& error) {
  const std::string text = stepslack::base::Describe(error);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  return static_cast<int>(error.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  KeepMemoryMapped();
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("stepslack-worker");  // that it starts shows that its libraries are there
    return 0;
  }
  if (argc >= 2 && std::string_view(argv[1]) == "bench-comm") {
    ConfigureLibraries(argv);
    const auto measured =
        stepslack::train::RunBenchCommand({argv + 2, static_cast<size_t>(argc - 2)});
    if (measured.has_value()) return 0;
    std::_Exit(Report(measured.error()));
  }
  if (argc != 3 || std::string_view(argv[1]) != "--run-dir") {
    return Report({"TRAIN-0001", ExitCode::kUsage, "expected --run-dir DIR",
                   "command line", "stepslack-worker --run-dir DIR"});
  }
  ConfigureLibraries(argv);
  const auto status = stepslack::train::RunWorker(argv[2]);
  if (status.has_value()) return 0;
  // No destructors: threads of the communication engine may still be waiting.
  std::_Exit(Report(status.error()));
}
