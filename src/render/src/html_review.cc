#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "display_text.h"
#include "documents.h"
#include "html_parts.h"
#include "stepslack/base/text.h"

namespace stepslack::render {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

Table CauseTable(const std::vector<diagnose::CauseFinding>& causes, bool refuted) {
  Table table{.title = {},
              .columns = {"cause", "layer", "state", "evidence", "test that decides",
                          "fix", "owner"},
              .rows = {}};
  for (const diagnose::CauseFinding& cause : causes) {
    if ((cause.state == diagnose::CauseState::kRefuted) != refuted) continue;
    std::string evidence = Join(cause.evidence);
    if (!cause.missing.empty()) {
      evidence +=
          (evidence.empty() ? "missing: " : "; missing: ") + Join(cause.missing);
    }
    std::string state(CauseWord(cause.state));
    if (cause.explained_share > 0) {
      state += fmt::format(", explains {:.0f} %", 100 * cause.explained_share);
    }
    table.rows.push_back({cause.id + " " + cause.title, cause.layer, state, evidence,
                          cause.discriminating_test, cause.fix, cause.owner});
  }
  return table;
}

void WriteFields(Page& page, const std::vector<DocumentField>& fields) {
  HtmlWriter& writer = page.writer();
  const auto list = writer.Open("dl", {{"class", "fields"}});
  for (const DocumentField& field : fields) {
    writer.Leaf("dt", field.name);
    const auto value = writer.Open("dd");
    if (base::Trim(field.value).empty()) {
      // The document is refused by whoever issues it; the page says why.
      WriteVerdict(writer, base::Verdict::kError);
      writer.Text(" this field is empty, so the document is refused");
    } else {
      writer.Text(page.Cut(field.value));
    }
  }
}

void WriteShareBar(HtmlWriter& writer, const evidence::RiskBar& risk) {
  const bool known = risk.share && std::isfinite(*risk.share);
  const std::string name =
      known ? fmt::format("{}: {:.1f} %", risk.name, 100 * *risk.share)
            : risk.name + ": not measured";
  const auto svg = writer.Open("svg", {{"class", "glyph"},
                                       {"role", "img"},
                                       {"aria-label", name},
                                       {"viewBox", "0 0 150 22"},
                                       {"width", 150},
                                       {"height", 22}});
  writer.Leaf("title", name);
  const double share = known ? std::clamp(*risk.share, 0.0, 1.0) : 0;
  writer.Empty(
      "rect",
      {{"x", 1}, {"y", 5}, {"width", 148 * share}, {"height", 12}, {"class", "share"}});
  writer.Empty(
      "rect",
      {{"x", 1}, {"y", 5}, {"width", 148}, {"height", 12}, {"class", "outline"}});
}

}  // namespace

void WriteDiagnosis(Page& page, const diagnose::Diagnosis& diagnosis) {
  HtmlWriter& writer = page.writer();
  {
    const auto finding = writer.Open("p", {{"class", "finding"}});
    writer.Text("First failing layer: ");
    writer.Leaf("b", page.Cut(diagnosis.layer));
  }
  if (!diagnosis.reason.empty()) WriteParagraph(page, diagnosis.reason);
  if (!diagnosis.path.empty()) {
    writer.Leaf("h3", "Root-cause tree as walked");
    const auto list = writer.Open("ol", {{"class", "tree"}});
    for (size_t i = 0; i < page.Rows(diagnosis.path.size()); ++i) {
      writer.Leaf("li", page.Cut(diagnosis.path[i]));
    }
  }
  const Table open = CauseTable(diagnosis.causes, false);
  if (!open.rows.empty()) {
    writer.Leaf("h3", "Causes supported or undecided");
    WriteTable(page, open);
  }
  const Table refuted = CauseTable(diagnosis.causes, true);
  if (!refuted.rows.empty()) {
    const auto details = writer.Open("details");
    writer.Leaf("summary", fmt::format("Causes refuted ({})", refuted.rows.size()));
    WriteTable(page, refuted);
  }
  if (!diagnosis.missing.empty()) {
    writer.Leaf("h3", "Records that would decide");
    const auto list = writer.Open("ul");
    for (size_t i = 0; i < page.Rows(diagnosis.missing.size()); ++i) {
      writer.Leaf("li", page.Cut(diagnosis.missing[i]));
    }
  }
}

void WriteChecklist(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  {
    const auto scroll = writer.Open("div", {{"class", "scroll"}});
    const auto table = writer.Open("table", {{"class", "wide cards"}});
    {
      const auto head = writer.Open("thead");
      const auto row = writer.Open("tr");
      for (const std::string_view name : {"Verdict", "Item", "Proof", "Artifact"}) {
        writer.Leaf("th", {{"scope", "col"}}, name);
      }
    }
    const auto body = writer.Open("tbody");
    for (size_t i = 0; i < page.Rows(review.checklist.size()); ++i) {
      const evidence::ChecklistItem& item = review.checklist[i];
      const auto row = writer.Open("tr");
      {
        const auto td = writer.Open("td");
        WriteVerdict(writer, item.verdict);
      }
      writer.Leaf("td", page.Cut(item.text));
      writer.Leaf("td", {{"data-label", "Proof"}}, page.Cut(item.proof));
      writer.Leaf("td", {{"data-label", "Artifact"}}, page.Cut(item.artifact));
    }
  }
  page.SayRows(review.checklist.size());
}

void WritePrompts(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  for (size_t i = 0; i < page.Rows(review.prompts.size()); ++i) {
    const evidence::PromptAnswer& prompt = review.prompts[i];
    const auto block = writer.Open("div", {{"class", "qa"}});
    writer.Leaf("p", {{"class", "q"}}, page.Cut(prompt.question));
    writer.Leaf("p", page.Cut(prompt.answer));
    if (!prompt.artifact.empty()) {
      writer.Leaf("p", {{"class", "muted small"}},
                  page.Cut("Proof: " + prompt.artifact));
    }
  }
  page.SayRows(review.prompts.size());
}

void WriteRisks(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  const auto scroll = writer.Open("div", {{"class", "scroll"}});
  const auto table = writer.Open("table", {{"class", "req wide cards"}});
  {
    const auto head = writer.Open("thead");
    const auto row = writer.Open("tr");
    writer.Leaf("th", {{"scope", "col"}}, "Risk");
    writer.Leaf("th", {{"scope", "col"}}, "0 %  share  100 %");
    writer.Leaf("th", {{"scope", "col"}, {"class", "n"}}, "Share");
    writer.Leaf("th", {{"scope", "col"}, {"class", "n"}}, "Weight");
    writer.Leaf("th", {{"scope", "col"}}, "Basis");
  }
  const auto body = writer.Open("tbody");
  for (size_t i = 0; i < page.Rows(review.risks.size()); ++i) {
    const evidence::RiskBar& risk = review.risks[i];
    const auto row = writer.Open("tr");
    {
      const auto td = writer.Open("td", {{"class", "name"}});
      writer.Leaf("b", page.Cut(risk.name));
    }
    {
      const auto td = writer.Open("td", {{"data-label", "Bar"}});
      WriteShareBar(writer, risk);
    }
    const bool known = risk.share && std::isfinite(*risk.share);
    writer.Leaf("td", {{"class", "n value"}, {"data-label", "Share"}},
                known ? fmt::format("{:.1f} %", 100 * *risk.share)
                      : std::string("not measured"));
    writer.Leaf("td", {{"class", "n"}, {"data-label", "Weight"}},
                NumberText(risk.weight));
    writer.Leaf("td", {{"data-label", "Basis"}}, page.Cut(risk.basis));
  }
}

void WriteReviewMemo(Page& page, const evidence::Review& review) {
  const auto sheet = page.writer().Open("div", {{"class", "sheet"}});
  for (const DocumentPart& part : MemoParts(review)) {
    page.writer().Leaf("h3", part.title);
    WriteFields(page, part.fields);
  }
}

void WriteDecisionMemo(Page& page, const evidence::Review& review) {
  const auto sheet = page.writer().Open("div", {{"class", "sheet"}});
  WriteFields(page, DecisionFields(review));
}

void WriteCapsule(Page& page, const evidence::Review& review) {
  const auto sheet = page.writer().Open("div", {{"class", "sheet"}});
  WriteFields(page, CapsuleFields(review));
}

void WriteRollback(Page& page, const evidence::Framing& framing) {
  HtmlWriter& writer = page.writer();
  if (!framing.rollback_trigger.empty()) {
    WriteParagraph(page, "Trigger: " + framing.rollback_trigger, "finding");
  }
  {
    const auto list = writer.Open("ol");
    for (size_t i = 0; i < page.Rows(framing.rollback_steps.size()); ++i) {
      writer.Leaf("li", page.Cut(framing.rollback_steps[i]));
    }
  }
  std::vector<DocumentField> fields;
  if (!framing.workflow_decision.empty()) {
    fields.push_back({"Workflow decision", framing.workflow_decision});
  }
  if (!framing.limits.empty()) fields.push_back({"Never replaces", framing.limits});
  for (const auto& [role, person] : framing.owners) {
    if (fields.size() < page.limits().rows) fields.push_back({role, person});
  }
  if (!fields.empty()) {
    writer.Leaf("h3", "Use and owners");
    WriteFields(page, fields);
  }
}

void WriteArtifacts(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  const auto digest_row = [&](std::string_view name, std::string_view path,
                              std::string_view digest) {
    const auto row = writer.Open("tr");
    writer.Leaf("td", page.Cut(name));
    {
      const auto td = writer.Open("td");
      writer.Leaf("span", {{"class", "mono"}}, page.Cut(path));
    }
    const auto td = writer.Open("td");
    writer.Leaf("span", {{"class", "mono"}}, page.Cut(digest));
  };
  {
    const auto scroll = writer.Open("div", {{"class", "scroll"}});
    const auto table = writer.Open("table", {{"class", "wide"}});
    {
      const auto head = writer.Open("thead");
      const auto row = writer.Open("tr");
      for (const std::string_view name : {"Name", "Path in the room", "SHA-256"}) {
        writer.Leaf("th", {{"scope", "col"}}, name);
      }
    }
    const auto body = writer.Open("tbody");
    digest_row("revision tag: dataset", "", review.tags.dataset);
    digest_row("revision tag: model", "", review.tags.model);
    digest_row("revision tag: runtime", "", review.tags.runtime);
    digest_row("revision tag: hardware", "", review.tags.hardware);
    for (size_t i = 0; i < page.Rows(review.artifacts.size()); ++i) {
      const evidence::Artifact& artifact = review.artifacts[i];
      digest_row(artifact.name, artifact.path, artifact.sha256);
    }
  }
  page.SayRows(review.artifacts.size());
}

}  // namespace stepslack::render
