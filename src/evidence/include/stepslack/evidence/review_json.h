// The review as JSON, and the order in which requirements are shown.
#pragma once

#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/evidence/review.h"

namespace stepslack::evidence {

inline constexpr const char* kReviewSchema = "stepslack.review/1";

// Schema "stepslack.review/1": the keys are the fields of Review, sorted.
base::Json ToJson(const Review& review);

// Worst first: errors and what was not run, then by slack in percent, ascending. Where
// the bound is 0 there is no percent: a negative margin is the worst, zero is zero
// slack, a positive one the best. Equal ones keep the order of the file.
std::vector<RequirementResult> SortedBySlack(
    const std::vector<RequirementResult>& list);

}  // namespace stepslack::evidence
