// The four figures as SVG. Each Draw function writes one <svg> element and returns
// notes on what it merged or left out. Marks are readable without colour.
#pragma once

#include "stepslack/render/report.h"
#include "svg_parts.h"

namespace stepslack::render {

Notes DrawLineChart(HtmlWriter& writer, const LineChart& chart,
                    const DrawOptions& options);
Notes DrawBarChart(HtmlWriter& writer, const BarChart& chart,
                   const DrawOptions& options);
Notes DrawTimelineChart(HtmlWriter& writer, const TimelineChart& chart,
                        const DrawOptions& options);

// All maps in one <svg>, in rows of up to four.
Notes DrawMapChart(HtmlWriter& writer, const MapChart& chart,
                   const DrawOptions& options);
// One map with its colour bar, for pages that flow the panels themselves.
Notes DrawMapPanel(HtmlWriter& writer, const MapImage& image,
                   const DrawOptions& options);

// Any of the four.
Notes DrawFigure(HtmlWriter& writer, const Figure& figure, const DrawOptions& options);

}  // namespace stepslack::render
