#include "stepslack/study/launcher.h"

#include <fmt/format.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "metrics_tail.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"
#include "stepslack/record/run_status.h"
#include "stepslack/study/rank_run.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr double kGraceSeconds = 3;  // for the other ranks to say what they saw

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

std::string LogPath(const std::string& folder, int rank) {
  return JoinPath(folder, record::LogFileName(rank));
}

// The last error block of a rank's log.
struct LoggedError {
  std::string line;  // "error[...]..."; "": there is none
  std::string help;  // without "help: "
};

LoggedError LastError(const std::string& folder, int rank) {
  const auto log = base::ReadFile(LogPath(folder, rank));
  if (!log) return {};
  const size_t at = log->rfind("error[");
  if (at == std::string::npos) return {};
  const auto lines = base::Split(std::string_view(*log).substr(at), '\n');
  LoggedError error;
  error.line = lines.front();
  constexpr std::string_view kHelp = "help: ";
  if (lines.size() > 1 && lines[1].starts_with(kHelp)) {
    error.help = lines[1].substr(kHelp.size());
  }
  return error;
}

// What every rank needs, whoever starts it.
std::map<std::string, std::string> WorkerEnvironment() {
  std::map<std::string, std::string> environment = {
      {"OMP_NUM_THREADS", "1"},
      {"OPENBLAS_NUM_THREADS", "1"},
      // Huge pages for the heap: a page fault costs more than the work on it.
      {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
  const std::string blas = base::OpenBlasCoreType();
  if (!blas.empty() && std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    environment["OPENBLAS_CORETYPE"] = blas;
  }
  return environment;
}

// The ranks that this process starts: all of them, or one of a group whose others are
// started elsewhere.
class RankGroup {
 public:
  explicit RankGroup(std::string folder) : folder_(std::move(folder)) {}

  base::Status StartAll(const Launcher& launcher, int world_size) {
    // A name of its own for every attempt: nothing of an earlier one is met again.
    store_ =
        JoinPath(folder_, fmt::format("rendezvous.{}.{}", getpid(), base::NowNs()));
    for (int rank = 0; rank < world_size; ++rank) {
      auto environment = WorkerEnvironment();
      environment["STEPSLACK_RANK"] = std::to_string(rank);
      environment["STEPSLACK_WORLD_SIZE"] = std::to_string(world_size);
      environment["STEPSLACK_STORE"] = store_;
      SS_RETURN_IF_ERROR(Start(launcher, rank, rank, std::move(environment)));
    }
    return {};
  }

  base::Status StartOne(const Launcher& launcher,
                        const record::RankEnvironment& environment) {
    auto variables = WorkerEnvironment();
    variables["STEPSLACK_JOB"] = environment.local_path;
    return Start(launcher, environment.rank, environment.local_rank,
                 std::move(variables));
  }

  ~RankGroup() {
    for (base::Process& process : processes_) process.Kill();
    if (store_.empty()) return;
    ::unlink(store_.c_str());
    ::unlink((store_ + ".board").c_str());  // the ranks' progress board
  }
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // 0: all ended well; -1: still running; else 1 + the first rank seen to have failed.
  int Poll() {
    bool running = false;
    for (size_t i = 0; i < processes_.size(); ++i) {
      const auto end = processes_[i].Poll();
      running = running || !end;
      if (end && (end->signal != 0 || end->exit_code != 0)) return ranks_[i] + 1;
    }
    return running ? -1 : 0;
  }

  // What the failed ranks say. A killed rank explains the others' communication errors,
  // so it is named first.
  base::Error Failure(const std::string& label) {
    const int64_t deadline = base::NowNs() + static_cast<int64_t>(kGraceSeconds * 1e9);
    while (base::NowNs() < deadline && AnyRunning()) {
      std::this_thread::sleep_for(kPollInterval);
    }
    for (size_t i = 0; i < processes_.size(); ++i) {
      const auto end = processes_[i].Poll();
      if (end && end->signal != 0) {
        return {
            "STUDY-0003", ExitCode::kEnvironment,
            fmt::format("rank {} was killed by signal {} ({})", ranks_[i], end->signal,
                        sigabbrev_np(end->signal)),
            fmt::format("run `{}`", label),
            "run the same command again: the run resumes from its last checkpoint "
            "(signal 9 without a person behind it is often the out-of-memory killer)"};
      }
    }
    return EndedWithError(label);
  }

 private:
  base::Status Start(const Launcher& launcher, int rank, int place,
                     std::map<std::string, std::string> environment) {
    const std::vector<int> cores = AllowedCores();
    base::ProcessSpec spec;
    spec.argv = {launcher.worker, "--run-dir", folder_};
    spec.env = std::move(environment);
    spec.log_path = LogPath(folder_, rank);
    // Unpinned ranks can end up sharing one core while another is idle.
    if (!cores.empty()) spec.core = cores[static_cast<size_t>(place) % cores.size()];
    SS_TRY(base::Process process, base::Process::Start(spec));
    processes_.push_back(std::move(process));
    ranks_.push_back(rank);
    return {};
  }

  bool AnyRunning() {
    bool running = false;
    for (base::Process& process : processes_) running = !process.Poll() || running;
    return running;
  }

  // A rank that lost a peer says less than the peer that it lost.
  size_t LikelyCause() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      const auto end = processes_[i].Poll();
      if (!end || end->exit_code == 0) continue;
      const std::string said = LastError(folder_, ranks_[i]).line;
      if (!said.empty() && said.find("lost a peer") == std::string::npos) return i;
    }
    return 0;
  }

  base::Error EndedWithError(const std::string& label) {
    const size_t cause = LikelyCause();
    for (size_t i = cause; i < processes_.size(); ++i) {
      const auto end = processes_[i].Poll();
      if (!end || end->exit_code == 0) continue;
      LoggedError said = LastError(folder_, ranks_[i]);
      if (said.line.empty()) said.line = "it wrote no error message";
      if (!said.help.empty()) said.help += "; ";
      return {"STUDY-0002", static_cast<ExitCode>(end->exit_code),
              fmt::format("rank {} ended with exit code {}: {}", ranks_[i],
                          end->exit_code, said.line),
              fmt::format("run `{}`", label),
              fmt::format("{}see {}", said.help, LogPath(folder_, ranks_[i]))};
    }
    return {"STUDY-0006", ExitCode::kEnvironment, "the ranks ended without a result",
            fmt::format("run `{}`", label), fmt::format("see the logs in {}", folder_)};
  }

  std::string folder_;
  std::vector<base::Process> processes_;
  std::vector<int> ranks_;  // of the processes
  std::string store_;
};

base::Status Watch(const Launcher& launcher, const std::string& label,
                   const std::string& folder, RankGroup& group,
                   const base::Context& context, const RunProgress& progress) {
  MetricsTail tail(JoinPath(folder, record::MetricsFileName(0)));
  int64_t last_change_ns = base::NowNs();
  while (true) {
    const int state = group.Poll();
    if (state == 0) return {};
    if (state > 0) return tl::unexpected(group.Failure(label));
    if (context.StopRequested()) {
      return Fail("STUDY-0005", ExitCode::kInterrupted, "interrupted",
                  fmt::format("run `{}`", label),
                  "run the same command again: finished work is kept");
    }
    if (tail.Read()) {
      last_change_ns = base::NowNs();
      progress(tail.samples(), tail.relative_mae());
    }
    const double silent_s = static_cast<double>(base::NowNs() - last_change_ns) * 1e-9;
    if (silent_s > launcher.stall_seconds) {
      return Fail(
          "STUDY-0004", ExitCode::kEnvironment,
          fmt::format("no progress for {:.0f} s; the ranks were ended", silent_s),
          fmt::format("run `{}`", label),
          "look for a stopped process or a full machine, then run again");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

// A rank that was killed could not say so itself.
void NoteFailure(const std::string& folder, const base::Error& error, int world_size) {
  const auto status = record::ReadRunStatus(folder);
  if (status && status->state == record::RunState::kFailed) return;
  record::MarkRunFailed(folder, base::Describe(error), world_size);
}

// Digests of everything a finished run left, written after run.json: what is read back
// later must be what was measured.
constexpr std::string_view kManifest = "manifest.json";
constexpr std::string_view kCheckpoints = "checkpoints";

base::Status AddDigests(const std::string& folder, const std::string& prefix,
                        base::Json& manifest) {
  SS_TRY(const auto names, base::ListFolder(JoinPath(folder, prefix)));
  for (const std::string& name : names) {
    if (name == kManifest || name.starts_with("log.") || name == kCheckpoints) continue;
    const std::string file = prefix.empty() ? name : JoinPath(prefix, name);
    SS_TRY(const std::string digest, base::Sha256OfFile(JoinPath(folder, file)));
    manifest.Set(file, digest);
  }
  return {};
}

base::Status WriteManifest(const std::string& folder) {
  base::Json manifest;
  SS_RETURN_IF_ERROR(AddDigests(folder, "", manifest));
  SS_RETURN_IF_ERROR(AddDigests(folder, std::string(kCheckpoints), manifest));
  return base::WriteFileAtomic(JoinPath(folder, kManifest), manifest.Dump() + "\n");
}

bool MatchesManifest(const std::string& folder) {
  const auto text = base::ReadFile(JoinPath(folder, kManifest));
  if (!text) return false;
  const auto manifest = base::ParseJson(*text, folder);
  if (!manifest || !manifest->Has("run.json")) return false;
  for (const auto& [name, digest] : manifest->AsObject()) {
    const auto found = base::Sha256OfFile(JoinPath(folder, name));
    if (!found || *found != digest.AsString()) return false;
  }
  return true;
}

}  // namespace

base::Result<Launcher> FindLauncher(const std::string& worker,
                                    const std::string& runs_folder) {
  auto digest = base::Sha256OfFile(worker);
  if (!digest) {
    return Fail("STUDY-0001", ExitCode::kEnvironment,
                "the training worker is not there", worker,
                "build the target stepslack-worker (./run does)");
  }
  Launcher launcher;
  launcher.worker = worker;
  launcher.worker_sha256 = *digest;
  launcher.runs_folder = runs_folder;
  return launcher;
}

std::string RunId(const Launcher& launcher, const RunRequest& request) {
  // Where the data lie does not matter, their content does: it is named by the plan's
  // digest, else the files are objects of the room, named by theirs.
  record::TrainPlan plan = request.plan;
  const bool named = !plan.dataset_sha256.empty();
  plan.inputs_path = named ? "" : base::FileName(plan.inputs_path);
  plan.targets_path = named ? "" : base::FileName(plan.targets_path);
  base::Json identity;
  identity.Set("plan", record::ToJson(plan));
  identity.Set("world_size", request.world_size);
  identity.Set("repeat", request.repeat);
  identity.Set("worker", launcher.worker_sha256);
  return base::Sha256Of(identity.Dump(-1)).substr(0, 16);
}

bool IsFinished(const Launcher& launcher, const RunRequest& request) {
  return MatchesManifest(JoinPath(launcher.runs_folder, RunId(launcher, request)));
}

base::Result<record::RunRecord> Execute(const Launcher& launcher,
                                        const RunRequest& request,
                                        const base::Context& context,
                                        const RunProgress& progress) {
  const std::string folder = JoinPath(launcher.runs_folder, RunId(launcher, request));
  if (MatchesManifest(folder)) return record::ReadRun(folder);
  SS_RETURN_IF_ERROR(PrepareRun(launcher, request, context));
  {
    RankGroup group(folder);
    SS_RETURN_IF_ERROR(group.StartAll(launcher, request.world_size));
    const base::Status watched =
        Watch(launcher, request.label, folder, group, context, progress);
    if (!watched) {
      NoteFailure(folder, watched.error(), request.world_size);
      return tl::unexpected(watched.error());
    }
  }
  return FinishRun(folder);
}

base::Status PrepareRun(const Launcher& launcher, const RunRequest& request,
                        const base::Context& context) {
  const std::string folder = JoinPath(launcher.runs_folder, RunId(launcher, request));
  if (base::PathExists(JoinPath(folder, kManifest))) {
    // It was finished and something has changed it since: nothing in it can be trusted.
    context.progress->Say(fmt::format(
        "warning: run `{}` was altered after it finished; it is trained again",
        request.label));
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  SS_RETURN_IF_ERROR(base::MakeFolders(folder));
  return base::WriteFileAtomic(JoinPath(folder, "plan.json"),
                               record::ToJson(request.plan).Dump() + "\n");
}

base::Status ExecuteRank(const Launcher& launcher, const std::string& folder,
                         const std::string& label,
                         const record::RankEnvironment& environment,
                         const base::Context& context, const RunProgress& progress) {
  RankGroup group(folder);
  SS_RETURN_IF_ERROR(group.StartOne(launcher, environment));
  base::Status watched = Watch(launcher, label, folder, group, context, progress);
  // Any rank's process may be the one that sees it; the first word stays.
  if (!watched) NoteFailure(folder, watched.error(), environment.world_size);
  return watched;
}

base::Result<record::RunRecord> FinishRun(const std::string& folder) {
  SS_TRY(record::RunRecord run, record::ReadRun(folder));
  if (run.summary.status != "done") {
    return Fail("STUDY-0007", ExitCode::kEnvironment,
                "the run ended as " + run.summary.status + ": " + run.summary.failure,
                folder, "see the logs in this folder");
  }
  SS_RETURN_IF_ERROR(WriteManifest(folder));
  return run;
}

}  // namespace stepslack::study
