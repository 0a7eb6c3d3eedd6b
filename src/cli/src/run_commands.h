// Verbs over training runs: show run.
#pragma once

#include "commands.h"

namespace stepslack::cli {

// CLI-0200 not one run, CLI-0201 the form is not offered, CLI-0202 no such run,
// CLI-0203 more than one.
base::Result<CommandResult> ShowRun(const Arguments& arguments, bool color);

}  // namespace stepslack::cli
