// How much of a loss a cause explains, from the facts that its catalogue entry names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/diagnose/catalogue.h"

namespace stepslack::diagnose {

struct ExplainedShare {
  bool asked = false;                // the cause states a share of one of these losses
  std::optional<double> share = {};  // in [0, 1]; absent when it can not be computed
  std::string sentence = {};         // how it was computed, or why it was not
  std::vector<std::string> missing = {};  // facts that were not there
};

// The largest share over the `categories` that fail: one loss that is explained well is
// enough to name a layer.
ExplainedShare ComputeExplainedShare(const Cause& cause, const Facts& facts,
                                     const std::vector<std::string>& categories);

}  // namespace stepslack::diagnose
