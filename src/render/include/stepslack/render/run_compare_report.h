// The comparison of two sets of training runs by their time to accuracy.
#pragma once

#include <string>

#include "stepslack/analyze/run_compare.h"
#include "stepslack/render/document.h"

namespace stepslack::render {

Document RunCompareDocument(const analyze::RunComparison& comparison);
// For a terminal, at most 100 columns.
std::string RenderRunCompareText(const analyze::RunComparison& comparison);

}  // namespace stepslack::render
