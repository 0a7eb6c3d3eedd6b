// The summary for a terminal: decision, requirements by slack, layer, findings, paths.
#pragma once

#include <string>

#include "stepslack/render/report.h"

namespace stepslack::render {

// At most 60 lines of 100 columns; what is cut is counted. Colour repeats what words
// say.
std::string RenderText(const Report& report, bool colour);

}  // namespace stepslack::render
