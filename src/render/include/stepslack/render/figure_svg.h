// A figure as an SVG file of its own: with title, colours for light and dark schemes,
// and notes on what was merged.
#pragma once

#include <string>

#include "stepslack/render/report.h"

namespace stepslack::render {

std::string RenderSvg(const Figure& figure);

}  // namespace stepslack::render
