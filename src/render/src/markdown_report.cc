#include "stepslack/render/markdown_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "display_text.h"
#include "documents.h"
#include "figure_table.h"
#include "stepslack/base/text.h"
#include "stepslack/render/document.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostRows = 100;

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Escaped text that begins a line, where "#", "-" or "1." would begin a block.
std::string Paragraph(std::string_view text) {
  std::string out = EscapeMarkdown(text);
  const size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
  const bool block =
      !out.empty() && std::string_view("#+-=").find(out[0]) != std::string_view::npos;
  const bool list =
      digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')');
  if (block) out.insert(0, "\\");
  if (list) out.insert(digits, "\\");
  return out;
}

base::Status RequireFilled(std::string_view document,
                           const std::vector<DocumentField>& fields) {
  for (const DocumentField& field : fields) {
    if (!base::Trim(field.value).empty()) continue;
    return base::Fail("RENDER-0001", base::ExitCode::kInternal,
                      fmt::format("the field '{}' is empty", field.name),
                      std::string(document),
                      "a document with a hole is not issued; run the stage that fills "
                      "this field, then review again");
  }
  return {};
}

void AppendFields(const std::vector<DocumentField>& fields, std::string& out) {
  for (const DocumentField& field : fields) {
    out += fmt::format("- **{}**: {}\n", field.name, EscapeMarkdown(field.value));
  }
}

void AppendRow(const std::vector<std::string>& cells, std::string& out) {
  out += '|';
  for (const std::string& cell : cells) out += fmt::format(" {} |", cell);
  out += '\n';
}

void AppendHead(const std::vector<std::string>& names, std::string& out) {
  AppendRow(names, out);
  out += '|';
  for (size_t i = 0; i < names.size(); ++i) out += " --- |";
  out += '\n';
}

void AppendTable(const Table& table, std::string& out) {
  if (table.columns.empty()) return;
  std::vector<std::string> names;
  for (const std::string& name : table.columns) names.push_back(EscapeMarkdown(name));
  AppendHead(names, out);
  for (size_t i = 0; i < std::min(table.rows.size(), kMostRows); ++i) {
    std::vector<std::string> cells(table.columns.size());
    for (size_t k = 0; k < std::min(cells.size(), table.rows[i].size()); ++k) {
      cells[k] = EscapeMarkdown(CellText(table.rows[i][k]));
    }
    AppendRow(cells, out);
  }
  if (table.rows.size() > kMostRows) {
    out += fmt::format("\n{} of {} rows; the JSON report holds all.\n", kMostRows,
                       table.rows.size());
  }
  out += '\n';
}

void AppendHeader(const evidence::Review& review, std::string& out) {
  out += fmt::format("# {}\n\n", EscapeMarkdown(review.framing.title));
  out += fmt::format("**Decision: {}**\n\n", evidence::ToString(review.decision));
  for (const std::string& reason : review.decision_reasons) {
    out += fmt::format("- {}\n", Paragraph(reason));
  }
  out += fmt::format("\nFirst failing layer: **{}**\n\n{}\n\n",
                     EscapeMarkdown(review.diagnosis.layer),
                     Paragraph(review.diagnosis.reason));
  const evidence::Tags& tags = review.tags;
  const auto digest = [](std::string_view tag) {
    return EscapeMarkdown(ShortDigest(tag));
  };
  out += fmt::format("Tags: dataset {}, model {}, runtime {}, hardware {}. ",
                     digest(tags.dataset), digest(tags.model), digest(tags.runtime),
                     digest(tags.hardware));
  out += fmt::format("Created {}.\n\n", EscapeMarkdown(review.created_utc));
}

void AppendRequirements(const evidence::Review& review, std::string& out) {
  out += fmt::format("## Requirements\n\nWorst slack first: {}.\n\n",
                     CountVerdicts(review.requirements));
  AppendHead({"requirement", "estimate", "bound", "slack", "verdict", "owner"}, out);
  for (const size_t i : WorstFirst(review.requirements)) {
    const evidence::RequirementResult& result = review.requirements[i];
    const std::string estimate =
        result.estimate ? CellText(*result.estimate) : std::string("not run");
    AppendRow({EscapeMarkdown(fmt::format("{} ({})", result.requirement.title,
                                          result.requirement.id)),
               EscapeMarkdown(estimate),
               EscapeMarkdown(BoundText(result.requirement, Signs::kUnicode)),
               EscapeMarkdown(SlackText(result)),
               std::string(VerdictWord(result.slack.verdict)),
               EscapeMarkdown(result.requirement.owner)},
              out);
  }
  out += '\n';
}

void AppendChecks(const evidence::Review& review, std::string& out) {
  out += "## Evidence checklist\n\n";
  AppendHead({"verdict", "item", "proof", "artifact"}, out);
  for (const evidence::ChecklistItem& item : review.checklist) {
    AppendRow({std::string(VerdictWord(item.verdict)), EscapeMarkdown(item.text),
               EscapeMarkdown(item.proof), EscapeMarkdown(item.artifact)},
              out);
  }
  out += "\n## Review prompts\n\n";
  for (const evidence::PromptAnswer& prompt : review.prompts) {
    out += fmt::format("**{}** {}", EscapeMarkdown(prompt.question),
                       EscapeMarkdown(prompt.answer));
    if (!prompt.artifact.empty()) {
      out += fmt::format(" ({})", EscapeMarkdown(prompt.artifact));
    }
    out += "\n\n";
  }
}

void AppendSection(const Section& section, std::string& out) {
  out += fmt::format("## {}\n\n", EscapeMarkdown(section.title));
  for (const std::string& paragraph : section.text) {
    out += Paragraph(paragraph) + "\n\n";
  }
  for (const Figure& figure : section.figures) {
    out += fmt::format("### {}\n\n", EscapeMarkdown(FigureTitle(figure)));
    if (!FigureCaption(figure).empty()) {
      out += Paragraph(FigureCaption(figure)) + "\n\n";
    }
    AppendTable(FigureTable(figure), out);
  }
  for (const Table& table : section.tables) {
    out += fmt::format("### {}\n\n", EscapeMarkdown(table.title));
    AppendTable(table, out);
  }
}

// A memo inside the report: its headings one level deeper.
void AppendDocument(const base::Result<std::string>& document, std::string_view name,
                    std::string& out) {
  if (!document) {
    out += fmt::format("## {}\n\nRefused: {}.\n\n", name,
                       EscapeMarkdown(document.error().what));
    return;
  }
  for (const std::string_view line : base::Split(base::Trim(*document), '\n')) {
    if (line.starts_with('#')) out += '#';
    out += line;
    out += '\n';
  }
  out += '\n';
}

void AppendArtifacts(const evidence::Review& review, std::string& out) {
  out += "## Evidence capsule\n\n";
  AppendFields(CapsuleFields(review), out);
  out += "\n## Rollback plan\n\n";
  out +=
      fmt::format("Trigger: {}\n\n", EscapeMarkdown(review.framing.rollback_trigger));
  for (size_t i = 0; i < review.framing.rollback_steps.size(); ++i) {
    out += fmt::format("{}. {}\n", i + 1, Paragraph(review.framing.rollback_steps[i]));
  }
  out += "\n## Artifacts\n\n";
  AppendHead({"name", "path", "sha256"}, out);
  for (const evidence::Artifact& artifact : review.artifacts) {
    AppendRow({EscapeMarkdown(artifact.name), EscapeMarkdown(artifact.path),
               EscapeMarkdown(artifact.sha256)},
              out);
  }
}

}  // namespace

std::string RenderMarkdownTable(const Table& table) {
  std::string out;
  AppendTable(table, out);
  return out;
}

std::string EscapeMarkdown(std::string_view text) {
  const std::string line = OneLine(base::Trim(text));
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool inside_word =
        i > 0 && i + 1 < line.size() && IsWord(line[i - 1]) && IsWord(line[i + 1]);
    const bool always =
        std::string_view("\\`*[]<>|&~").find(c) != std::string_view::npos;
    if (always || (c == '_' && !inside_word)) out += '\\';
    out += c;
  }
  return out;
}

base::Result<std::string> RenderMemo(const evidence::Review& review) {
  std::string out =
      fmt::format("# Review memo: {}\n", EscapeMarkdown(review.framing.title));
  for (const DocumentPart& part : MemoParts(review)) {
    SS_RETURN_IF_ERROR(RequireFilled("review memo, " + part.title, part.fields));
    out += fmt::format("\n## {}\n\n", part.title);
    AppendFields(part.fields, out);
  }
  return out;
}

base::Result<std::string> RenderDecision(const evidence::Review& review) {
  const std::vector<DocumentField> fields = DecisionFields(review);
  SS_RETURN_IF_ERROR(RequireFilled("decision memo", fields));
  std::string out =
      fmt::format("# Decision memo: {}\n\n", EscapeMarkdown(review.framing.title));
  out += fmt::format("**Decision: {}**\n\n", evidence::ToString(review.decision));
  AppendFields(fields, out);
  return out;
}

std::string RenderMarkdown(const Report& report) {
  const evidence::Review& review = report.review;
  std::string out;
  AppendHeader(review, out);
  AppendRequirements(review, out);
  AppendChecks(review, out);
  for (const Section& section : report.sections) AppendSection(section, out);
  AppendDocument(RenderMemo(review), "Review memo", out);
  AppendDocument(RenderDecision(review), "Decision memo", out);
  AppendArtifacts(review, out);
  return out;
}

std::string RenderMarkdown(const Document& document) {
  std::string out = fmt::format("# {}\n\n", EscapeMarkdown(document.title));
  for (const std::string& line : document.lead) out += Paragraph(line) + "\n\n";
  for (const Section& section : document.sections) AppendSection(section, out);
  return out;
}

}  // namespace stepslack::render
