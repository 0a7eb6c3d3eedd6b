#include <fmt/format.h>

#include "display_text.h"
#include "html_parts.h"

namespace stepslack::render {
namespace {

using evidence::Decision;

std::string_view DecisionClass(Decision decision) {
  switch (decision) {
    case Decision::kShip:
      return "decision ship";
    case Decision::kRollback:
      return "decision rollback";
    case Decision::kBoundedPilot:
      return "decision pilot";
    case Decision::kEscalate:
      return "decision escalate";
  }
  return "decision escalate";
}

// Each decision has a shape of its own: tick, arrow back, half disc, arrow up.
std::string_view DecisionShape(Decision decision) {
  switch (decision) {
    case Decision::kShip:
      return "M13,22L19,28L30,15";
    case Decision::kRollback:
      return "M20,12L12,19L20,26M12,19H25a6,6,0,0,1,0,12H19";
    case Decision::kBoundedPilot:
      return "M21,7A14,14,0,0,0,21,35Z";
    case Decision::kEscalate:
      return "M21,30V13M13,20L21,12L29,20";
  }
  return "";
}

void WriteHeadline(HtmlWriter& writer, Decision decision) {
  const auto line = writer.Open("div", {{"class", "headline"}});
  {
    const auto svg =
        writer.Open("svg", {{"viewBox", "0 0 42 42"}, {"aria-hidden", "true"}});
    writer.Empty("circle", {{"cx", 21},
                            {"cy", 21},
                            {"r", 18.5},
                            {"fill", "none"},
                            {"stroke", "currentColor"},
                            {"stroke-width", 3}});
    const bool solid = decision == Decision::kBoundedPilot;
    writer.Empty("path", {{"d", DecisionShape(decision)},
                          {"fill", solid ? "currentColor" : "none"},
                          {"stroke", "currentColor"},
                          {"stroke-width", 3}});
  }
  const auto words = writer.Open("div");
  writer.Leaf("span", {{"class", "label"}}, "Decision");
  std::string name(evidence::ToString(decision));
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  writer.Leaf("strong", name);
}

void WriteDecision(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  const auto box = writer.Open("div", {{"class", DecisionClass(review.decision)}});
  WriteHeadline(writer, review.decision);
  if (review.decision_reasons.empty()) return;
  const auto reasons = writer.Open("ul", {{"class", "reasons"}});
  for (size_t i = 0; i < page.Rows(review.decision_reasons.size()); ++i) {
    writer.Leaf("li", page.Cut(review.decision_reasons[i]));
  }
}

void WriteTile(Page& page, std::string_view label, std::string_view text) {
  HtmlWriter& writer = page.writer();
  const auto tile = writer.Open("div", {{"class", "tile"}});
  writer.Leaf("span", {{"class", "label"}}, label);
  writer.Leaf("b", page.Cut(text));
}

std::string WorstSlack(const evidence::Review& review) {
  if (review.requirements.empty()) return "no requirements";
  const auto& worst = review.requirements[WorstFirst(review.requirements).front()];
  const std::string_view word = VerdictWord(worst.slack.verdict);
  if (!worst.slack.margin) return fmt::format("{}: {}", worst.requirement.title, word);
  return fmt::format("{} on {} ({})", SlackText(worst), worst.requirement.title, word);
}

void WriteTags(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  const auto list = writer.Open("dl", {{"class", "tags"}});
  const auto item = [&](std::string_view name, std::string_view value, bool digest) {
    const auto pair = writer.Open("div");
    writer.Leaf("dt", name);
    writer.Leaf("dd", {{"class", "mono"}, Attribute::When(digest, "title", value)},
                digest ? ShortDigest(value) : page.Cut(value));
  };
  item("dataset", review.tags.dataset, true);
  item("model", review.tags.model, true);
  item("runtime", review.tags.runtime, true);
  item("hardware", review.tags.hardware, true);
  item("created", review.created_utc, false);
}

}  // namespace

void WriteMasthead(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  const auto mast = writer.Open("header", {{"class", "mast"}});
  const auto inner = writer.Open("div", {{"class", "inner"}});
  {
    const auto brand = writer.Open("p", {{"class", "brand"}});
    writer.Leaf("b", "Stepslack");
    writer.Text(" sign-off report");
  }
  writer.Leaf("h1", page.Cut(review.framing.title));
  if (!review.framing.path.empty())
    WriteParagraph(page, review.framing.path, "path mono");
  {
    const auto summary = writer.Open("div", {{"class", "summary"}});
    WriteDecision(page, review);
    const auto tiles = writer.Open("div", {{"class", "tiles"}});
    WriteTile(page, "Worst slack", WorstSlack(review));
    WriteTile(page, "Requirements", CountVerdicts(review.requirements));
    WriteTile(page, "First failing layer", review.diagnosis.layer);
    WriteTile(page, "Primary metric",
              review.capsule.primary_metric.empty() ? std::string_view("not stated")
                                                    : review.capsule.primary_metric);
  }
  WriteTags(page, review);
}

}  // namespace stepslack::render
