// `stepslack data make`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataMake(const Arguments& arguments,
                                     const base::Context& context);

}  // namespace stepslack::cli
