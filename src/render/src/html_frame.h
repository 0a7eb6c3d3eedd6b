// The frame of a page: head, contents, notices, footer, and how it is made to fit.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "html_parts.h"

namespace stepslack::render {

// A heading of the page: in the table of contents and in the body.
struct Chapter {
  std::string id;
  std::string title;
  std::string_view group;  // heading in the table of contents
  std::function<void(Page&)> write;
};

// Letters, digits and hyphens, unique in `taken`. Ids inside figures hold an
// underscore, so that no section can take one of them.
std::string AnchorOf(std::string_view id, std::set<std::string>& taken);

void WriteHead(Page& page, std::string_view title);
void WriteContents(Page& page, const std::vector<Chapter>& chapters);
// Says how much of `sections` sections the page shows.
void WriteCutNotice(Page& page, size_t sections);
void WriteFooter(HtmlWriter& writer);
// Contents and chapters side by side; `reduced`: with a notice of what was cut.
void WriteChapters(Page& page, const std::vector<Chapter>& chapters, bool reduced,
                   size_t sections);

// The first of ever smaller renderings that fits kMostHtmlBytes.
std::string FitPage(
    const std::function<std::string(const PageLimits& limits, bool reduced)>& render);

}  // namespace stepslack::render
