#include <fmt/format.h>

#include <algorithm>

#include "stepslack/analyze/trace_export.h"
#include "stepslack/measure/measure_traces.h"

namespace stepslack::measure {

base::Result<std::string> ExportTraces(const TraceReport& report,
                                       const std::string& output) {
  std::vector<analyze::ExportSource> sources;
  size_t members = 0;
  int64_t world_size = 0;
  for (const analyze::RankTrace& rank : report.ranks) {
    world_size = std::max(world_size, rank.world_size);
    const int64_t correction = report.cross ? report.cross->Correction(rank.rank) : 0;
    for (const std::string& source : rank.sources) {
      if (source.find('!') != std::string::npos) {
        ++members;
        continue;
      }
      sources.push_back({source, rank.rank, -correction});
    }
  }
  if (sources.empty()) {
    return base::Fail("MEAS-0002", base::ExitCode::kInput,
                      "no profiler trace that can be merged", output,
                      members > 0 ? "unpack the archive first"
                                  : "`stepslack measure` shows what was read");
  }
  std::vector<analyze::VerdictMark> marks;
  for (const WorstPlace& place : report.worst) {
    const int64_t correction = report.cross ? report.cross->Correction(place.rank) : 0;
    marks.push_back({place.rank, place.start_ns - correction, place.end_ns - correction,
                     fmt::format("rank {}", place.rank), place.what});
  }
  SS_TRY(const analyze::Written written,
         analyze::ExportMerged(sources, marks, output, world_size));
  std::string text =
      fmt::format("{}: {} ranks, {} events, {} marks, {} bytes\n", output,
                  written.ranks, written.events, written.marks, written.bytes);
  if (members > 0) {
    text +=
        fmt::format("left out: {} members of archives; unpack them first\n", members);
  }
  return text;
}

}  // namespace stepslack::measure
