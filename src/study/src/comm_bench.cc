#include "stepslack/study/comm_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::JoinPath;

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr const char* kAdapter = "libstepslack_mpi.so";

std::optional<std::string> FindMpirun() {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  for (const auto& folder : base::Split(path, ':')) {
    const std::string file = JoinPath(std::string(folder), "mpirun");
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

bool NeedsMpi(const std::vector<std::string>& backends) {
  return std::any_of(backends.begin(), backends.end(), [](const std::string& name) {
    return name == "mpi" || name == "openmpi";
  });
}

// As root mpirun only starts when it is told that this is meant.
bool MpirunRefusesRoot() {
  return ::geteuid() == 0 && (std::getenv("OMPI_ALLOW_RUN_AS_ROOT") == nullptr ||
                              std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == nullptr);
}

// What can be measured here without being asked for; what is left out is said.
std::vector<std::string> UsualBackends(const std::string& worker,
                                       const base::Context& context) {
  std::vector<std::string> backends = {"shm", "gloo"};
  if (!FindMpirun() ||
      !base::PathExists(JoinPath(base::ParentFolder(worker), kAdapter))) {
    context.progress->Say("note: mpi is left out: mpirun or its adapter is not there");
  } else if (MpirunRefusesRoot()) {
    context.progress->Say(
        "note: mpi is left out: mpirun does not start as root unless "
        "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set");
  } else {
    backends.emplace_back("mpi");
    backends.emplace_back("openmpi");
  }
  return backends;
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

class Group {
 public:
  Group(const CommBenchRequest& request, std::vector<std::string> backends)
      : request_(request), backends_(std::move(backends)) {
    store_ =
        JoinPath(request.folder, fmt::format("bench.{}.{}", ::getpid(), base::NowNs()));
    out_ = store_ + ".json";
  }
  ~Group() {
    for (base::Process& process : processes_) process.Kill();
    for (const char* ending : {"", ".board", ".shm", ".json"}) {
      ::unlink((store_ + ending).c_str());
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  base::Status Start() { return NeedsMpi(backends_) ? StartUnderMpi() : StartPinned(); }

  base::Result<base::Json> Wait(const base::Context& context) {
    const int64_t until =
        base::NowNs() + static_cast<int64_t>(request_.limit_seconds * 1e9);
    while (true) {
      bool running = false;
      for (size_t i = 0; i < processes_.size(); ++i) {
        const auto end = processes_[i].Poll();
        running = running || !end;
        if (end && (end->signal != 0 || end->exit_code != 0)) return Failure(i, *end);
      }
      if (!running) break;
      if (context.StopRequested()) {
        return base::Fail("COMM-0062", ExitCode::kInterrupted, "interrupted",
                          "bench comm", "nothing was stored; run it again");
      }
      if (base::NowNs() > until) {
        return base::Fail("COMM-0061", ExitCode::kEnvironment,
                          fmt::format("the ranks did not end within {:.0f} s",
                                      request_.limit_seconds),
                          "bench comm", "ask for fewer --bytes or --backend");
      }
      std::this_thread::sleep_for(kPoll);
    }
    SS_TRY(const std::string text, base::ReadFile(out_));
    return base::ParseJson(text, out_);
  }

 private:
  std::string LogPath(size_t index) const {
    return JoinPath(request_.folder, fmt::format("bench.log{}.txt", index));
  }
  std::vector<std::string> WorkerCommand() const {
    std::vector<std::string> argv = {
        request_.worker, "bench-comm",
        "--backends",    fmt::format("{}", fmt::join(backends_, ",")),
        "--bytes",       fmt::format("{}", fmt::join(request_.bytes, ",")),
        "--out",         out_};
    if (!request_.collectives.empty()) {
      argv.emplace_back("--collectives");
      argv.push_back(fmt::format("{}", fmt::join(request_.collectives, ",")));
    }
    return argv;
  }
  static std::map<std::string, std::string> Settings() {
    return {{"OMP_NUM_THREADS", "1"},
            {"OPENBLAS_NUM_THREADS", "1"},
            {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
  }

  base::Status StartPinned() {
    const std::vector<int> cores = AllowedCores();
    for (int rank = 0; rank < request_.ranks; ++rank) {
      base::ProcessSpec spec;
      spec.argv = WorkerCommand();
      spec.env = Settings();
      spec.env["STEPSLACK_RANK"] = std::to_string(rank);
      spec.env["STEPSLACK_WORLD_SIZE"] = std::to_string(request_.ranks);
      spec.env["STEPSLACK_STORE"] = store_;
      spec.log_path = LogPath(static_cast<size_t>(rank));
      ::unlink(spec.log_path.c_str());
      if (!cores.empty()) spec.core = cores[static_cast<size_t>(rank) % cores.size()];
      SS_TRY(base::Process process, base::Process::Start(spec));
      processes_.push_back(std::move(process));
    }
    return {};
  }

  // The ranks pin themselves: mpirun's own binding counts other jobs' ranks too.
  base::Status StartUnderMpi() {
    const auto mpirun = FindMpirun();
    if (!mpirun) {
      return base::Fail("COMM-0063", ExitCode::kEnvironment,
                        "mpirun is not there, and mpi is among the backends", "PATH",
                        "install openmpi-bin, or name other backends with --backend");
    }
    base::ProcessSpec spec;
    spec.argv = {*mpirun,     "--oversubscribe",
                 "--bind-to", "none",
                 "-np",       std::to_string(request_.ranks)};
    for (std::string& word : WorkerCommand()) spec.argv.push_back(std::move(word));
    spec.env = Settings();
    spec.env["STEPSLACK_STORE"] = store_;
    spec.log_path = LogPath(0);
    ::unlink(spec.log_path.c_str());
    SS_TRY(base::Process process, base::Process::Start(spec));
    processes_.push_back(std::move(process));
    return {};
  }

  tl::unexpected<base::Error> Failure(size_t index, const base::ProcessEnd& end) const {
    const std::string log = base::ReadFile(LogPath(index)).value_or("");
    const size_t at = log.find("error[");
    std::string said = "it wrote no error message";
    if (at != std::string::npos) said = log.substr(at, log.find('\n', at) - at);
    if (log.find("allow-run-as-root") != std::string::npos) {
      said =
          "mpirun does not start as root unless OMPI_ALLOW_RUN_AS_ROOT=1 and "
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set";
    }
    const std::string how = end.signal != 0
                                ? fmt::format("was ended by signal {}", end.signal)
                                : fmt::format("ended with exit code {}", end.exit_code);
    return base::Fail("COMM-0060", ExitCode::kEnvironment,
                      fmt::format("a measuring process {}: {}", how, said),
                      "bench comm", fmt::format("see {}", LogPath(index)));
  }

  const CommBenchRequest& request_;
  std::vector<std::string> backends_;
  std::string store_;
  std::string out_;
  std::vector<base::Process> processes_;
};

// Bytes that one rank's link must carry at least, per byte of the vector (nccl-tests'
// bus bandwidth).
double BusFactor(const std::string& collective, double ranks) {
  if (collective == "all_reduce") return 2 * (ranks - 1) / ranks;
  if (collective == "broadcast") return 1;
  return (ranks - 1) / ranks;
}

std::string SizeText(int64_t bytes) {
  if (bytes % 1'000'000 == 0) return fmt::format("{} MB", bytes / 1'000'000);
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % 1024 == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

const base::Json* PointOf(const base::Json& curve, int64_t bytes) {
  for (const base::Json& point : curve["points"].AsArray()) {
    if (point["bytes"].AsInt() == bytes) return &point;
  }
  return nullptr;
}

}  // namespace

base::Result<base::Json> MeasureCommunication(const CommBenchRequest& request,
                                              const base::Context& context) {
  CommBenchRequest complete = request;
  if (complete.bytes.empty()) {
    complete.bytes = {4096, 65536, 1 << 20, 16 << 20, 100'000'000};
  }
  if (complete.backends.empty())
    complete.backends = UsualBackends(request.worker, context);
  Group group(complete, complete.backends);
  SS_RETURN_IF_ERROR(group.Start());
  return group.Wait(context);
}

std::string CommBenchText(const base::Json& table) {
  const auto ranks = static_cast<double>(table["ranks"].AsInt());
  std::string text = fmt::format("{} ranks on hardware {}\n", table["ranks"].AsInt(),
                                 table["hardware"].AsString());
  std::set<std::string> collectives;
  for (const base::Json& curve : table["curves"].AsArray()) {
    collectives.insert(curve["collective"].AsString());
  }
  for (const std::string& collective : collectives) {
    text += fmt::format("\n{:<15} {:<8} {:<19} {:>11} {:>11} {:>11} {:>9} {:>8}\n",
                        collective, "over", "algorithm", "min us", "p10 us",
                        "median us", "bus GB/s", "memcpy");
    const base::Json* yardstick = nullptr;
    std::vector<const base::Json*> curves;
    for (const base::Json& curve : table["curves"].AsArray()) {
      if (curve["collective"].AsString() != collective) continue;
      curves.push_back(&curve);
      if (curve["backend"].AsString() == "memcpy") yardstick = &curve;
    }
    if (yardstick == nullptr) continue;
    for (const base::Json& size : (*yardstick)["points"].AsArray()) {
      const int64_t bytes = size["bytes"].AsInt();
      for (const base::Json* curve : curves) {
        const base::Json* point = PointOf(*curve, bytes);
        if (point == nullptr) continue;
        const double us = (*point)["p10_us"].AsDouble();
        const double bus =
            BusFactor(collective, ranks) * static_cast<double>(bytes) / us * 1e-3;
        const bool is_copy = curve == yardstick;
        text += fmt::format(
            "{:<15} {:<8} {:<19} {:>11.1f} {:>11.1f} {:>11.1f} {:>9} {:>8}\n",
            SizeText(bytes), (*curve)["backend"].AsString(),
            is_copy ? "" : (*curve)["algorithm"].AsString(),
            (*point)["min_us"].AsDouble(), us, (*point)["median_us"].AsDouble(),
            is_copy ? "" : fmt::format("{:.2f}", bus),
            is_copy ? "1" : fmt::format("{:.2f} x", us / size["p10_us"].AsDouble()));
      }
    }
    text += "fit (p10): alpha us, ns per KiB, worst ratio\n";
    for (const base::Json* curve : curves) {
      const base::Json& fit = (*curve)["fit"];
      text += fmt::format("  {:<8} {:>10.2f} {:>10.2f} {:>8.2f}\n",
                          (*curve)["backend"].AsString(), fit["alpha_us"].AsDouble(),
                          fit["us_per_byte"].AsDouble() * 1e3 * 1024,
                          fit["worst_ratio"].AsDouble());
    }
  }
  return text;
}

}  // namespace stepslack::study
