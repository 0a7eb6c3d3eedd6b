// Where the pads of a family stand.
#pragma once

#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/eda/floorplan.h"

namespace stepslack::eda {

// At least two pads, all on tiles that carry a stripe in every template, so that a
// re-drawn template map never leaves a pad without metal. Counts grow with the area, so
// that the load of a pad does not depend on `tiles`.
std::vector<Pad> PlacePads(PadStyle style, int tiles, base::Random& random);

}  // namespace stepslack::eda
