#include "tool_runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "stepslack/base/context.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

constexpr size_t kMostOutput = size_t{4} << 20;
constexpr std::chrono::milliseconds kPollPeriod{2};

void Limit(pid_t pid, const ToolRun& run) {
  // A tool that has just started holds little, so that a limit set from outside is in
  // time. A limit that cannot be set costs safety, not correctness.
  const rlimit memory{static_cast<rlim_t>(run.memory_bytes),
                      static_cast<rlim_t>(run.memory_bytes)};
  prlimit(pid, RLIMIT_AS, &memory, nullptr);
  const rlimit core{0, 0};
  prlimit(pid, RLIMIT_CORE, &core, nullptr);
  const rlimit file{size_t{1} << 30, size_t{1} << 30};
  prlimit(pid, RLIMIT_FSIZE, &file, nullptr);
}

// Full path of a program: as given when it has a slash, else by PATH.
std::string Locate(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return access(program.c_str(), X_OK) == 0 ? program : "";
  }
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : base::Split(path ? path : "", ':')) {
    std::string candidate = base::JoinPath(folder, program);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// CPU time of a process that has ended and was not reaped yet, or of one that runs.
double CpuMs(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  const auto fields = base::Split(text.substr(name_end + 1), ' ');
  double ticks = 0;
  // utime, stime and those of children, fields 14 to 17 of proc(5); ") " is field 2.
  for (size_t i = 12; i <= 15 && i < fields.size(); ++i) {
    ticks += base::ParseDouble(fields[i]).value_or(0);
  }
  return ticks * 1000 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool HasEnded(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) !=
             0 ||
         info.si_pid == pid;
}

}  // namespace

std::string_view ToString(ToolStatus status) {
  switch (status) {
    case ToolStatus::kOk:
      return "ok";
    case ToolStatus::kTimeout:
      return "timeout";
    case ToolStatus::kCrashed:
      return "crashed";
    case ToolStatus::kBadOutput:
      return "bad_output";
  }
  return "";
}

base::Result<ToolEnd> RunTool(const ToolRun& run) {
  unlink(run.log.c_str());  // the log is appended to
  const int64_t start = base::NowNs();
  std::vector<std::string> argv = run.argv;
  if (!run.folder.empty()) {
    argv[0] = std::filesystem::absolute(argv[0]).string();
    argv.insert(argv.begin(), {"/usr/bin/env", "-C", run.folder});
  }
  SS_TRY(base::Process process,
         base::Process::Start({.argv = argv, .env = {}, .log_path = run.log}));
  Limit(process.pid(), run);
  ToolEnd end;
  std::optional<base::ProcessEnd> exit;
  for (;;) {
    if (HasEnded(process.pid())) {
      end.cpu_ms = CpuMs(process.pid());
      exit = process.Poll();
      break;
    }
    if (run.stop != nullptr && run.stop->load()) {
      process.Kill();
      return base::Fail("EDA-0106", base::ExitCode::kInterrupted, "stopped",
                        base::FileName(run.argv[0]),
                        "run again with --resume: finished samples are kept");
    }
    if (static_cast<double>(base::NowNs() - start) * 1e-9 > run.timeout_s) {
      end.cpu_ms = CpuMs(process.pid());
      process.Kill();
      end.signal = SIGKILL;
      end.status = ToolStatus::kTimeout;
      break;
    }
    std::this_thread::sleep_for(kPollPeriod);
  }
  end.wall_ms = static_cast<double>(base::NowNs() - start) * 1e-6;
  if (exit) {
    end.exit_code = exit->exit_code;
    end.signal = exit->signal;
  }
  if (exit && (exit->signal != 0 || exit->exit_code != 0)) {
    end.status = ToolStatus::kCrashed;
  }
  SS_TRY(end.output, base::ReadFile(run.log));
  if (end.output.size() > kMostOutput) {
    end.output.erase(0, end.output.size() - kMostOutput);
  }
  return end;
}

base::Result<Tool> FindTool(const std::string& program, const char* package,
                            const std::vector<std::string>& version_arguments,
                            std::string_view version_mark, const std::string& folder) {
  Tool tool;
  tool.path = Locate(program);
  if (tool.path.empty()) {
    return base::Fail("EDA-0107", base::ExitCode::kEnvironment,
                      fmt::format("the program {} is not here", program), "PATH",
                      fmt::format("install the package {}", package));
  }
  SS_TRY(tool.digest, base::Sha256OfFile(tool.path));
  ToolRun run;
  run.argv = {tool.path};
  run.argv.insert(run.argv.end(), version_arguments.begin(), version_arguments.end());
  run.log = base::JoinPath(folder, fmt::format("version-{}", package));
  SS_TRY(const ToolEnd end, RunTool(run));
  for (const std::string_view line : base::Split(end.output, '\n')) {
    if (tool.version.empty() && line.find(version_mark) != std::string_view::npos) {
      tool.version = base::Trim(line);
    }
  }
  return tool;
}

base::Result<QorTools> FindQorTools(const std::string& yosys, const std::string& abc,
                                    const std::string& sta, const std::string& folder) {
  QorTools tools;
  SS_TRY(tools.yosys, FindTool(yosys, "yosys", {"-V"}, "Yosys", folder));
  SS_TRY(tools.abc, FindTool(abc, "berkeley-abc", {"-q", "version"}, "ABC", folder));
  SS_TRY(tools.sta, FindTool(sta, "opensta", {"-version"}, ".", folder));
  return tools;
}

}  // namespace stepslack::eda
