// `stepslack data make pnr`.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> MakePnrData(const Arguments& arguments,
                                        const base::Context& context,
                                        const std::string& out, uint64_t seed,
                                        int64_t count);

}  // namespace stepslack::cli
