#include "tool_runner.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
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
    const std::string candidate = base::JoinPath(folder, program);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
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
  SS_TRY(base::Process process,
         base::Process::Start({.argv = run.argv, .env = {}, .log_path = run.log}));
  Limit(process.pid(), run);
  ToolEnd end;
  std::optional<base::ProcessEnd> exit;
  while (!(exit = process.Poll())) {
    if (run.stop != nullptr && run.stop->load()) {
      process.Kill();
      return base::Fail("EDA-0106", base::ExitCode::kInterrupted, "stopped",
                        base::FileName(run.argv[0]),
                        "run again with --resume: finished samples are kept");
    }
    if (static_cast<double>(base::NowNs() - start) * 1e-9 > run.timeout_s) {
      process.Kill();
      end.status = ToolStatus::kTimeout;
      break;
    }
    std::this_thread::sleep_for(kPollPeriod);
  }
  end.wall_ms = static_cast<double>(base::NowNs() - start) * 1e-6;
  if (exit && (exit->signal != 0 || exit->exit_code != 0)) {
    end.status = ToolStatus::kCrashed;
  }
  SS_TRY(end.output, base::ReadFile(run.log));
  if (end.output.size() > kMostOutput) {
    end.output.erase(0, end.output.size() - kMostOutput);
  }
  return end;
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
