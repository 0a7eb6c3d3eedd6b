// `stepslack data doomed`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataDoomed(const Arguments& arguments,
                                       const base::Context& context);

}  // namespace stepslack::cli
