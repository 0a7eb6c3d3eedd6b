#include <dlfcn.h>

#include <cstdlib>

#include "mpi_adapter.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"

namespace stepslack::comm {
namespace {

using base::ExitCode;

// Found beside the program (a build folder), in ../lib (an installation), or by the
// system. Never unloaded: MPI leaves handlers behind that run when the process ends.
void* LoadAdapter(std::string& tried) {
  const std::string folder = base::ParentFolder(base::ExecutablePath());
  for (const std::string& path : {base::JoinPath(folder, kMpiAdapterFile),
                                  base::JoinPath(base::ParentFolder(folder),
                                                 std::string("lib/") + kMpiAdapterFile),
                                  std::string(kMpiAdapterFile)}) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return handle;
    const char* reason = ::dlerror();
    // The reason that counts is that of a file which is there.
    if (tried.empty() || base::PathExists(path)) tried = reason ? reason : path;
  }
  return nullptr;
}

bool StartedByMpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

base::Result<std::unique_ptr<Transport>> ConnectMpi(const MpiOptions& options) {
  if (!StartedByMpi()) {
    return base::Fail("COMM-0055", ExitCode::kEnvironment,
                      "MPI is asked for but this process was not started by it",
                      "backend mpi",
                      "start with `mpirun -np N stepslack-worker ...` or "
                      "`srun --mpi=pmix`, or choose another backend");
  }
  std::string tried;
  void* adapter = LoadAdapter(tried);
  if (adapter == nullptr) {
    return base::Fail("COMM-0052", ExitCode::kEnvironment,
                      "the MPI adapter can not be loaded: " + tried, kMpiAdapterFile,
                      "install libopenmpi-dev and openmpi-bin, build again, and keep "
                      "the adapter beside stepslack-worker");
  }
  auto* version = reinterpret_cast<MpiVersionFunction*>(
      ::dlsym(adapter, "StepslackMpiAdapterVersion"));
  auto* connect =
      reinterpret_cast<MpiConnectFunction*>(::dlsym(adapter, "StepslackMpiConnect"));
  if (version == nullptr || connect == nullptr || version() != kMpiAdapterVersion) {
    return base::Fail("COMM-0053", ExitCode::kEnvironment,
                      "the MPI adapter is of another build than this program",
                      kMpiAdapterFile,
                      "build both together, and remove older copies of the adapter");
  }
  MpiConnected connected;
  connect(options, connected);
  if (connected.has_value()) return std::move(*connected);
  return base::Fail("COMM-0054", ExitCode::kEnvironment,
                    "MPI did not start: " + connected.error().what, "backend mpi",
                    "see whether `mpirun -np 2 true` works here; the other ranks' logs "
                    "may say more");
}

}  // namespace stepslack::comm
