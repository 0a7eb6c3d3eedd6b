// One function per verb: read options, call the core, choose a renderer.
#pragma once

#include <string>

#include "arguments.h"
#include "stepslack/base/context.h"

namespace stepslack::cli {

// What a verb prints on stdout, and how the process ends.
struct CommandResult {
  std::string output;
  base::ExitCode exit_code = base::ExitCode::kOk;
  bool to_stdout = false;  // --output names what the verb itself has written
};

base::Result<CommandResult> RunCommand(const Arguments& arguments,
                                       const base::Context& context, bool color);

}  // namespace stepslack::cli
