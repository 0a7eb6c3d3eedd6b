// How wide a text will be in a figure, without a browser: a table of advance widths,
// taken as the larger of DejaVu Sans and Liberation Sans (the metrics of Arial), so
// that labels placed by it never run outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepslack::render {

double TextWidth(std::string_view text, double font_px);

// The text, or its longest beginning with "…" that fits in max_px.
std::string FitText(std::string_view text, double font_px, double max_px);

// Breaks at spaces into at most max_lines lines of at most max_px; the last is cut.
std::vector<std::string> WrapText(std::string_view text, double font_px, double max_px,
                                  size_t max_lines);

}  // namespace stepslack::render
