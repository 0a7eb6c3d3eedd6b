// A complete report with invented data, for tests and for looking at.
#pragma once

#include "stepslack/render/report.h"

namespace stepslack::render {

evidence::Review SampleReview();
Report SampleReport();

LineChart SampleLineChart();
BarChart SampleStackedChart();
TimelineChart SampleTimeline();
MapChart SampleMaps();

}  // namespace stepslack::render
