// The report as one HTML file that needs nothing else and can not contact a network: no
// script, a content security policy that allows inline styles and embedded images only.
#pragma once

#include <cstddef>
#include <string>

#include "stepslack/render/report.h"

namespace stepslack::render {

inline constexpr size_t kMostHtmlBytes = 2'000'000;

// At most kMostHtmlBytes: when the report is larger, tables and lists are cut, maps
// become coarser and, at last, figures and sections are left out; the page says so and
// how much.
std::string RenderHtml(const Report& report);

}  // namespace stepslack::render
