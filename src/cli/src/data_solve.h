// `stepslack data solve`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataSolve(const Arguments& arguments,
                                      const base::Context& context);

}  // namespace stepslack::cli
