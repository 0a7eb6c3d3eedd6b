// A dimension of a search as the interval [0, 1] on its own scale.
#pragma once

#include "stepslack/study/search.h"

namespace stepslack::study {

base::Json FromUnit(const SearchDimension& dimension, double unit);
double ToUnit(const SearchDimension& dimension, const base::Json& value);

}  // namespace stepslack::study
