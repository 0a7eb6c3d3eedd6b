// The data table that follows each figure.
#pragma once

#include "stepslack/render/report.h"

namespace stepslack::render {

// Lines: one row for each x when all series share them, else one for each point. Bars:
// one row each. Timelines: count and time for each lane and phase. Maps: minimum, mean,
// maximum and where it is.
Table FigureTable(const Figure& figure);

const std::string& FigureTitle(const Figure& figure);
const std::string& FigureCaption(const Figure& figure);

}  // namespace stepslack::render
