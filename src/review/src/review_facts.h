// Turns measurements into the two vocabularies of the decision: facts for the
// root-cause tree and estimates for the requirements.
#pragma once

#include <optional>
#include <string>

#include "measurements.h"
#include "stepslack/base/estimate.h"
#include "stepslack/diagnose/facts.h"

namespace stepslack::review {

struct MetricValue {
  std::optional<base::Estimate> estimate;
  std::string artifact;  // section of the report that shows it
};

// Estimate of a metric of metrics.h; no estimate when this review could not measure it.
MetricValue ValueOf(std::string_view metric, const DataStages& data,
                    const Measurements& measured);

diagnose::Facts CollectFacts(const DataStages& data, const TrainStages& runs,
                             const Measurements& measured);

}  // namespace stepslack::review
