// The five numbers and the worst places of a report.
#pragma once

#include "stepslack/measure/trace_report.h"

namespace stepslack::measure {

void Summarise(TraceReport& report);

}  // namespace stepslack::measure
