// Words that several documents share: owners, digests, fields that must not be empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/evidence/documents.h"

namespace stepslack::evidence {

// What the documents are about, looked up once. Points into the inputs.
struct Subject {
  const RequirementResult* requirement = nullptr;  // the primary one
  const Artifact* artifact = nullptr;              // the primary one
  const diagnose::CauseFinding* cause = nullptr;   // null when undetermined
  std::string owner;  // who applies the fix, else who answers for the worst slack
};

base::Result<Subject> FindSubject(const ReviewInputs& inputs);

struct Field {
  std::string_view name;
  std::string_view text;
};
// EVID-0001 for the first field that is empty or blank.
base::Status RequireFields(std::string_view document, const std::vector<Field>& fields);

// "cluster engineer (J. Doe)", or the role alone when nobody is named.
std::string NameOwner(const Framing& framing, const std::string& role);
// All required owners; "" when one of them is not named.
std::string NameRequiredOwners(const Framing& framing);

const Artifact* FindArtifact(const std::vector<Artifact>& artifacts,
                             std::string_view name);  // letter case is ignored
// "split audit (audit.json, sha256 0123456789ab)".
std::string CiteArtifact(const Artifact& artifact);

std::string ShortDigest(std::string_view sha256);  // first 12 digits
bool IsDigest(std::string_view text);              // 64 hexadecimal digits

// "label: 0.8 [0.7, 0.9] (95 %, n = 3 seeds)".
std::string Describe(const NamedEstimate& named);

// "0.35 mV (baseline) to 0.23 mV (now), -34.3 % over 2 steps".
std::string DescribeTrend(const std::vector<NamedEstimate>& history);

// "slice: 0.3 mV [...], 1.5 x the whole test set".
std::string DescribeSlice(const NamedEstimate& slice, const base::Estimate& whole);

// Every requirement with its state, counted: "5 met, 1 inconclusive, 1 violated".
std::string CountVerdicts(const std::vector<GatedRequirement>& requirements);

// "model 12 ms [...] against exact solver 8 ms [...]: 1.5 x, the exact solver is
// faster".
std::string CompareLatency(const ProfileFacts& profile);
std::string ComparePower(const ProfileFacts& profile);

}  // namespace stepslack::evidence
