// The JSON twin of a section: the same numbers as the other renderings, in full. NaN
// and infinity become null.
#pragma once

#include "stepslack/base/json.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

base::Json ToJson(const Table& table);
base::Json ToJson(const LineChart& chart);
base::Json ToJson(const BarChart& chart);
base::Json ToJson(const TimelineChart& chart);
base::Json ToJson(const MapChart& chart);
base::Json ToJson(const Figure& figure);
base::Json ToJson(const Section& section);

}  // namespace stepslack::render
