// `stepslack train`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> Train(const Arguments& arguments,
                                  const base::Context& context);

}  // namespace stepslack::cli
