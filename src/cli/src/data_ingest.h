// `stepslack data ingest`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> DataIngest(const Arguments& arguments);

}  // namespace stepslack::cli
