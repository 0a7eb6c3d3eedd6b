// `stepslack data show`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataShow(const Arguments& arguments,
                                     const base::Context& context);

}  // namespace stepslack::cli
