// `stepslack data audit`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataAudit(const Arguments& arguments,
                                      const base::Context& context);

}  // namespace stepslack::cli
