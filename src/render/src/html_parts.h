// Pieces of the report page, each written into an open <main> or <header>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "html_writer.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

// How much of each list and figure the page holds; smaller at each step until it fits.
struct PageLimits {
  size_t rows = 500;                                    // of every table and list
  size_t marks = 3000;                                  // of every figure
  int64_t map_side = 256;                               // pixels
  size_t text = 20000;                                  // bytes of every text
  size_t figures = std::numeric_limits<size_t>::max();  // drawn in the whole page
  size_t sections = std::numeric_limits<size_t>::max();
};

class Page {
 public:
  explicit Page(const PageLimits& limits) : limits_(limits) {}
  HtmlWriter& writer() { return writer_; }
  const PageLimits& limits() const { return limits_; }
  // The text, cut to limits().text bytes at a code point.
  std::string Cut(std::string_view text) const;
  // How many of `count` rows are written.
  size_t Rows(size_t count) const {
    return count < limits_.rows ? count : limits_.rows;
  }
  // A line that says so, when not all are.
  void SayRows(size_t count);
  int NextFigure() { return ++figures_; }
  int figures() const { return figures_; }

 private:
  PageLimits limits_;
  HtmlWriter writer_;
  int figures_ = 0;
};

void WriteVerdict(HtmlWriter& writer, base::Verdict verdict);
void WriteEstimate(HtmlWriter& writer, const base::Estimate& estimate);
// Numeric columns to the right; title as caption.
void WriteTable(Page& page, const Table& table);
void WriteParagraph(Page& page, std::string_view text, std::string_view css_class = "");

// The requirement table with slack bars, and the patterns that its bars refer to.
void WriteSlackPatterns(HtmlWriter& writer);
void WriteRequirements(Page& page, const evidence::Review& review);

void WriteMasthead(Page& page, const evidence::Review& review);
void WriteDiagnosis(Page& page, const diagnose::Diagnosis& diagnosis);
void WriteChecklist(Page& page, const evidence::Review& review);
void WritePrompts(Page& page, const evidence::Review& review);
void WriteRisks(Page& page, const evidence::Review& review);
void WriteReviewMemo(Page& page, const evidence::Review& review);
void WriteDecisionMemo(Page& page, const evidence::Review& review);
void WriteCapsule(Page& page, const evidence::Review& review);
void WriteRollback(Page& page, const evidence::Framing& framing);
void WriteArtifacts(Page& page, const evidence::Review& review);

// Text, figures with their data tables, tables; without the heading.
void WriteSectionBody(Page& page, const Section& section);

}  // namespace stepslack::render
