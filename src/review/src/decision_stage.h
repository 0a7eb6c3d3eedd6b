// From measurements to a review: facts, diagnosis, requirements, documents.
#pragma once

#include <string>
#include <vector>

#include "measurements.h"
#include "stepslack/base/result.h"
#include "stepslack/diagnose/catalogue.h"
#include "stepslack/evidence/review.h"
#include "stepslack/study/launcher.h"

namespace stepslack::review {

struct DecisionInputs {
  const ReviewConfig& config;
  const DataStages& data;
  const TrainStages& runs;
  const Measurements& measured;
  const study::Launcher& launcher;
  const diagnose::Catalogue& catalogue;
  std::vector<evidence::Artifact> artifacts;
};

base::Result<evidence::Review> DecideReview(const DecisionInputs& in);

}  // namespace stepslack::review
