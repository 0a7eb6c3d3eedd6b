// Sections with a title, without the verdicts of a review: what `measure` and `compare`
// print as markdown and HTML.
#pragma once

#include <string>
#include <vector>

#include "stepslack/render/report.h"

namespace stepslack::render {

struct Document {
  std::string title;
  std::vector<std::string> lead;  // lines under the title
  std::vector<Section> sections;
};

std::string RenderMarkdown(const Document& document);
// One file, at most kMostHtmlBytes, offline, without script; see html_report.h.
std::string RenderHtml(const Document& document);

}  // namespace stepslack::render
