#include "stepslack/render/html_report.h"

#include <fmt/format.h>

#include <set>

#include "html_frame.h"
#include "html_parts.h"

namespace stepslack::render {
namespace {

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

std::string RenderPage(const Report& report, const PageLimits& limits, bool reduced) {
  Page page(limits);
  HtmlWriter& writer = page.writer();
  const std::vector<Chapter> chapters = ChaptersOf(report, limits);
  writer.Doctype();
  {
    const auto html = writer.Open("html", {{"lang", "en"}});
    WriteHead(page, report.review.framing.title);
    const auto body = writer.Open("body");
    WriteSlackPatterns(writer);
    WriteMasthead(page, report.review);
    WriteChapters(page, chapters, reduced, report.sections.size());
    WriteFooter(writer);
  }
  return writer.Take();
}

}  // namespace

std::string RenderHtml(const Report& report) {
  return FitPage([&report](const PageLimits& limits, bool reduced) {
    return RenderPage(report, limits, reduced);
  });
}

}  // namespace stepslack::render
