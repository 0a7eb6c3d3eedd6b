#include "html_frame.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "chart_style.h"
#include "html_style.h"
#include "stepslack/render/html_report.h"

namespace stepslack::render {

std::string AnchorOf(std::string_view id, std::set<std::string>& taken) {
  std::string anchor;
  for (const char c : id.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    anchor += plain ? c : capital ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  if (anchor.empty()) anchor = "section";
  std::string unique = anchor;
  for (int i = 2; !taken.insert(unique).second; ++i)
    unique = fmt::format("{}-{}", anchor, i);
  return unique;
}

void WriteHead(Page& page, std::string_view title) {
  HtmlWriter& writer = page.writer();
  const auto head = writer.Open("head");
  writer.Empty("meta", {{"charset", "utf-8"}});
  writer.Empty(
      "meta",
      {{"http-equiv", "Content-Security-Policy"},
       {"content", "default-src 'none'; img-src data:; style-src 'unsafe-inline'"}});
  writer.Empty("meta", {{"name", "viewport"},
                        {"content", "width=device-width, initial-scale=1"}});
  writer.Empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  writer.Leaf("title", page.Cut(std::string(title) + " - Stepslack"));
  writer.Style(kColourCss);
  writer.Style(kPageCss);
  writer.Style(kChartCss);
}

void WriteContents(Page& page, const std::vector<Chapter>& chapters) {
  HtmlWriter& writer = page.writer();
  const auto nav = writer.Open("nav", {{"class", "toc"}, {"aria-label", "Contents"}});
  std::string_view group;
  for (const Chapter& chapter : chapters) {
    if (chapter.group != group) {
      group = chapter.group;
      writer.Leaf("span", {{"class", "label"}}, group);
    }
    writer.Leaf("a", {{"href", "#" + chapter.id}}, page.Cut(chapter.title));
    writer.Text("\n");
  }
}

void WriteCutNotice(Page& page, size_t sections) {
  const PageLimits& limits = page.limits();
  std::string text = fmt::format(
      "To stay under {} MB this page shows at most {} rows of each table and {} marks "
      "and "
      "{} map pixels a side in each figure",
      kMostHtmlBytes / 1'000'000, limits.rows, limits.marks, limits.map_side);
  if (limits.figures == 0) text += ", and no figures";
  if (limits.sections < sections) {
    text += fmt::format(", and {} of {} sections", limits.sections, sections);
  }
  page.writer().Leaf("p", {{"class", "cut"}},
                     text + ". The JSON report holds everything.");
}

void WriteFooter(HtmlWriter& writer) {
  const auto footer = writer.Open("footer");
  const auto inner = writer.Open("div", {{"class", "inner"}});
  writer.Leaf(
      "p",
      "This file cannot contact a network: it has no script, and its content "
      "security policy allows nothing but inline styles and the images embedded "
      "here.");
  writer.Leaf(
      "p",
      "Written by Stepslack. Every colour repeats what a word, a hatch or a marker "
      "says; a data table follows every figure.");
}

void WriteChapters(Page& page, const std::vector<Chapter>& chapters, bool reduced,
                   size_t sections) {
  HtmlWriter& writer = page.writer();
  const auto columns = writer.Open("div", {{"class", "page"}});
  WriteContents(page, chapters);
  const auto main = writer.Open("main");
  if (reduced) WriteCutNotice(page, sections);
  for (const Chapter& chapter : chapters) {
    if (writer.size() > kMostHtmlBytes) break;  // this page is thrown away
    const auto section = writer.Open("section", {{"id", chapter.id}});
    writer.Leaf("h2", page.Cut(chapter.title));
    chapter.write(page);
  }
}

std::string FitPage(
    const std::function<std::string(const PageLimits& limits, bool reduced)>& render) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  constexpr std::array<PageLimits, 7> kSteps = {{
      {500, 3000, 256, 20000, kAll, kAll},
      {200, 1500, 128, 20000, kAll, kAll},
      {100, 800, 96, 8000, kAll, kAll},
      {40, 300, 48, 4000, kAll, kAll},
      {20, 100, 32, 1000, 40, kAll},
      {20, 100, 32, 500, 0, 100},
      {10, 100, 32, 200, 0, 0},
  }};
  std::string page;
  for (size_t i = 0; i < kSteps.size(); ++i) {
    page = render(kSteps[i], i > 0);
    if (page.size() <= kMostHtmlBytes) break;
  }
  return page;
}

}  // namespace stepslack::render
