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
  std::string log;  // file for stdout and stderr
  double timeout_s = 60;
  int64_t memory_bytes = int64_t{2} << 30;  // address space
  const std::atomic<bool>* stop = nullptr;
};

struct ToolEnd {
  ToolStatus status = ToolStatus::kOk;  // never kBadOutput: the caller reads the output
  std::string output;                   // the last 4 MiB of it
  double wall_ms = 0;
};

// Fails only when the program cannot be started (PROC-0001) or its output not be read;
// EDA-0106 when stopped.
base::Result<ToolEnd> RunTool(const ToolRun& run);

struct Tool {
  std::string path;
  std::string version;  // first line that it says of itself
  std::string digest;   // of the program file
};
struct QorTools {
  Tool yosys;
  Tool abc;
  Tool sta;
};

// EDA-0107: a program is absent; names the package.
base::Result<QorTools> FindQorTools(const std::string& yosys, const std::string& abc,
                                    const std::string& sta, const std::string& folder);

}  // namespace stepslack::eda
