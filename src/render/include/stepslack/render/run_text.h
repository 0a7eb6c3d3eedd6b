// One run at a glance for a terminal: state, progress, plan, where a step's time goes.
#pragma once

#include <string>

#include "stepslack/record/run_overview.h"

namespace stepslack::render {

// Lines of at most 100 columns. Every rank has a line up to 32 of them; those left out
// are counted. Colour repeats what words say.
std::string RenderRunText(const record::RunOverview& overview, bool colour);

}  // namespace stepslack::render
