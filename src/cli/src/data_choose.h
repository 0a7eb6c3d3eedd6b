// `stepslack data choose`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataChoose(const Arguments& arguments,
                                       const base::Context& context);

}  // namespace stepslack::cli
