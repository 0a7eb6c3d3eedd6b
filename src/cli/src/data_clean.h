// `stepslack data clean`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataClean(const Arguments& arguments);

}  // namespace stepslack::cli
