// `stepslack study`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> Study(const Arguments& arguments,
                                  const base::Context& context);

}  // namespace stepslack::cli
