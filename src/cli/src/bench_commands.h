// `stepslack bench`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> Bench(const Arguments& arguments,
                                  const base::Context& context);

}  // namespace stepslack::cli
