// What is kept of a finished step, so that a run that was killed goes on behind it.
#include "qor_flow.h"

namespace stepslack::eda {
namespace {

base::Json OutcomeJson(const QorOutcome& outcome) {
  base::Json json;
  json.Set("status", ToString(outcome.status));
  json.Set("stage", outcome.stage);
  return json;
}

QorOutcome OutcomeFromJson(const base::Json& json) {
  QorOutcome outcome;
  outcome.stage = json["stage"].AsString();
  for (const ToolStatus status : {ToolStatus::kOk, ToolStatus::kTimeout,
                                  ToolStatus::kCrashed, ToolStatus::kBadOutput}) {
    if (json["status"].AsString() == ToString(status)) outcome.status = status;
  }
  return outcome;
}

}  // namespace

base::Json ToJson(const SynthesisedDesign& design) {
  base::Json json;
  json.Set("outcome", OutcomeJson(design.outcome));
  json.Set("blif", design.blif);
  json.Set("wall_ms", design.wall_ms);
  base::Json words;
  for (const auto& [name, value] : design.words) words.Set(name, value);
  json.Set("words", std::move(words));
  return json;
}

SynthesisedDesign DesignFromJson(const base::Json& json) {
  SynthesisedDesign design;
  design.outcome = OutcomeFromJson(json["outcome"]);
  design.blif = json["blif"].AsString();
  design.wall_ms = json["wall_ms"].AsDouble();
  for (const auto& [name, value] : json["words"].AsObject()) {
    design.words[name] = value.AsInt();
  }
  return design;
}

base::Json ToJson(const QorSample& sample) {
  base::Json json;
  json.Set("outcome", OutcomeJson(sample.outcome));
  json.Set("n_ff", sample.n_ff);
  json.Set("aig_and", sample.aig_and);
  json.Set("aig_lev", sample.aig_levels);
  json.Set("aig_pi", sample.aig_inputs);
  json.Set("aig_po", sample.aig_outputs);
  json.Set("area", sample.area_um2);
  json.Set("cells", sample.cells);
  json.Set("wc_delay", sample.wc_delay_ns);
  json.Set("tns10", sample.tns10_ns);
  json.Set("wall_ms", sample.wall_ms);
  return json;
}

QorSample SampleFromJson(const base::Json& json) {
  QorSample sample;
  sample.outcome = OutcomeFromJson(json["outcome"]);
  sample.n_ff = json["n_ff"].AsInt();
  sample.aig_and = json["aig_and"].AsInt();
  sample.aig_levels = json["aig_lev"].AsInt();
  sample.aig_inputs = json["aig_pi"].AsInt();
  sample.aig_outputs = json["aig_po"].AsInt();
  sample.area_um2 = json["area"].AsDouble();
  sample.cells = json["cells"].AsInt();
  sample.wc_delay_ns = json["wc_delay"].AsDouble();
  sample.tns10_ns = json["tns10"].AsDouble();
  sample.wall_ms = json["wall_ms"].AsDouble();
  return sample;
}

}  // namespace stepslack::eda
