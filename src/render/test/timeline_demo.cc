// Writes a timeline page of invented traces, to look at: timeline_demo RANKS FILE.
#include <cstdio>

#include "sample_traces.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/render/timeline_html.h"

int main(int argc, char** argv) {
  namespace render = stepslack::render;
  const auto ranks = stepslack::base::ParseInt(argc == 3 ? argv[1] : "");
  if (!ranks || *ranks < 1 || *ranks > 100'000) {
    std::fputs("usage: timeline_demo RANKS FILE\n", stderr);
    return 2;
  }
  const auto traces = render::SampleTraces(static_cast<int32_t>(*ranks), 12);
  const auto pyramid = stepslack::analyze::BuildPyramid(traces);
  if (!pyramid) return 1;
  std::vector<render::CollectiveWait> waits;
  for (const auto& trace : traces) {
    for (size_t i = 0; i < trace.collectives.size(); ++i) {
      const auto& span = trace.collectives[i];
      // Every third is left unknown, so that the page shows that too.
      if (i % 3 == 1) continue;
      waits.push_back({trace.rank, span.start_ns, (span.end_ns - span.start_ns) / 3});
    }
  }
  render::TimelinePage page;
  page.title = "Invented training";
  page.note = "Twelve steps; rank 2 is late in step 1.";
  page.traces = traces;
  page.pyramid = &*pyramid;
  page.waits = waits;
  const std::string html = render::RenderTimelineHtml(page);
  return stepslack::base::WriteResult(argv[2], html).has_value() ? 0 : 1;
}
