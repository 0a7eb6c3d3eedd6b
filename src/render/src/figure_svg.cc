#include "stepslack/render/figure_svg.h"

#include "chart.h"

namespace stepslack::render {

std::string RenderSvg(const Figure& figure) {
  HtmlWriter writer;
  DrawFigure(writer, figure, {.id = "f", .standalone = true});
  return writer.Take();
}

}  // namespace stepslack::render
