// `stepslack data drift`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataDrift(const Arguments& arguments,
                                      const base::Context& context);

}  // namespace stepslack::cli
