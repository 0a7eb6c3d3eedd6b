#include "stepslack/diagnose/diagnosis.h"

namespace stepslack::diagnose {
namespace {

std::string_view ToString(CauseState state) {
  switch (state) {
    case CauseState::kSupported:
      return "supported";
    case CauseState::kRefuted:
      return "refuted";
    case CauseState::kUndecided:
      return "undecided";
  }
  return "undecided";
}

base::Json Texts(const std::vector<std::string>& texts) {
  base::Json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

base::Json ToJson(const CauseFinding& cause) {
  base::Json json;
  json.Set("id", cause.id);
  json.Set("layer", cause.layer);
  json.Set("title", cause.title);
  json.Set("state", ToString(cause.state));
  json.Set("relevant", cause.relevant);
  json.Set("explained_share",
           cause.share_stated ? base::Json(cause.explained_share) : base::Json());
  json.Set("evidence", Texts(cause.evidence));
  json.Set("missing", Texts(cause.missing));
  json.Set("competitors", Texts(cause.competitors));
  json.Set("discriminating_test", cause.discriminating_test);
  json.Set("experiment", cause.experiment);
  json.Set("fix", cause.fix);
  json.Set("owner", cause.owner);
  return json;
}

}  // namespace

base::Json ToJson(const Diagnosis& diagnosis) {
  base::Json::Array causes;
  for (const CauseFinding& cause : diagnosis.causes) causes.push_back(ToJson(cause));
  base::Json json;
  json.Set("layer", diagnosis.layer);
  json.Set("reason", diagnosis.reason);
  json.Set("primary", diagnosis.primary);
  json.Set("regressed", diagnosis.regressed);
  json.Set("causes", std::move(causes));
  json.Set("path", Texts(diagnosis.path));
  json.Set("missing", Texts(diagnosis.missing));
  return json;
}

}  // namespace stepslack::diagnose
