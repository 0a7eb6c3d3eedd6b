// `stepslack data drift`.
#pragma once

#include "arguments.h"
#include "commands.h"

namespace stepslack::cli {

// DRIFT-0006 an option that is not a number.
base::Result<CommandResult> DataDrift(const Arguments& arguments,
                                      const base::Context& context);

}  // namespace stepslack::cli
