// `stepslack data diff`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataDiff(const Arguments& arguments);

}  // namespace stepslack::cli
