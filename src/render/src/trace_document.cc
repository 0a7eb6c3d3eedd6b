#include <fmt/format.h>

#include <algorithm>

#include "stepslack/analyze/trace_pyramid.h"
#include "stepslack/render/run_sets_report.h"
#include "stepslack/render/timeline_html.h"
#include "stepslack/render/trace_report.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostBars = 64;

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

Section SummarySection(const measure::TraceReport& report) {
  Section section;
  section.id = "summary";
  section.title = "Summary";
  section.text = {
      report.worst.empty()
          ? "No place where time was lost was found."
          : fmt::format("Rank {}: {}.", report.worst[0].rank, report.worst[0].what)};
  Table numbers{"Five numbers", {"number", "value", "basis"}, {}};
  for (const measure::Headline& headline : report.headline) {
    numbers.rows.push_back(
        {headline.name,
         headline.value ? Cell(*headline.value) : Cell(std::string("n/a")),
         headline.text});
  }
  Table worst{"Worst places", {"rank", "step", "lost ms", "what", "start ns"}, {}};
  for (const measure::WorstPlace& place : report.worst) {
    worst.rows.push_back(
        {static_cast<double>(place.rank),
         place.step >= 0 ? std::to_string(place.step) : std::string("-"),
         Ms(place.lost_ns), place.what, std::to_string(place.start_ns)});
  }
  section.tables = {std::move(numbers), std::move(worst)};
  return section;
}

// Where the time of each rank went: disjoint parts that add up to its span.
Section RanksSection(const measure::TraceReport& report) {
  Section section;
  section.id = "ranks";
  section.title = "Ranks";
  BarChart chart;
  chart.title = "Device time by rank";
  chart.caption = report.ranks.size() > kMostBars
                      ? fmt::format("The first {} of {} ranks; the table has all.",
                                    kMostBars, report.ranks.size())
                      : "Disjoint parts of the span from the first to the last event.";
  chart.x_label = "ms";
  chart.part_names = {"compute", "exposed communication", "memory", "idle"};
  for (size_t i = 0; i < std::min(report.ranks.size(), kMostBars); ++i) {
    const analyze::DeviceTimes& t = report.ranks[i].total;
    const int64_t memory = t.span_ns - t.idle_ns - t.compute_ns - t.exposed_comm_ns;
    chart.bars.push_back(
        {fmt::format("rank {}", report.ranks[i].rank),
         {Ms(t.compute_ns), Ms(t.exposed_comm_ns), Ms(memory), Ms(t.idle_ns)},
         std::nullopt,
         std::nullopt});
  }
  section.figures.push_back(std::move(chart));
  section.tables = {TraceTable(report, "rank"), TraceTable(report, "phase")};
  return section;
}

Section TablesSection(const measure::TraceReport& report, std::string_view by,
                      std::string title) {
  Section section;
  section.id = std::string(by);
  section.title = std::move(title);
  section.tables = {TraceTable(report, by)};
  return section;
}

Section CollectivesSection(const measure::TraceReport& report) {
  Section section = TablesSection(report, "collective", "Collectives");
  if (!report.cross || report.cross->collectives.empty()) return section;
  section.tables.insert(section.tables.begin(), OperationTable(report));
  if (report.cross->waits) {
    BarChart chart;
    chart.title = "Wait caused by rank";
    chart.caption =
        "Time the other ranks waited in collectives at which this rank arrived last.";
    chart.x_label = "ms";
    chart.part_names = {"wait caused"};
    for (const analyze::RankWaits& rank : report.cross->waits->by_rank) {
      if (chart.bars.size() == kMostBars) break;
      chart.bars.push_back({fmt::format("rank {}", rank.rank),
                            {Ms(rank.wait_caused_ns)},
                            std::nullopt,
                            std::nullopt});
    }
    section.figures.push_back(std::move(chart));
  }
  return section;
}

Section StepsSection(const measure::TraceReport& report) {
  Section section = TablesSection(report, "step", "Steps");
  LineChart chart;
  chart.title = "Step time";
  chart.caption = "Slowest rank and median rank, steps that all ranks have.";
  chart.x_label = "step";
  chart.y_label = "ms";
  Series slowest{"slowest rank", {}, {}, {}, {}};
  Series median{"median rank", {}, {}, {}, {}};
  for (const analyze::StepPoint& point : report.steps.steps) {
    slowest.x.push_back(static_cast<double>(point.step));
    slowest.y.push_back(Ms(point.max_ns));
    median.x.push_back(static_cast<double>(point.step));
    median.y.push_back(Ms(point.median_ns));
  }
  chart.series = {std::move(slowest), std::move(median)};
  if (report.steps.steps.size() > 1) section.figures.push_back(std::move(chart));
  return section;
}

Section MissingSection(const measure::TraceReport& report) {
  Section section;
  section.id = "missing";
  section.title = "What is missing, and what was read";
  Table missing{"Missing", {"part", "reason", "where"}, {}};
  for (const measure::MissingPart& part : report.missing) {
    missing.rows.push_back({part.part, part.reason, part.where});
  }
  Table inputs{"Inputs", {"input", "format", "used", "events", "note"}, {}};
  for (const measure::InputRow& row : report.inputs) {
    inputs.rows.push_back({row.name, std::string(ToString(row.format)),
                           std::string(row.used ? "yes" : "no"),
                           static_cast<double>(row.events), row.note});
  }
  Table counters{"Counters", {"counter", "severity", "count", "first byte"}, {}};
  for (const auto& [name, count] : report.import.counts()) {
    counters.rows.push_back({name, std::string(ToString(count.severity)),
                             static_cast<double>(count.count),
                             static_cast<double>(count.first_offset)});
  }
  Table notes{"Differences to HTA", {"code", "why", "ranks"}, {}};
  for (const measure::Footnote& note : report.footnotes) {
    notes.rows.push_back(
        {note.code, note.text, static_cast<double>(note.ranks.size())});
  }
  section.tables = {std::move(missing), std::move(inputs), std::move(counters),
                    std::move(notes)};
  std::erase_if(section.tables, [](const Table& table) { return table.rows.empty(); });
  return section;
}

}  // namespace

Document TraceDocument(const measure::TraceReport& report) {
  Document document;
  document.title = "Traces of a run";
  document.lead = {
      fmt::format("{} ranks from {} inputs; {} remarks on what is missing.",
                  report.ranks.size(), report.inputs.size(), report.missing.size())};
  if (report.hang) document.lead.push_back(report.hang->reason);
  if (!report.ranks.empty()) {
    document.sections = {SummarySection(report),
                         RanksSection(report),
                         StepsSection(report),
                         CollectivesSection(report),
                         TablesSection(report, "kernel", "Kernels"),
                         TablesSection(report, "stream", "Streams")};
  }
  if (report.run_sets) {
    for (Section& section : RunSetSections(*report.run_sets)) {
      document.sections.push_back(std::move(section));
    }
  }
  document.sections.push_back(MissingSection(report));
  return document;
}

base::Result<std::string> RenderTraceTimeline(const measure::TraceReport& report) {
  if (report.ranks.empty()) {
    return base::Fail("RENDER-0160", base::ExitCode::kInput,
                      "no profiler trace among the inputs", "",
                      "`stepslack measure` shows what was read and why not more");
  }
  std::vector<int64_t> offsets;
  for (const analyze::RankTrace& rank : report.ranks) {
    offsets.push_back(report.cross ? -report.cross->Correction(rank.rank) : 0);
  }
  SS_TRY(const analyze::TracePyramid pyramid,
         analyze::BuildPyramid(report.ranks, offsets));
  std::vector<CollectiveWait> waits;
  if (report.cross && report.cross->waits) {
    for (const analyze::MatchedCollective& collective : report.cross->collectives) {
      for (const analyze::CollectiveOnRank& on : collective.ranks) {
        waits.push_back(
            {on.rank, on.start_ns + report.cross->Correction(on.rank), on.wait_ns});
      }
    }
  }
  std::vector<TimelinePlace> worst;
  for (const measure::WorstPlace& place : report.worst) {
    const int64_t shift =
        (report.cross ? report.cross->Correction(place.rank) : 0) + pyramid.origin_ns;
    worst.push_back({place.rank, place.step, place.start_ns - shift,
                     place.end_ns - shift, place.what});
  }
  TimelinePage page;
  page.title = "Timeline of all ranks";
  page.note = fmt::format("{} rank{}; times on the common clock", report.ranks.size(),
                          report.ranks.size() == 1 ? "" : "s");
  page.traces = report.ranks;
  page.pyramid = &pyramid;
  page.waits = waits;
  page.worst = worst;
  return RenderTimelineHtml(page);
}

}  // namespace stepslack::render
