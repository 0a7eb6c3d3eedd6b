#include <fmt/format.h>

#include "stepslack/base/text.h"
#include "stepslack/render/run_sets_report.h"

namespace stepslack::render {
namespace {

using analyze::FamilyProjection;
using analyze::Predicted;
using analyze::Prediction;
using analyze::ScalePoint;

std::string Range(const Predicted& p) {
  return fmt::format("{} [{}, {}]", base::Human(p.range.value),
                     base::Human(p.range.low), base::Human(p.range.high));
}

void Add(Series& series, int64_t world_size, const Predicted& p) {
  series.x.push_back(static_cast<double>(world_size));
  series.y.push_back(p.range.value);
  series.low.push_back(p.range.low);
  series.high.push_back(p.range.high);
}

LineChart Chart(std::string title, std::string y_label, Series measured,
                Series predicted) {
  LineChart chart{.title = std::move(title),
                  .caption = "Measured scales, and predictions with 80 % intervals.",
                  .x_label = "workers",
                  .y_label = std::move(y_label),
                  .log2_x = true,
                  .log_y = true};
  chart.series = {std::move(measured), std::move(predicted)};
  return chart;
}

void AddCharts(const FamilyProjection& family, Section& section) {
  Series rates{.name = "measured"}, times{.name = "measured"};
  for (const ScalePoint& p : family.family.points) {
    const double rate = p.global_batch / p.step_seconds;
    rates.x.push_back(static_cast<double>(p.world_size));
    rates.y.push_back(rate * family.family.units_per_sample);
    if (!(p.samples > 0)) continue;
    times.x.push_back(static_cast<double>(p.world_size));
    times.y.push_back(p.samples / rate / 60);
  }
  Series next{.name = "predicted", .dashed = true};
  Series next_times{.name = "predicted", .dashed = true};
  for (const Prediction& p : family.predictions) {
    Add(next, p.world_size, p.throughput);
    if (p.ttt_min) Add(next_times, p.world_size, *p.ttt_min);
  }
  section.figures.push_back(Chart("Throughput", family.family.unit + "/s",
                                  std::move(rates), std::move(next)));
  if (next_times.x.empty()) return;
  section.figures.push_back(
      Chart("Time to the target", "min", std::move(times), std::move(next_times)));
}

Table PredictionTable(const FamilyProjection& family) {
  Table table{"Predictions",
              {"workers", "batch", "s a step", family.family.unit + "/s",
               "min to target", "extrapolated", "batch assumed"},
              {}};
  for (const Prediction& p : family.predictions) {
    table.rows.push_back({static_cast<double>(p.world_size), p.global_batch,
                          Range(p.step_seconds), Range(p.throughput),
                          p.ttt_min ? Range(*p.ttt_min) : std::string("not known"),
                          std::string(p.step_seconds.extrapolated ? "yes" : "no"),
                          std::string(p.batch_assumed ? "yes" : "no")});
  }
  return table;
}

}  // namespace

Document ProjectionDocument(const analyze::ProjectionReport& report) {
  Document document;
  document.title = "Projection";
  document.lead = {"Intervals hold 80 %."};
  for (const FamilyProjection& family : report.families) {
    Section section;
    section.id = fmt::format("family-{}", document.sections.size() + 1);
    section.title = family.family.name;
    section.text = {family.no_projection.empty()
                        ? fmt::format("{} measured points; {}.",
                                      family.family.points.size(), family.family.basis)
                        : fmt::format("No projection: {}.", family.no_projection)};
    for (std::string& note : analyze::ProjectionNotes(family)) {
      section.text.push_back(std::move(note) + ".");
    }
    if (family.no_projection.empty()) {
      if (document.sections.size() < kMostFamilies) AddCharts(family, section);
      section.tables = {PredictionTable(family)};
    }
    document.sections.push_back(std::move(section));
  }
  if (document.sections.size() > kMostFamilies) {
    document.lead.push_back(
        fmt::format("Figures of the first {} families.", kMostFamilies));
  }
  for (const std::string& line : report.left_out) {
    document.lead.push_back("Left out: " + line);
  }
  return document;
}

}  // namespace stepslack::render
