// Checks that every view of a map can be scored.
#pragma once

#include <span>

#include "stepslack/base/result.h"
#include "stepslack/quality/map_quality.h"

namespace stepslack::quality {

// QUAL-0002, QUAL-0003 or QUAL-0004 of map_quality.h.
base::Status CheckMaps(std::span<const MapView> maps);

}  // namespace stepslack::quality
