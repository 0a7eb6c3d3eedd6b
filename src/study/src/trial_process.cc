#include "trial_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"
#include "trial_files.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

constexpr auto kPollPause = std::chrono::milliseconds(20);
constexpr double kEndGraceSeconds = 5;  // between SIGTERM and SIGKILL

// The trial's lock: held by whoever runs it, by inheritance down to its last process.
class TrialLock {
 public:
  explicit TrialLock(const std::string& folder)
      : descriptor_(open(JoinPath(folder, "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC,
                         0644)) {}
  ~TrialLock() { Close(); }
  TrialLock(const TrialLock&) = delete;
  TrialLock& operator=(const TrialLock&) = delete;

  int descriptor() const { return descriptor_; }
  bool Take() const {
    return descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

// Seconds since the shell wrote its process number; 0 before.
double RunningFor(const std::string& folder) {
  struct stat status {};
  if (stat(JoinPath(folder, "pid").c_str(), &status) != 0) return 0;
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - status.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - status.st_mtim.tv_nsec);
}

// Of the command's shell, which leads its process group; 0 before it has said so.
pid_t ShellOf(const std::string& folder) {
  const auto text = base::ReadFile(JoinPath(folder, "pid"));
  if (!text) return 0;
  const auto pid = base::ParseInt(base::Trim(*text));
  return pid && *pid > 1 ? static_cast<pid_t>(*pid) : 0;
}

void SignalGroup(const std::string& folder, int signal) {
  if (const pid_t shell = ShellOf(folder); shell > 0) kill(-shell, signal);
}

// The shell is gone, so nobody will note the end any more; what has left its group (a
// daemon) may hold the lock for ever.
bool ShellIsGone(const std::string& folder) {
  const pid_t shell = ShellOf(folder);
  return shell > 0 && kill(shell, 0) != 0 && errno == ESRCH;
}

bool GroupIsGone(const std::string& folder) {
  const pid_t shell = ShellOf(folder);
  return shell > 0 && kill(-shell, 0) != 0 && errno == ESRCH;
}

// SIGTERM, then SIGKILL to the group; true when nothing of it is left.
bool EndGroup(const std::string& folder, const TrialLock& lock) {
  SignalGroup(folder, SIGTERM);
  const int64_t start = base::NowNs();
  while (!lock.Take() && !GroupIsGone(folder)) {
    std::this_thread::sleep_for(kPollPause);
    const double waited = 1e-9 * static_cast<double>(base::NowNs() - start);
    if (waited > kEndGraceSeconds) SignalGroup(folder, SIGKILL);
    if (waited > 2 * kEndGraceSeconds) return false;
  }
  return true;
}

// Waits for the command that runs in this folder, whoever started it.
// `own`: its process, to be reaped, when this study has started it.
base::Result<CommandEnd> Await(const TrialCommand& command, TrialLock& lock,
                               base::Process* own, const base::Context& context) {
  for (;;) {
    if (own != nullptr) (void)own->Poll();
    if (auto end = ReadExit(command.folder)) return *end;
    if (lock.Take() || ShellIsGone(command.folder)) {
      // It may have written its end between the two looks.
      if (auto end = ReadExit(command.folder)) return *end;
      return CommandEnd{.how = CommandEnd::How::kLost};
    }
    if (context.StopRequested()) {
      EndGroup(command.folder, lock);
      RemoveTraces(command.folder);
      return Fail("STUDY-0202", ExitCode::kInterrupted,
                  "interrupted; what has finished is kept", command.folder,
                  "run the same command again to go on");
    }
    if (RunningFor(command.folder) > command.timeout_seconds) {
      EndGroup(command.folder, lock);
      CommandEnd end{.how = CommandEnd::How::kTimeout,
                     .exit_code = 128 + SIGKILL,
                     .wall_seconds = RunningFor(command.folder)};
      SS_RETURN_IF_ERROR(WriteTimeout(command.folder, end.wall_seconds));
      return end;
    }
    std::this_thread::sleep_for(kPollPause);
  }
}

}  // namespace

base::Result<CommandEnd> RunLocally(const TrialCommand& command,
                                    const base::Context& context) {
  TrialLock lock(command.folder);
  if (auto end = ReadExit(command.folder)) {
    // The lock is held by what the command has left behind; nobody else would end it.
    if (!lock.Take()) SignalGroup(command.folder, SIGKILL);
    end->found = true;
    return *end;
  }
  if (lock.descriptor() < 0) {
    return Fail("STUDY-0201", ExitCode::kEnvironment,
                "the trial's folder is not usable", command.folder,
                "check free space and permissions");
  }
  if (!lock.Take()) {
    // It runs since before a study was killed: wait for its end.
    SS_TRY(const CommandEnd end, Await(command, lock, nullptr, context));
    SignalGroup(command.folder, SIGKILL);
    if (end.how != CommandEnd::How::kLost) return end;
  }
  RemoveTraces(command.folder);
  SS_RETURN_IF_ERROR(WriteScript(command, {}));
  SS_TRY(
      base::Process process,
      base::Process::Start({.argv = {"/bin/sh", JoinPath(command.folder, "command.sh")},
                            .env = {},
                            .log_path = {},
                            .core = -1,
                            .outlives_parent = true,
                            .kept_descriptor = lock.descriptor()}));
  lock.Close();  // the child's alone from here on
  TrialLock watch(command.folder);
  SS_TRY(CommandEnd end, Await(command, watch, &process, context));
  if (end.how == CommandEnd::How::kLost) {
    // Killed before it could say so: as bad an end as any other.
    end = {.exit_code = 128 + SIGKILL, .wall_seconds = RunningFor(command.folder)};
    SS_RETURN_IF_ERROR(WriteExit(command.folder, end));
  }
  return end;
}

}  // namespace stepslack::study
