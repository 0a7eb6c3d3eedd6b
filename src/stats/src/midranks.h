// Ranks 1 to n in the order of the input; equal values share the mean of theirs.
#pragma once

#include <span>
#include <vector>

namespace stepslack::stats {

std::vector<double> Midranks(std::span<const double> values);

}  // namespace stepslack::stats
