// What a diagnosis may look at: named measurements with the artifact each came from.
// A fact that is absent is not zero: a cause whose evidence is missing can not be
// decided.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::diagnose {

struct Fact {
  base::Estimate estimate;
  std::string artifact;  // name of the report section or file that proves it
};

// Names are dotted and fixed, e.g. "split.leaked_rows_share", "comm.exposed_share",
// "scaling.strong_efficiency", "repro.parameters_equal" (1 or 0). docs/causes.md lists
// them.
using Facts = std::map<std::string, Fact, std::less<>>;

}  // namespace stepslack::diagnose
