// The evidence capsule: what was decided, on which digests. Anybody can recompute it.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/evidence/review.h"

namespace stepslack::evidence {

inline constexpr const char* kCapsuleSchema = "stepslack.capsule/1";

// Schema "stepslack.capsule/1": the fields of the capsule, tags, requirement verdicts,
// the digests of all artifacts, and `digest`: SHA-256 over the body without it, written
// on one line with sorted keys.
base::Json CapsuleJson(const Review& review);

// Seven lines with the field names in capitals, then the digest of `capsule`.
std::string CapsuleText(const base::Json& capsule);

enum class ArtifactState { kIntact, kChanged, kMissing };

struct ArtifactCheck {
  Artifact artifact;
  ArtifactState state = ArtifactState::kMissing;
  std::string found_sha256;  // empty when missing
};

struct CapsuleCheck {
  base::Json capsule;  // the body, once its own digest was found right
  std::vector<ArtifactCheck> artifacts;
  bool Intact() const;
};

// Reads the capsule at `path`, recomputes its own digest and those of the artifacts
// under `room`. Errors: EVID-0004 not a capsule, EVID-0005 its own digest does not
// match (exit 5), EVID-0006 an artifact path leaves the room (exit 5); unreadable file
// BASE-0001.
base::Result<CapsuleCheck> InspectCapsule(const std::string& path,
                                          const std::string& room);

// The same, but artifacts that are missing or changed are EVID-0007 (exit 5), which
// names each of them.
base::Result<CapsuleCheck> VerifyCapsule(const std::string& path,
                                         const std::string& room);

}  // namespace stepslack::evidence
