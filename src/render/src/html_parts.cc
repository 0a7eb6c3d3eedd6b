#include "html_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "chart.h"
#include "display_text.h"
#include "figure_table.h"
#include "stepslack/base/utf8.h"

namespace stepslack::render {
namespace {

using base::DecodeUtf8;

struct VerdictLook {
  std::string_view css_class;
  std::string_view sign;
};

VerdictLook LookOf(base::Verdict verdict) {
  switch (verdict) {
    case base::Verdict::kMet:
      return {"verdict v-ok", "\u2713"};
    case base::Verdict::kViolated:
      return {"verdict v-fail", "\u2715"};
    case base::Verdict::kInconclusive:
      return {"verdict v-hold", "\u2016"};
    case base::Verdict::kError:
      return {"verdict v-error", "!"};
    case base::Verdict::kNotRun:
      return {"verdict", "\u2013"};
  }
  return {"verdict v-error", "!"};
}

// True when no cell of the column is text, apart from empty ones.
std::vector<bool> NumericColumns(const Table& table) {
  std::vector<bool> numeric(table.columns.size(), !table.rows.empty());
  for (const std::vector<Cell>& row : table.rows) {
    for (size_t i = 0; i < std::min(row.size(), numeric.size()); ++i) {
      const auto* text = std::get_if<std::string>(&row[i]);
      if (text != nullptr && !text->empty()) numeric[i] = false;
    }
  }
  return numeric;
}

void WriteCell(Page& page, const Cell& cell, bool numeric) {
  HtmlWriter& writer = page.writer();
  const auto td = writer.Open("td", {Attribute::When(numeric, "class", "n")});
  if (const auto* estimate = std::get_if<base::Estimate>(&cell)) {
    WriteEstimate(writer, *estimate);
  } else {
    writer.Text(page.Cut(CellText(cell)));
  }
}

void WriteRows(Page& page, const Table& table) {
  HtmlWriter& writer = page.writer();
  const std::vector<bool> numeric = NumericColumns(table);
  {
    const auto head = writer.Open("thead");
    const auto row = writer.Open("tr");
    for (size_t i = 0; i < table.columns.size(); ++i) {
      writer.Leaf("th", {{"scope", "col"}, Attribute::When(numeric[i], "class", "n")},
                  table.columns[i]);
    }
  }
  const auto body = writer.Open("tbody");
  for (size_t r = 0; r < page.Rows(table.rows.size()); ++r) {
    const auto row = writer.Open("tr");
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::vector<Cell>& cells = table.rows[r];
      WriteCell(page, i < cells.size() ? cells[i] : Cell(std::string()), numeric[i]);
    }
  }
}

void WriteNotes(Page& page, const Notes& notes) {
  if (notes.empty()) return;
  HtmlWriter& writer = page.writer();
  const auto list = writer.Open("ul", {{"class", "notes"}});
  for (const std::string& note : notes) writer.Leaf("li", page.Cut(note));
}

Notes WriteMaps(Page& page, const MapChart& chart, const DrawOptions& options) {
  HtmlWriter& writer = page.writer();
  const auto row = writer.Open("div", {{"class", "maps"}});
  Notes notes;
  const size_t drawn = std::min<size_t>(chart.images.size(), page.Rows(24));
  for (size_t i = 0; i < drawn; ++i) {
    DrawOptions panel = options;
    panel.id += fmt::format("m{}", i);
    const Notes more = DrawMapPanel(writer, chart.images[i], panel);
    notes.insert(notes.end(), more.begin(), more.end());
  }
  if (drawn < chart.images.size()) {
    notes.push_back(fmt::format("{} of {} maps are drawn; the table holds all", drawn,
                                chart.images.size()));
  }
  if (chart.images.empty()) writer.Leaf("p", {{"class", "muted"}}, "no data");
  return notes;
}

void WriteFigure(Page& page, const Figure& figure) {
  HtmlWriter& writer = page.writer();
  const int number = page.NextFigure();
  const bool drawn = static_cast<size_t>(number) <= page.limits().figures;
  const auto block = writer.Open("figure", {{"id", fmt::format("figure_{}", number)}});
  {
    const auto caption = writer.Open("figcaption");
    writer.Leaf("div", {{"class", "figtitle"}},
                fmt::format("Figure {}. {}", number, page.Cut(FigureTitle(figure))));
    if (!FigureCaption(figure).empty())
      writer.Leaf("p", page.Cut(FigureCaption(figure)));
  }
  if (!drawn) {
    writer.Leaf(
        "p", {{"class", "muted"}},
        "This figure is left out to keep the page small; the JSON report has it.");
    return;
  }
  const DrawOptions options{.id = fmt::format("f{}", number),
                            .standalone = false,
                            .max_marks = page.limits().marks,
                            .max_map_side = page.limits().map_side};
  Notes notes;
  if (const auto* maps = std::get_if<MapChart>(&figure)) {
    notes = WriteMaps(page, *maps, options);
  } else {
    const auto scroll = writer.Open("div", {{"class", "scroll"}, {"tabindex", 0}});
    notes = DrawFigure(writer, figure, options);
  }
  WriteNotes(page, notes);
  Table data = FigureTable(figure);
  data.title.clear();
  const auto details = writer.Open("details");
  writer.Leaf("summary", fmt::format("Data table ({} rows)", data.rows.size()));
  WriteTable(page, data);
}

}  // namespace

std::string Page::Cut(std::string_view text) const {
  if (text.size() <= limits_.text) return std::string(text);
  size_t end = 0;
  while (end < text.size()) {
    const size_t bytes = DecodeUtf8(text, end).bytes;
    if (end + bytes > limits_.text) break;
    end += bytes;
  }
  return fmt::format("{}\u2026 ({} more bytes)", text.substr(0, end),
                     text.size() - end);
}

void Page::SayRows(size_t count) {
  if (Rows(count) == count) return;
  writer_.Leaf("p", {{"class", "muted small"}},
               fmt::format("{} of {} rows are shown; the JSON report holds all.",
                           Rows(count), count));
}

void WriteVerdict(HtmlWriter& writer, base::Verdict verdict) {
  const VerdictLook look = LookOf(verdict);
  const auto chip = writer.Open("span", {{"class", look.css_class}});
  writer.Leaf("span", {{"aria-hidden", "true"}}, look.sign);
  writer.Text(" ");
  writer.Text(VerdictWord(verdict));
}

void WriteEstimate(HtmlWriter& writer, const base::Estimate& estimate) {
  writer.Leaf("span", {{"class", "value"}}, ValueText(estimate));
  if (const std::string interval = IntervalText(estimate); !interval.empty()) {
    writer.Text(" ");
    writer.Leaf("span", {{"class", "ci"}}, interval);
  }
  if (const std::string basis = BasisText(estimate); !basis.empty()) {
    writer.Text(" ");
    writer.Leaf("span",
                {{"class", "basis"},
                 Attribute::When(!estimate.method.empty(), "title", estimate.method)},
                basis);
  }
}

void WriteTable(Page& page, const Table& table) {
  HtmlWriter& writer = page.writer();
  {
    const auto scroll = writer.Open("div", {{"class", "scroll"}, {"tabindex", 0}});
    const auto element = writer.Open("table");
    if (!table.title.empty()) writer.Leaf("caption", page.Cut(table.title));
    WriteRows(page, table);
  }
  page.SayRows(table.rows.size());
}

void WriteParagraph(Page& page, std::string_view text, std::string_view css_class) {
  page.writer().Leaf("p", {Attribute::When(!css_class.empty(), "class", css_class)},
                     page.Cut(text));
}

void WriteSectionBody(Page& page, const Section& section) {
  for (size_t i = 0; i < page.Rows(section.text.size()); ++i) {
    WriteParagraph(page, section.text[i], i == 0 ? "finding" : "");
  }
  page.SayRows(section.text.size());
  for (size_t i = 0; i < page.Rows(section.figures.size()); ++i) {
    WriteFigure(page, section.figures[i]);
  }
  page.SayRows(section.figures.size());
  for (size_t i = 0; i < page.Rows(section.tables.size()); ++i) {
    WriteTable(page, section.tables[i]);
  }
  page.SayRows(section.tables.size());
}

}  // namespace stepslack::render
