#include "stepslack/render/html_report.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <set>

#include "chart_style.h"
#include "html_parts.h"
#include "html_style.h"

namespace stepslack::render {
namespace {

// A heading of the page: in the table of contents and in the body.
struct Chapter {
  std::string id;
  std::string title;
  std::string_view group;  // heading in the table of contents
  std::function<void(Page&)> write;
};

// Letters, digits and hyphens, unique in `taken`. Ids inside figures hold an
// underscore, so that no section can take one of them.
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

void AddVerdictChapters(const evidence::Review& review,
                        std::vector<Chapter>& chapters) {
  const auto add = [&](std::string id, std::string title, auto write) {
    chapters.push_back({std::move(id), std::move(title), "Verdict",
                        [write, &review](Page& page) { write(page, review); }});
  };
  add("requirements", "Requirements by slack", WriteRequirements);
  add("diagnosis", "Diagnosis", [](Page& page, const evidence::Review& it) {
    WriteDiagnosis(page, it.diagnosis);
  });
  if (!review.checklist.empty()) {
    add("checklist", "Evidence checklist", WriteChecklist);
  }
  if (!review.prompts.empty()) add("prompts", "Review prompts", WritePrompts);
  if (!review.risks.empty()) add("risks", "Risk bars", WriteRisks);
}

void AddDocumentChapters(const evidence::Review& review,
                         std::vector<Chapter>& chapters) {
  const auto add = [&](std::string id, std::string title, auto write) {
    chapters.push_back({std::move(id), std::move(title), "Documents",
                        [write, &review](Page& page) { write(page, review); }});
  };
  add("review-memo", "Review memo", WriteReviewMemo);
  add("decision-memo", "Decision memo", WriteDecisionMemo);
  add("capsule", "Evidence capsule", WriteCapsule);
  add("rollback", "Rollback plan and owners",
      [](Page& page, const evidence::Review& it) { WriteRollback(page, it.framing); });
  add("artifacts", "Artifacts and digests", WriteArtifacts);
}

std::vector<Chapter> ChaptersOf(const Report& report, const PageLimits& limits) {
  std::vector<Chapter> chapters;
  AddVerdictChapters(report.review, chapters);
  const size_t first = chapters.size();
  const size_t shown = std::min(report.sections.size(), limits.sections);
  for (size_t i = 0; i < shown; ++i) {
    const Section& section = report.sections[i];
    chapters.push_back({section.id, section.title, "Evidence",
                        [&section](Page& page) { WriteSectionBody(page, section); }});
  }
  AddDocumentChapters(report.review, chapters);
  std::set<std::string> taken;
  // The page's own anchors are fixed; a section that has the same id gives way.
  for (size_t i = 0; i < chapters.size(); ++i) {
    if (i < first || i >= first + shown) taken.insert(chapters[i].id);
  }
  for (size_t i = first; i < first + shown; ++i) {
    chapters[i].id = AnchorOf(chapters[i].id, taken);
  }
  return chapters;
}

void WriteHead(Page& page, const Report& report) {
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
  writer.Leaf("title", page.Cut(report.review.framing.title + " - Stepslack"));
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

void WriteCutNotice(Page& page, const Report& report, bool reduced) {
  if (!reduced) return;
  const PageLimits& limits = page.limits();
  std::string text = fmt::format(
      "To stay under {} MB this page shows at most {} rows of each table and {} marks "
      "and "
      "{} map pixels a side in each figure",
      kMostHtmlBytes / 1'000'000, limits.rows, limits.marks, limits.map_side);
  if (limits.figures == 0) text += ", and no figures";
  if (limits.sections < report.sections.size()) {
    text +=
        fmt::format(", and {} of {} sections", limits.sections, report.sections.size());
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

std::string RenderPage(const Report& report, const PageLimits& limits, bool reduced) {
  Page page(limits);
  HtmlWriter& writer = page.writer();
  const std::vector<Chapter> chapters = ChaptersOf(report, limits);
  writer.Doctype();
  {
    const auto html = writer.Open("html", {{"lang", "en"}});
    WriteHead(page, report);
    const auto body = writer.Open("body");
    WriteSlackPatterns(writer);
    WriteMasthead(page, report.review);
    {
      const auto columns = writer.Open("div", {{"class", "page"}});
      WriteContents(page, chapters);
      const auto main = writer.Open("main");
      WriteCutNotice(page, report, reduced);
      for (const Chapter& chapter : chapters) {
        if (writer.size() > kMostHtmlBytes) break;  // this page is thrown away
        const auto section = writer.Open("section", {{"id", chapter.id}});
        writer.Leaf("h2", page.Cut(chapter.title));
        chapter.write(page);
      }
    }
    WriteFooter(writer);
  }
  return writer.Take();
}

}  // namespace

std::string RenderHtml(const Report& report) {
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
    page = RenderPage(report, kSteps[i], i > 0);
    if (page.size() <= kMostHtmlBytes) break;
  }
  return page;
}

}  // namespace stepslack::render
