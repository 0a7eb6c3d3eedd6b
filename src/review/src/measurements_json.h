// All measurements of a review as JSON, for review.json: the numbers behind the
// sections.
#pragma once

#include "data_stages.h"
#include "measurements.h"
#include "stepslack/base/json.h"

namespace stepslack::review {

base::Json MeasurementsJson(const DataStages& data, const Measurements& measured);

}  // namespace stepslack::review
