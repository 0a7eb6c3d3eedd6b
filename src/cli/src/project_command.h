// stepslack project: from measured scales to larger ones.
#pragma once

#include "commands.h"

namespace stepslack::cli {

// PROJ-0010 to 0012: usage. Exit 1 when no family can be projected.
base::Result<CommandResult> ProjectScales(const Arguments& arguments);

VerbInfo ProjectVerb();

}  // namespace stepslack::cli
