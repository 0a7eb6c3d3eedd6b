#include "stepslack/evidence/capsule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/evidence/review_json.h"

namespace stepslack::evidence {
namespace {

using base::Json;

// The digest covers the body as one line with sorted keys, `digest` left out.
std::string BodyDigest(const Json& capsule) {
  Json::Object body = capsule.AsObject();
  body.erase("digest");
  return base::Sha256Of(Json(std::move(body)).Dump(-1));
}

Json VerdictsOf(const Json& requirements) {
  Json::Array verdicts;
  for (const Json& requirement : requirements.AsArray()) {
    Json json;
    for (const char* key : {"id", "title", "bound", "direction", "estimate",
                            "slack_percent", "verdict"}) {
      json.Set(key, requirement[key]);
    }
    verdicts.push_back(std::move(json));
  }
  return verdicts;
}

// One line, whatever the text holds.
std::string OneLine(const Json& text) {
  std::string line = text.AsString();
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

// A capsule comes from elsewhere: it must not make us read outside the room.
bool StaysInside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  for (const std::string_view part : base::Split(path, '/')) {
    if (part == "..") return false;
  }
  return path.find('\0') == std::string_view::npos;
}

base::Result<Json> ReadCapsule(const std::string& path) {
  SS_TRY(const std::string text, base::ReadFile(path));
  const auto parsed = base::ParseJson(text, path);
  const std::string schema = parsed ? (*parsed)["schema"].AsString() : "";
  if (schema != kCapsuleSchema) {
    return base::Fail("EVID-0004", base::ExitCode::kInput,
                      parsed
                          ? fmt::format("schema `{}` is not {}", schema, kCapsuleSchema)
                          : "not a capsule: " + parsed.error().what,
                      path, "give the capsule.json that a review wrote");
  }
  return *parsed;
}

base::Result<ArtifactCheck> CheckArtifact(const Json& json, const std::string& capsule,
                                          const std::string& room) {
  ArtifactCheck check;
  check.artifact = {json["name"].AsString(), json["path"].AsString(),
                    json["sha256"].AsString()};
  if (!StaysInside(check.artifact.path)) {
    return base::Fail("EVID-0006", base::ExitCode::kIntegrity,
                      fmt::format("artifact `{}` has a path outside the room: {}",
                                  check.artifact.name, check.artifact.path),
                      capsule, "do not trust this capsule; ask for a new review");
  }
  const std::string path = base::JoinPath(room, check.artifact.path);
  if (!base::PathExists(path) || base::IsFolder(path)) return check;
  SS_TRY(check.found_sha256, base::Sha256OfFile(path));
  check.state = check.found_sha256 == check.artifact.sha256 ? ArtifactState::kIntact
                                                            : ArtifactState::kChanged;
  return check;
}

}  // namespace

Json CapsuleJson(const Review& review) {
  const Json whole = ToJson(review);
  Json json = whole["capsule"];
  json.Set("schema", kCapsuleSchema);
  for (const char* key : {"created_utc", "decision_reasons", "tags", "artifacts"}) {
    json.Set(key, whole[key]);
  }
  json.Set("requirements", VerdictsOf(whole["requirements"]));
  json.Set("digest", BodyDigest(json));
  return json;
}

std::string CapsuleText(const Json& capsule) {
  const auto line = [](std::string_view name, const std::string& value) {
    return fmt::format("{:<20} {}\n", name, value);
  };
  return line("PATH", OneLine(capsule["path"])) +
         line("WORKLOAD SLICE", OneLine(capsule["workload_slice"])) +
         line("PRIMARY METRIC", OneLine(capsule["primary_metric"])) +
         line("FIRST FAILING LAYER", OneLine(capsule["first_failing_layer"])) +
         line("OWNER", OneLine(capsule["owner"])) +
         line("PRIMARY ARTIFACT",
              fmt::format("{} sha256:{}", OneLine(capsule["primary_artifact"]),
                          OneLine(capsule["primary_artifact_sha256"]))) +
         line("DECISION", OneLine(capsule["decision"])) +
         fmt::format("\ncapsule sha256:{}\n", OneLine(capsule["digest"]));
}

bool CapsuleCheck::Intact() const {
  return std::ranges::all_of(artifacts, [](const ArtifactCheck& check) {
    return check.state == ArtifactState::kIntact;
  });
}

base::Result<CapsuleCheck> InspectCapsule(const std::string& path,
                                          const std::string& room) {
  CapsuleCheck check;
  SS_TRY(check.capsule, ReadCapsule(path));
  const std::string found = BodyDigest(check.capsule);
  if (found != check.capsule["digest"].AsString()) {
    return base::Fail(
        "EVID-0005", base::ExitCode::kIntegrity,
        fmt::format("the capsule was changed: its body has sha256 {}", found), path,
        "use the capsule that the review wrote, or run it again");
  }
  for (const Json& artifact : check.capsule["artifacts"].AsArray()) {
    SS_TRY(ArtifactCheck one, CheckArtifact(artifact, path, room));
    check.artifacts.push_back(std::move(one));
  }
  return check;
}

base::Result<CapsuleCheck> VerifyCapsule(const std::string& path,
                                         const std::string& room) {
  SS_TRY(CapsuleCheck check, InspectCapsule(path, room));
  if (check.Intact()) return check;
  std::vector<std::string> bad;
  for (const ArtifactCheck& one : check.artifacts) {
    if (one.state == ArtifactState::kIntact) continue;
    bad.push_back(
        fmt::format("{} is {}", one.artifact.path,
                    one.state == ArtifactState::kMissing ? "missing" : "changed"));
  }
  return base::Fail("EVID-0007", base::ExitCode::kIntegrity,
                    fmt::format("{} of {} artifacts do not match: {}", bad.size(),
                                check.artifacts.size(), fmt::join(bad, ", ")),
                    room, "restore these files, or run the review again");
}

}  // namespace stepslack::evidence
