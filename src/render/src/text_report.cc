#include "stepslack/render/text_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "display_text.h"
#include "text_table.h"

namespace stepslack::render {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kLabel = 10;  // columns of "Decision", "Layer", ...
constexpr size_t kMostReasons = 4;
constexpr size_t kMostRequirements = 14;
constexpr size_t kMostFindings = 6;
constexpr size_t kMostArtifacts = 5;

constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReset = "\x1b[0m";

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  std::string_view Ansi(std::string_view sequence) const {
    return colour_ ? sequence : std::string_view();
  }
  void Line(std::string_view text = {}) {
    text_ += text;
    text_ += '\n';
  }
  void Heading(const std::string& text) {
    Line();
    const std::string cut = CutText(text, kWidth);
    Line(fmt::format("{}{}{}", Ansi(kBold), cut, Ansi(kReset)));
  }
  // "Label     text", wrapped under itself.
  void Labelled(std::string_view label, const std::string& value, size_t most_lines,
                std::string_view colour = {}) {
    const auto lines = WrapColumns(OneLine(value), kWidth - kLabel, most_lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string_view reset = colour.empty() ? std::string_view() : kReset;
      Line(fmt::format("{:<{}}{}{}{}", i == 0 ? label : "", kLabel, Ansi(colour),
                       lines[i], Ansi(reset)));
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  bool colour_;
  std::string text_;
};

std::string_view ColourOf(base::Verdict verdict) {
  if (verdict == base::Verdict::kMet) return kGreen;
  if (verdict == base::Verdict::kInconclusive) return kYellow;
  return kRed;
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

void WriteDecision(const evidence::Review& review, Page& page) {
  page.Line(CutText(fmt::format("Stepslack review: {}", OneLine(review.framing.title)),
                    kWidth));
  page.Line();
  page.Labelled("Decision", Upper(evidence::ToString(review.decision)), 1, kBold);
  const size_t shown = std::min(review.decision_reasons.size(), kMostReasons);
  for (size_t i = 0; i < shown; ++i) {
    page.Labelled("", "- " + review.decision_reasons[i], 2);
  }
  if (shown < review.decision_reasons.size()) {
    page.Labelled("",
                  fmt::format("- and {} more reasons in the report",
                              review.decision_reasons.size() - shown),
                  1);
  }
  const diagnose::Diagnosis& diagnosis = review.diagnosis;
  page.Labelled("Layer",
                diagnosis.reason.empty()
                    ? diagnosis.layer
                    : fmt::format("{}: {}", diagnosis.layer, diagnosis.reason),
                3);
  const evidence::Tags& tags = review.tags;
  page.Labelled("Tags",
                fmt::format("dataset {}  model {}  runtime {}  hardware {}",
                            ShortDigest(tags.dataset), ShortDigest(tags.model),
                            ShortDigest(tags.runtime), ShortDigest(tags.hardware)),
                1);
}

std::string EstimateColumn(const evidence::RequirementResult& result) {
  if (!result.estimate) return "not run";
  const std::string interval = IntervalText(*result.estimate);
  const std::string value = ValueText(*result.estimate);
  if (!result.estimate->value && !result.estimate->method.empty()) {
    return value + ": " + result.estimate->method;
  }
  return interval.empty() ? value : value + " " + interval;
}

void WriteRequirements(const evidence::Review& review, Page& page) {
  page.Heading(fmt::format("Requirements, worst slack first ({})",
                           CountVerdicts(review.requirements)));
  const std::vector<TextColumn> columns = {{"id", false, 8},   {"estimate", false, 22},
                                           {"n", true, 3},     {"bound", false, 8},
                                           {"slack", true, 8}, {"verdict", false, 7},
                                           {"owner", false, 8}};
  const std::vector<size_t> order = WorstFirst(review.requirements);
  std::vector<std::vector<TextCell>> rows;
  for (const size_t i : order) {
    if (rows.size() == kMostRequirements) break;
    const evidence::RequirementResult& result = review.requirements[i];
    rows.push_back({{OneLine(result.requirement.id), ""},
                    {OneLine(EstimateColumn(result)), ""},
                    {result.estimate ? std::to_string(result.estimate->n) : "-", ""},
                    {OneLine(BoundText(result.requirement, Signs::kAscii)), ""},
                    {SlackText(result), ""},
                    {std::string(VerdictWord(result.slack.verdict)),
                     page.Ansi(ColourOf(result.slack.verdict))},
                    {OneLine(result.requirement.owner), ""}});
  }
  for (const std::string& line : FormatTable(columns, rows, kWidth - 2)) {
    page.Line("  " + line);
  }
  if (rows.size() < order.size()) {
    std::vector<evidence::RequirementResult> rest;
    for (size_t i = rows.size(); i < order.size(); ++i) {
      rest.push_back(review.requirements[order[i]]);
    }
    page.Line(
        fmt::format("  and {} with more slack: {}", rest.size(), CountVerdicts(rest)));
  }
}

void WriteFindings(const Report& report, Page& page) {
  size_t shown = 0;
  size_t left = 0;
  for (const Section& section : report.sections) {
    if (section.text.empty()) continue;
    if (shown == kMostFindings) {
      ++left;
      continue;
    }
    if (shown == 0) page.Heading("Findings");
    ++shown;
    const auto lines = WrapColumns(
        OneLine(section.title) + ": " + OneLine(section.text.front()), kWidth - 4, 2);
    for (size_t i = 0; i < lines.size(); ++i) {
      page.Line((i == 0 ? "  " : "    ") + lines[i]);
    }
  }
  if (left > 0) page.Line(fmt::format("  and {} more sections in the report", left));
}

void WriteArtifacts(const evidence::Review& review, Page& page) {
  if (review.artifacts.empty()) return;
  page.Heading("Artifacts");
  std::vector<std::vector<TextCell>> rows;
  for (const evidence::Artifact& artifact : review.artifacts) {
    if (rows.size() == kMostArtifacts) break;
    rows.push_back({{OneLine(artifact.name), ""},
                    {OneLine(artifact.path), ""},
                    {ShortDigest(artifact.sha256), ""}});
  }
  const std::vector<TextColumn> columns = {
      {"name", false, 12}, {"path", false, 20}, {"sha256", false, 12}};
  for (const std::string& line : FormatTable(columns, rows, kWidth - 2)) {
    page.Line("  " + line);
  }
  if (rows.size() < review.artifacts.size()) {
    page.Line(fmt::format("  and {} more, with digests, in the report",
                          review.artifacts.size() - rows.size()));
  }
}

}  // namespace

std::string RenderText(const Report& report, bool colour) {
  Page page(colour);
  WriteDecision(report.review, page);
  WriteRequirements(report.review, page);
  WriteFindings(report, page);
  WriteArtifacts(report.review, page);
  return page.Take();
}

}  // namespace stepslack::render
