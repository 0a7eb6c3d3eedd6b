// Writes every rendering of the sample report into a folder, to look at.
#include <cstdio>
#include <string>

#include "sample_report.h"
#include "stepslack/base/file.h"
#include "stepslack/render/csv.h"
#include "stepslack/render/figure_svg.h"
#include "stepslack/render/html_report.h"
#include "stepslack/render/markdown_report.h"
#include "stepslack/render/section_json.h"
#include "stepslack/render/text_report.h"

int main(int argc, char** argv) {
  using namespace stepslack;
  if (argc != 2) {
    std::fputs("usage: render_demo FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const render::Report report = render::SampleReport();
  bool written = true;
  const auto write = [&](const char* name, const std::string& text) {
    written = base::WriteFileAtomic(base::JoinPath(folder, name), text).has_value() &&
              written;
  };
  write("render_demo.html", render::RenderHtml(report));
  write("render_demo.txt", render::RenderText(report, false));
  write("render_demo.md", render::RenderMarkdown(report));
  write("memo.md", render::RenderMemo(report.review).value_or("refused"));
  write("line.svg", render::RenderSvg(render::SampleLineChart()));
  write("bars.svg", render::RenderSvg(render::SampleStackedChart()));
  write("timeline.svg", render::RenderSvg(render::SampleTimeline()));
  write("maps.svg", render::RenderSvg(render::SampleMaps()));
  std::fputs(render::RenderText(report, true).c_str(), stdout);
  return written ? 0 : 4;
}
