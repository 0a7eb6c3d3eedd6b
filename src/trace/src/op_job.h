// The description of a traced job: flat YAML, completed from the trace itself.
#pragma once

#include <string_view>

#include "stepslack/trace/op_trace.h"

namespace stepslack::trace {

// What the text says; 0 and "" where it says nothing. Lines that are not `key: value`,
// unusable sizes and unknown keys are counted.
OpJob ParseOpJob(std::string_view text, ImportStats& stats);

// Fills the sizes that are 0 from the columns and checks the world size.
void CompleteOpJob(OpTrace& trace);

}  // namespace stepslack::trace
