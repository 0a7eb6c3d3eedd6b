#include <fmt/format.h>

#include <cmath>

#include "stepslack/analyze/projection.h"
#include "stepslack/base/text.h"

namespace stepslack::analyze {
namespace {

using base::Human;
using base::Json;

Json Of(const Predicted& predicted) {
  Json json;
  json.Set("value", predicted.range.value);
  json.Set("low", predicted.range.low);
  json.Set("high", predicted.range.high);
  json.Set("extrapolated", predicted.extrapolated);
  return json;
}

Json Of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json Of(const FamilyProjection& family, const Prediction& prediction) {
  Json json;
  json.Set("family", family.family.name);
  json.Set("world_size", prediction.world_size);
  json.Set("global_batch", int64_t{std::llround(prediction.global_batch)});
  json.Set("batch_assumed", prediction.batch_assumed);
  json.Set("batch_basis", prediction.batch_basis);
  json.Set("step_time_s", Of(prediction.step_seconds));
  json.Set("throughput", Of(prediction.throughput));
  json.Set("unit", family.family.unit + "/s");
  json.Set("ttt_min", prediction.ttt_min ? Of(*prediction.ttt_min) : Json());
  json.Set("energy_kwh", Of(prediction.energy_kwh));
  json.Set("cost", Of(prediction.cost));
  json.Set("reason", prediction.reason);
  if (prediction.failures) {
    Json failures;
    failures.Set("mtbf_s", prediction.failures->mtbf_seconds);
    failures.Set("checkpoint_interval_s", prediction.failures->interval_seconds);
    failures.Set("slowdown", prediction.failures->slowdown);
    json.Set("failures", std::move(failures));
  }
  return json;
}

Json Of(const FamilyProjection& family) {
  Json json;
  json.Set("name", family.family.name);
  json.Set("basis", family.family.basis);
  Json points{Json::Array{}};
  for (const ScalePoint& p : family.family.points) {
    Json point;
    point.Set("world_size", p.world_size);
    point.Set("global_batch", p.global_batch);
    point.Set("step_time_s", p.step_seconds);
    if (p.samples > 0) point.Set("samples_to_target", p.samples);
    points.Append(std::move(point));
  }
  json.Set("points", std::move(points));
  Json forms{Json::Array{}};
  for (const FittedForm& form : family.forms) {
    Json row;
    row.Set("form", form.name);
    Json coefficients{Json::Array{}};
    for (const double c : form.coefficients) coefficients.Append(c);
    row.Set("coefficients", std::move(coefficients));
    forms.Append(std::move(row));
  }
  json.Set("forms", std::move(forms));
  json.Set("misfit", family.misfit);
  if (family.samples) {
    json.Set("critical_batch", Of(family.samples->critical_batch));
    json.Set("samples_small_batch", family.samples->intercept);
  }
  json.Set("knee_world_size", family.knee ? Json(*family.knee) : Json());
  json.Set("no_projection", family.no_projection);
  return json;
}

std::string Range(const Predicted& p) {
  return fmt::format("{} [{}, {}]", Human(p.range.value), Human(p.range.low),
                     Human(p.range.high));
}

std::string Ttt(const Prediction& p) {
  return p.ttt_min ? Range(*p.ttt_min) : std::string("not known");
}

std::string Batch(const Prediction& p) {
  return Human(p.global_batch) + (p.batch_assumed ? " (assumed)" : "");
}

}  // namespace

Json ToJson(const ProjectionReport& report) {
  Json predictions{Json::Array{}};
  Json families{Json::Array{}};
  for (const FamilyProjection& family : report.families) {
    families.Append(Of(family));
    for (const Prediction& p : family.predictions) predictions.Append(Of(family, p));
  }
  Json left_out{Json::Array{}};
  for (const std::string& line : report.left_out) left_out.Append(line);
  Json json;
  json.Set("schema", "stepslack.projection/1");
  json.Set("confidence", 0.8);
  json.Set("predictions", std::move(predictions));
  json.Set("families", std::move(families));
  json.Set("left_out", std::move(left_out));
  return json;
}

std::vector<std::string> ProjectionNotes(const FamilyProjection& family) {
  std::vector<std::string> notes;
  if (family.samples && family.samples->critical_batch) {
    notes.push_back("critical batch " + Human(*family.samples->critical_batch));
  }
  if (family.samples && !family.samples->reason.empty()) {
    notes.push_back(family.samples->reason);
  }
  if (family.knee) {
    notes.push_back(fmt::format("knee: {} workers", *family.knee));
  } else if (family.no_projection.empty()) {
    notes.push_back("knee: below the smallest measured");
  }
  for (const Prediction& p : family.predictions) {
    const auto add = [&](const std::string& text) {
      notes.push_back(fmt::format("{} workers: {}", p.world_size, text));
    };
    if (p.batch_assumed) {
      add(fmt::format("batch assumed, {}; tell it with --batch", p.batch_basis));
    }
    if (p.failures) {
      add(fmt::format("checkpoint every {}, failures cost {} %",
                      base::HumanDuration(p.failures->interval_seconds),
                      Human(100 * (p.failures->slowdown - 1))));
    }
    if (p.energy_kwh) add(Human(*p.energy_kwh) + " kWh to the target");
    if (p.cost) add(fmt::format("costs {} to the target", Human(*p.cost)));
  }
  return notes;
}

std::string ProjectionText(const ProjectionReport& report) {
  std::string text;
  for (const FamilyProjection& family : report.families) {
    text += fmt::format("{} ({} points; {})\n", family.family.name,
                        family.family.points.size(), family.family.basis);
    if (!family.no_projection.empty()) {
      text += fmt::format("  no projection: {}\n", family.no_projection);
      continue;
    }
    for (const Prediction& p : family.predictions) {
      text += fmt::format(
          "  {:>8} workers, batch {}: {} s a step, {} {}/s, {} min to target{}\n",
          p.world_size, Batch(p), Range(p.step_seconds), Range(p.throughput),
          family.family.unit, Ttt(p),
          p.step_seconds.extrapolated ? ", extrapolated" : "");
    }
    for (const std::string& note : ProjectionNotes(family)) {
      text += "  " + note + "\n";
    }
  }
  for (const std::string& line : report.left_out) text += "left out: " + line + "\n";
  return text + "intervals: 80 %\n";
}

}  // namespace stepslack::analyze
