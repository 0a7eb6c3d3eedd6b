// Runs other people's programs with limits. How a run ended is a value: a crash or a
// timeout of a tool says something about the sample and must not end the data set.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::eda {

enum class ToolStatus { kOk, kTimeout, kCrashed, kBadOutput };
std::string_view ToString(ToolStatus status);  // "ok", "timeout", ...

struct ToolRun {
  std::vector<std::string> argv;
  std::string log;     // file for stdout and stderr
  std::string folder;  // where it runs; "": where this process does
  double timeout_s = 60;
  int64_t memory_bytes = int64_t{2} << 30;  // address space
  const std::atomic<bool>* stop = nullptr;
};

struct ToolEnd {
  ToolStatus status = ToolStatus::kOk;  // never kBadOutput: the caller reads the output
  std::string output;                   // the last 4 MiB of it
  double wall_ms = 0;
  // Of the program and of those children that it waited for, in steps of 10 ms.
  double cpu_ms = 0;
  int exit_code = 0;
  int signal = 0;  // that ended it; also the one sent at a timeout
};

// Fails only when the program cannot be started (PROC-0001) or its output not be read;
// EDA-0106 when stopped.
base::Result<ToolEnd> RunTool(const ToolRun& run);

struct Tool {
  std::string path;
  std::string version;  // first line that it says of itself
  std::string digest;   // of the program file
};
// `program`: a name on PATH or a path. Its version is the first line with
// `version_mark` that it says when called with `version_arguments`; logs go to
// `folder`. EDA-0107: the program is absent; names the package.
base::Result<Tool> FindTool(const std::string& program, const char* package,
                            const std::vector<std::string>& version_arguments,
                            std::string_view version_mark, const std::string& folder);

struct QorTools {
  Tool yosys;
  Tool abc;
  Tool sta;
};

// EDA-0107 as above.
base::Result<QorTools> FindQorTools(const std::string& yosys, const std::string& abc,
                                    const std::string& sta, const std::string& folder);

}  // namespace stepslack::eda
