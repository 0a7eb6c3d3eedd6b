#include "stepslack/record/rank_environment.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

constexpr int kMaxWorldSize = 4096;
constexpr int kFirstSlurmPort = 20000;  // below the ports that the kernel hands out
constexpr int kSlurmPorts = 12000;

std::optional<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

tl::unexpected<base::Error> Refuse(std::string what) {
  return base::Fail("COMM-0001", base::ExitCode::kUsage, std::move(what), "environment",
                    "start ranks with `stepslack train`, or set STEPSLACK_RANK, "
                    "STEPSLACK_WORLD_SIZE and STEPSLACK_STORE");
}

tl::unexpected<base::Error> Incomplete(std::string_view launcher, const char* set,
                                       const char* missing) {
  return base::Fail("COMM-0043", base::ExitCode::kUsage,
                    std::string(set) + " is set but " + missing + " is not",
                    "environment (" + std::string(launcher) + ")",
                    "set both, or unset both: half a launcher's variables are often "
                    "left over from an earlier job");
}

// Reads an integer variable in [low, high]; absent: the fallback.
base::Result<int> ReadInt(const char* name, int fallback, int low, int high) {
  const auto text = name == nullptr ? std::nullopt : Variable(name);
  if (!text.has_value()) return fallback;
  const auto value = base::ParseInt(*text);
  if (!value.has_value() || *value < low || *value > high) {
    return Refuse(std::string(name) + " is '" + *text + "', expected an integer from " +
                  std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<int>(*value);
}

// The variables of one launcher; null: it has none of that kind.
struct LauncherVariables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr std::array<LauncherVariables, 5> kLaunchers = {{
    {"stepslack", "STEPSLACK_RANK", "STEPSLACK_WORLD_SIZE", "STEPSLACK_LOCAL_RANK",
     "STEPSLACK_LOCAL_SIZE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"pmix", "PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
}};

// A Slurm allocation has a number of tasks outside of job steps too: only the rank
// shows that a launcher of these ran.
bool IsSet(const LauncherVariables& names) {
  const bool slurm = std::string_view(names.size).starts_with("SLURM");
  return Variable(names.rank) || (!slurm && Variable(names.size));
}

base::Result<RankEnvironment> ReadLauncher(const LauncherVariables& names) {
  if (!Variable(names.rank)) {
    return Incomplete(names.launcher, names.size, names.rank);
  }
  if (!Variable(names.size)) {
    return Incomplete(names.launcher, names.rank, names.size);
  }
  RankEnvironment environment;
  environment.launcher = names.launcher;
  SS_TRY(environment.world_size, ReadInt(names.size, 1, 1, kMaxWorldSize));
  SS_TRY(environment.rank, ReadInt(names.rank, 0, 0, environment.world_size - 1));
  SS_TRY(environment.local_size,
         ReadInt(names.local_size, 0, 1, environment.world_size));
  const int locals =
      environment.local_size > 0 ? environment.local_size : environment.world_size;
  SS_TRY(environment.local_rank, ReadInt(names.local_rank, 0, 0, locals - 1));
  return environment;
}

// RANK and WORLD_SIZE that were exported once make every process of an mpirun or srun
// believe that it is the same rank. Nested launchers (torchrun under srun) are fine:
// they count otherwise, and torchrun says how many ranks this host has.
base::Status CheckAgainst(const RankEnvironment& chosen,
                          const LauncherVariables& names) {
  const auto rank = base::ParseInt(Variable(names.rank).value_or(""));
  const auto size = base::ParseInt(Variable(names.size).value_or(""));
  if (!rank || !size || *size == 1) return {};
  const bool same_size = *size == chosen.world_size;
  const bool nested = !same_size && chosen.local_size > 0;
  if (nested || (same_size && *rank == chosen.rank)) return {};
  return base::Fail(
      "COMM-0044", base::ExitCode::kUsage,
      "RANK says rank " + std::to_string(chosen.rank) + " of " +
          std::to_string(chosen.world_size) + ", " + names.rank + " says " +
          std::to_string(*rank) + " of " + std::to_string(*size),
      "environment",
      "unset RANK and WORLD_SIZE, or start without " + std::string(names.launcher));
}

base::Result<RankEnvironment> ReadRank() {
  for (size_t i = 0; i < kLaunchers.size(); ++i) {
    if (!IsSet(kLaunchers[i])) continue;
    SS_TRY(RankEnvironment environment, ReadLauncher(kLaunchers[i]));
    if (environment.launcher == "torchrun") {
      for (size_t other = i + 1; other < kLaunchers.size(); ++other) {
        SS_RETURN_IF_ERROR(CheckAgainst(environment, kLaunchers[other]));
      }
    }
    return environment;
  }
  RankEnvironment alone;
  alone.local_size = 1;
  return alone;
}

// Ranks of one host have the same parent process (mpirun, torchrun's agent); with its
// start time the name is used once. A Slurm step has a number of its own, and one host
// may stand for several nodes, each with a parent.
std::string NameOnHost(std::string_view launcher) {
  const auto job = Variable("SLURM_JOB_ID"), step = Variable("SLURM_STEP_ID");
  if ((launcher == "slurm" || launcher == "pmix") && job && step) {
    return "stepslack-" + std::to_string(::getuid()) + "-slurm-" + *job + "-" + *step +
           "-" + Variable("SLURM_RESTART_COUNT").value_or("0");
  }
  const std::string pid = std::to_string(::getppid());
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(')');
  std::string started = "0";
  if (name_end != std::string::npos) {
    const auto fields = base::Split(std::string_view(text).substr(name_end + 1), ' ');
    if (fields.size() > 20) started = fields[20];  // field 22 of proc(5)
  }
  return "stepslack-" + std::to_string(::getuid()) + "-" + pid + "-" + started;
}

std::string TemporaryFolder() { return Variable("TMPDIR").value_or("/tmp"); }

base::Status ParseAddress(std::string_view text, RankEnvironment& environment) {
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos
                        ? std::nullopt
                        : base::ParseInt(text.substr(colon + 1));
  if (colon == 0 || !port || *port < 1 || *port > 65535) {
    return Refuse("STEPSLACK_STORE is 'tcp://" + std::string(text) +
                  "', expected tcp://host:port");
  }
  environment.master_address = text.substr(0, colon);
  environment.master_port = static_cast<int>(*port);
  return {};
}

// Inside Slurm: the first host, and a port that follows from the job step.
base::Status AddressFromSlurm(RankEnvironment& environment) {
  const auto list = Variable("SLURM_STEP_NODELIST") ? Variable("SLURM_STEP_NODELIST")
                                                    : Variable("SLURM_JOB_NODELIST");
  if (!list) return {};
  environment.master_address = FirstSlurmHost(*list);
  if (environment.master_address.empty()) {
    return Refuse("the node list '" + *list + "' can not be read");
  }
  const int64_t job =
      base::ParseInt(Variable("SLURM_JOB_ID").value_or("0")).value_or(0);
  const int64_t step =
      base::ParseInt(Variable("SLURM_STEP_ID").value_or("0")).value_or(0);
  const auto mixed = static_cast<uint64_t>(job) * 101 + static_cast<uint64_t>(step);
  environment.master_port = kFirstSlurmPort + static_cast<int>(mixed % kSlurmPorts);
  environment.job = "slurm." + std::to_string(job) + "." + std::to_string(step);
  return {};
}

base::Status ReadStore(RankEnvironment& environment) {
  if (const auto store = Variable("STEPSLACK_STORE")) {
    if (store->starts_with("tcp://")) {
      return ParseAddress(std::string_view(*store).substr(6), environment);
    }
    environment.store_path = *store;
    return {};
  }
  if (environment.launcher == "stepslack") {
    return Refuse("STEPSLACK_STORE is not set but there are several ranks");
  }
  const auto address = Variable("MASTER_ADDR");
  if (address.has_value() != Variable("MASTER_PORT").has_value()) {
    return address ? Incomplete(environment.launcher, "MASTER_ADDR", "MASTER_PORT")
                   : Incomplete(environment.launcher, "MASTER_PORT", "MASTER_ADDR");
  }
  if (address) {
    environment.master_address = *address;
    SS_TRY(environment.master_port, ReadInt("MASTER_PORT", 0, 1, 65535));
    environment.store_runs_elsewhere =
        Variable("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
    return {};
  }
  if (environment.launcher == "torchrun") {
    return Incomplete(environment.launcher, "RANK", "MASTER_ADDR (with MASTER_PORT)");
  }
  if (environment.launcher == "mpirun") {
    // MPI needs no store of ours; other backends find each other through a file when
    // all ranks are on one host.
    if (environment.OneHost()) environment.store_path = environment.local_path;
    return {};
  }
  return AddressFromSlurm(environment);
}

void FindHosts(RankEnvironment& environment) {
  const bool slurm = environment.launcher == "slurm" || environment.launcher == "pmix";
  const auto nodes = Variable("SLURM_STEP_NUM_NODES") ? Variable("SLURM_STEP_NUM_NODES")
                                                      : Variable("SLURM_JOB_NUM_NODES");
  if (slurm && nodes && *nodes == "1") environment.local_size = environment.world_size;
  const std::string& master = environment.master_address;
  if (environment.local_size == 0 &&
      (master == "localhost" || master == "::1" || master.starts_with("127."))) {
    environment.local_size = environment.world_size;
  }
  // A job of our own launcher is on one host unless it says otherwise.
  if (environment.launcher == "stepslack" && environment.local_size == 0 &&
      !environment.store_path.empty()) {
    environment.local_size = environment.world_size;
    environment.local_rank = environment.rank;
  }
}

}  // namespace

std::string FirstSlurmHost(std::string_view list) {
  const size_t bracket = list.find('[');
  const size_t comma = list.find(',');
  if (bracket == std::string_view::npos || comma < bracket) {
    return std::string(base::Trim(list.substr(0, comma)));
  }
  const size_t end = list.find(']', bracket);
  if (end == std::string_view::npos) return {};
  // "003-010,12]": the first number keeps its leading zeros.
  const std::string_view range = list.substr(bracket + 1, end - bracket - 1);
  const std::string_view first = range.substr(0, range.find_first_of("-,"));
  if (first.empty()) return {};
  for (const char digit : first) {
    if (digit < '0' || digit > '9') return {};
  }
  // What follows the bracket up to a comma belongs to the name: "n[1-2]-ib".
  const std::string_view rest = list.substr(end + 1);
  return std::string(list.substr(0, bracket)) + std::string(first) +
         std::string(rest.substr(0, rest.find(',')));
}

base::Result<RankEnvironment> ReadRankEnvironment() {
  SS_TRY(RankEnvironment environment, ReadRank());
  // A process that starts the rank proper hands its own name down.
  environment.local_path =
      Variable("STEPSLACK_JOB")
          .value_or(TemporaryFolder() + "/" + NameOnHost(environment.launcher));
  environment.job = environment.local_path;
  if (environment.world_size > 1) SS_RETURN_IF_ERROR(ReadStore(environment));
  if (!environment.store_path.empty()) {
    environment.local_path = environment.store_path;
    environment.job = environment.store_path;
  }
  environment.job += "." + Variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
  FindHosts(environment);
  auto interface = Variable("STEPSLACK_INTERFACE");
  if (!interface) interface = Variable("GLOO_SOCKET_IFNAME");
  environment.interface =
      interface.value_or(environment.master_address.empty() ? "lo" : "");
  return environment;
}

}  // namespace stepslack::record
