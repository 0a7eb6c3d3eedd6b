// Walks the root-cause tree: has a watched metric regressed? data? model? runtime?
// hardware? The first layer with a supported cause that can explain what fails is the
// first failing layer. See docs/causes.md.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/diagnose/catalogue.h"
#include "stepslack/diagnose/diagnosis.h"

namespace stepslack::diagnose {

// A requirement that is not met, in the words of the tree.
struct FailedRequirement {
  std::string id;        // "mae"
  std::string metric;    // key of the estimate
  std::string title;     // "MAE on unseen families"
  std::string category;  // one of KnownCategories(): what kind of metric it is
  base::Verdict verdict = base::Verdict::kViolated;
  std::string layer_hint =
      {};  // when it can fail in one layer only: that layer; else empty
};

// A stated explained share below this names no layer.
inline constexpr double kMinimumExplainedShare = 0.5;

// Every cause of the catalogue is evaluated and listed. Only a violated requirement
// counts as a regression; inconclusive and unmeasured ones are named in the reason and
// in `missing`. Abstains (layer "undetermined", primary empty) when no relevant cause
// is supported, when a supported competitor clashes, when the explained share is too
// small or can not be computed, and when an earlier layer could not be examined at all.
Diagnosis Diagnose(const Catalogue& catalogue, const Facts& facts,
                   const std::vector<FailedRequirement>& failed);

}  // namespace stepslack::diagnose
