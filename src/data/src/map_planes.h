// What the planes of a map are: which channel is the current, how to walk channels and
// target alike.
#pragma once

#include <string>
#include <vector>

#include "stepslack/data/map_collection.h"

namespace stepslack::data {

// Position of the channel named "current", else of the first that is not a class; -1
// when there is none.
int CurrentChannel(const std::vector<Channel>& channels);

// The channels of a map in order, then its target.
std::vector<const std::vector<float>*> PlanesOf(const WholeMap& map);

bool IsConstant(const std::vector<float>& plane);

// Mean of |v| over finite values, 0 for none.
double MeanAbsolute(const std::vector<float>& plane);

}  // namespace stepslack::data
