#include "wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "stepslack/base/text.h"
#include "stepslack/evidence/review_json.h"

namespace stepslack::evidence {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::string ShortEstimate(const base::Estimate& estimate) {
  if (!estimate.value) return "no value";
  const bool plain = estimate.unit.empty() || estimate.unit == "1";
  return base::Human(*estimate.value) + (plain ? "" : " " + estimate.unit);
}

// "1.5 x, REFERENCE is better" for two measurements where less is better.
std::string Ratio(const base::Estimate& model, const base::Estimate& reference,
                  const std::string& reference_name, std::string_view better) {
  if (!model.value || !reference.value || *reference.value <= 0 ||
      model.unit != reference.unit) {
    return "no ratio can be formed";
  }
  const double ratio = *model.value / *reference.value;
  // Without intervals, or where they meet, neither side is known to win.
  const bool below = model.high && reference.low && *model.high < *reference.low;
  const bool above = model.low && reference.high && *model.low > *reference.high;
  if (!below && !above) {
    return fmt::format("{} x, not separable: the intervals meet", base::Human(ratio));
  }
  return fmt::format("{} x, the {} is {}", base::Human(ratio),
                     below ? "model" : reference_name, better);
}

std::string Compare(const std::optional<base::Estimate>& model,
                    const std::optional<base::Estimate>& reference,
                    const std::string& reference_name, std::string_view better) {
  const std::string name = reference_name.empty() ? "reference" : reference_name;
  std::string text = fmt::format("model {}", base::Describe(*model));
  if (!reference) return text + fmt::format("; {} not measured", name);
  return text + fmt::format(" against {} {}: {}", name, base::Describe(*reference),
                            Ratio(*model, *reference, name, better));
}

}  // namespace

base::Result<Subject> FindSubject(const ReviewInputs& inputs) {
  Subject subject;
  std::vector<RequirementResult> results;
  std::vector<std::string> ids;
  for (const GatedRequirement& gated : inputs.requirements) {
    const RequirementResult& result = gated.result;
    ids.push_back(result.requirement.id);
    results.push_back(result);
    if (ids.back() == inputs.primary_requirement) subject.requirement = &result;
  }
  if (subject.requirement == nullptr) {
    return base::Fail("EVID-0002", base::ExitCode::kUsage,
                      fmt::format("primary requirement `{}` is not in the review",
                                  inputs.primary_requirement),
                      "review",
                      ids.empty()
                          ? "state at least one requirement"
                          : fmt::format("requirements: {}", fmt::join(ids, ", ")));
  }
  subject.artifact = FindArtifact(inputs.artifacts, inputs.primary_artifact);
  if (subject.artifact == nullptr || !IsDigest(subject.artifact->sha256)) {
    std::vector<std::string> names;
    for (const Artifact& artifact : inputs.artifacts) names.push_back(artifact.name);
    return base::Fail(
        "EVID-0003", base::ExitCode::kUsage,
        fmt::format("no artifact with a digest is named `{}`", inputs.primary_artifact),
        "review", fmt::format("artifacts: {}", fmt::join(names, ", ")));
  }
  for (const diagnose::CauseFinding& cause : inputs.diagnosis.causes) {
    if (!inputs.diagnosis.primary.empty() && cause.id == inputs.diagnosis.primary) {
      subject.cause = &cause;
    }
  }
  const std::string role = subject.cause != nullptr
                               ? subject.cause->owner
                               : SortedBySlack(results).front().requirement.owner;
  subject.owner = NameOwner(inputs.framing, role);
  return subject;
}

base::Status RequireFields(std::string_view document,
                           const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (!base::Trim(field.text).empty()) continue;
    return base::Fail(
        "EVID-0001", base::ExitCode::kUsage,
        fmt::format("field `{}` of the {} would be empty", field.name, document),
        std::string(document),
        "give the value in review.toml or run the stage that measures it");
  }
  return {};
}

std::string NameOwner(const Framing& framing, const std::string& role) {
  const auto found = framing.owners.find(role);
  if (found == framing.owners.end() || base::Trim(found->second).empty()) return role;
  return fmt::format("{} ({})", role, found->second);
}

std::string NameRequiredOwners(const Framing& framing) {
  std::vector<std::string> names;
  for (const char* role : kRequiredOwners) {
    names.push_back(NameOwner(framing, role));
    if (names.back() == role) return "";
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

const Artifact* FindArtifact(const std::vector<Artifact>& artifacts,
                             std::string_view name) {
  for (const Artifact& artifact : artifacts) {
    if (EqualIgnoringCase(artifact.name, name)) return &artifact;
  }
  return nullptr;
}

std::string CiteArtifact(const Artifact& artifact) {
  return fmt::format("{} ({}, sha256 {})", artifact.name, artifact.path,
                     ShortDigest(artifact.sha256));
}

std::string ShortDigest(std::string_view sha256) {
  return std::string(sha256.substr(0, 12));
}

bool IsDigest(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string Describe(const NamedEstimate& named) {
  return fmt::format("{}: {}", named.label, base::Describe(named.estimate));
}

std::string DescribeTrend(const std::vector<NamedEstimate>& history) {
  if (history.size() < 2) return "first measurement, no trend";
  const NamedEstimate& first = history.front();
  const NamedEstimate& last = history.back();
  std::string text = fmt::format("{} ({}) to {} ({})", ShortEstimate(first.estimate),
                                 first.label, ShortEstimate(last.estimate), last.label);
  if (first.estimate.value && last.estimate.value && *first.estimate.value != 0) {
    text += fmt::format(", {:+.1f} % over {} step(s)",
                        100 * (*last.estimate.value / *first.estimate.value - 1),
                        history.size() - 1);
  }
  return text;
}

std::string DescribeSlice(const NamedEstimate& slice, const base::Estimate& whole) {
  std::string text = Describe(slice);
  if (slice.estimate.value && whole.value && *whole.value != 0 &&
      slice.estimate.unit == whole.unit) {
    text += fmt::format(", {} x the whole test set",
                        base::Human(*slice.estimate.value / *whole.value));
  }
  return text;
}

std::string CountVerdicts(const std::vector<GatedRequirement>& requirements) {
  std::map<base::Verdict, int> counts;
  for (const GatedRequirement& gated : requirements)
    ++counts[gated.result.slack.verdict];
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, base::ToString(verdict)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string CompareLatency(const ProfileFacts& profile) {
  if (!profile.model_latency) return "not measured";
  return Compare(profile.model_latency, profile.reference_latency,
                 profile.reference_name, "faster");
}

std::string ComparePower(const ProfileFacts& profile) {
  if (!profile.model_energy || !profile.model_energy->value) {
    return profile.power_note.empty() ? "not measured"
                                      : "not measured, " + profile.power_note;
  }
  return Compare(profile.model_energy, profile.reference_energy, profile.reference_name,
                 "thriftier");
}

}  // namespace stepslack::evidence
