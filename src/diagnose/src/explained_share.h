// How much of a loss a cause explains, from the facts that its catalogue entry names.
#pragma once

#include <optional>
#include <string>

#include "stepslack/diagnose/catalogue.h"

namespace stepslack::diagnose {

struct ExplainedShare {
  bool asked = false;                // the catalogue entry states one
  std::optional<double> share;       // in [0, 1]; absent when it can not be computed
  std::string sentence;              // how it was computed, or why it was not
  std::vector<std::string> missing;  // facts that were not there
};

ExplainedShare ComputeExplainedShare(const Cause& cause, const Facts& facts);

}  // namespace stepslack::diagnose
