// Verbs over traces: import, measure, compare, show, export.
#pragma once

#include "commands.h"

namespace stepslack::cli {

base::Result<CommandResult> ImportTraces(const Arguments& arguments,
                                         const base::Context& context);
base::Result<CommandResult> Measure(const Arguments& arguments,
                                    const base::Context& context, bool color);
base::Result<CommandResult> Compare(const Arguments& arguments,
                                    const base::Context& context);
base::Result<CommandResult> Show(const Arguments& arguments,
                                 const base::Context& context);
base::Result<CommandResult> Export(const Arguments& arguments,
                                   const base::Context& context);

}  // namespace stepslack::cli
