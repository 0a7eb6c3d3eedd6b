// `stepslack data split`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataSplit(const Arguments& arguments);

}  // namespace stepslack::cli
