// The parts of the option table that have a file of their own.
#pragma once

#include <vector>

#include "option_table.h"

namespace stepslack::cli {

std::vector<VerbInfo> DataVerbs();  // `stepslack data ...`

}  // namespace stepslack::cli
