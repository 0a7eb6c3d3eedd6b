#include "html_frame.h"
#include "stepslack/render/document.h"
#include "stepslack/render/html_report.h"

namespace stepslack::render {
namespace {

std::vector<Chapter> ChaptersOf(const Document& document, const PageLimits& limits) {
  std::vector<Chapter> chapters;
  std::set<std::string> taken;
  for (const Section& section : document.sections) {
    if (chapters.size() == limits.sections) break;
    chapters.push_back({AnchorOf(section.id, taken), section.title, "",
                        [&section](Page& page) { WriteSectionBody(page, section); }});
  }
  return chapters;
}

void WriteTitle(Page& page, const Document& document) {
  HtmlWriter& writer = page.writer();
  const auto header = writer.Open("header");
  const auto inner = writer.Open("div", {{"class", "inner"}});
  writer.Leaf("h1", page.Cut(document.title));
  for (const std::string& line : document.lead) writer.Leaf("p", page.Cut(line));
}

std::string RenderPage(const Document& document, const PageLimits& limits,
                       bool reduced) {
  Page page(limits);
  HtmlWriter& writer = page.writer();
  const std::vector<Chapter> chapters = ChaptersOf(document, limits);
  writer.Doctype();
  {
    const auto html = writer.Open("html", {{"lang", "en"}});
    WriteHead(page, document.title);
    const auto body = writer.Open("body");
    WriteTitle(page, document);
    WriteChapters(page, chapters, reduced, document.sections.size());
    WriteFooter(writer);
  }
  return writer.Take();
}

}  // namespace

std::string RenderHtml(const Document& document) {
  return FitPage([&document](const PageLimits& limits, bool reduced) {
    return RenderPage(document, limits, reduced);
  });
}

}  // namespace stepslack::render
