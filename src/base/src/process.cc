#include "stepslack/base/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stepslack::base {
namespace {

constexpr off_t kLastWordsBytes = 16 << 10;

// Runs in the child between fork and exec, where only async-signal-safe calls are
// allowed. Reports errno through the pipe and exits when anything fails.
[[noreturn]] void RunChild(const ProcessSpec& spec, char* const* argv,
                           char* const* envp, int log_descriptor, int error_pipe,
                           pid_t parent) {
  if (spec.outlives_parent) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // the parent died before prctl took effect
  }
  if (spec.kept_descriptor >= 0) fcntl(spec.kept_descriptor, F_SETFD, 0);
  if (spec.core >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(spec.core), &set);
    sched_setaffinity(0, sizeof set, &set);  // a lost pin costs speed, not correctness
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log_descriptor, STDOUT_FILENO);
  dup2(log_descriptor, STDERR_FILENO);
  execve(argv[0], argv, envp);
  const int reason = errno;
  [[maybe_unused]] const ssize_t size = write(error_pipe, &reason, sizeof reason);
  _exit(127);
}

std::vector<std::string> MergedEnvironment(
    const std::map<std::string, std::string>& extra) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!extra.contains(std::string(text.substr(0, text.find('='))))) {
      merged.emplace_back(text);
    }
  }
  for (const auto& [name, value] : extra) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

tl::unexpected<Error> CannotStart(const ProcessSpec& spec, int reason) {
  return Fail("PROC-0001", ExitCode::kEnvironment,
              std::string("cannot start the process: ") + std::strerror(reason),
              spec.argv.front(), "check that the program is installed and executable");
}

// Blocks behind the end of a log, so that a child that a full disk stops can still say
// so. Best effort: not every file system can.
void KeepRoomForLastWords(int log_descriptor) {
  struct stat status {};
  if (fstat(log_descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  [[maybe_unused]] const int ignored =
      fallocate(log_descriptor, FALLOC_FL_KEEP_SIZE, status.st_size, kLastWordsBytes);
}

}  // namespace

Result<Process> Process::Start(const ProcessSpec& spec) {
  SS_CHECK(!spec.argv.empty());
  const std::string& log = spec.log_path.empty() ? "/dev/null" : spec.log_path;
  const int log_descriptor =
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_descriptor < 0) {
    return Fail("PROC-0002", ExitCode::kEnvironment,
                std::string("cannot open the log file: ") + std::strerror(errno), log,
                "check free space and permissions of the folder");
  }
  KeepRoomForLastWords(log_descriptor);
  std::vector<std::string> arguments = spec.argv;
  std::vector<std::string> environment = MergedEnvironment(spec.env);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    close(log_descriptor);
    return CannotStart(spec, errno);
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    RunChild(spec, argv.data(), envp.data(), log_descriptor, pipe_ends[1], parent);
  }
  const int fork_reason = errno;
  close(log_descriptor);
  close(pipe_ends[1]);
  // A successful exec closes the pipe, so a read of nothing means the program runs.
  int reason = pid < 0 ? fork_reason : 0;
  if (pid > 0 && read(pipe_ends[0], &reason, sizeof reason) > 0) {
    waitpid(pid, nullptr, 0);
  }
  close(pipe_ends[0]);
  if (reason != 0) return CannotStart(spec, reason);
  return Process(pid);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    end_ = other.end_;
  }
  return *this;
}

Process::~Process() { Kill(); }

std::optional<ProcessEnd> Process::Poll() {
  if (end_ || pid_ < 0) return end_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  end_ = WIFSIGNALED(status)
             ? ProcessEnd{.exit_code = 0, .signal = WTERMSIG(status)}
             : ProcessEnd{.exit_code = WEXITSTATUS(status), .signal = 0};
  return end_;
}

void Process::Kill() {
  if (pid_ < 0 || end_) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  end_ = ProcessEnd{.exit_code = 0, .signal = SIGKILL};
}

}  // namespace stepslack::base
