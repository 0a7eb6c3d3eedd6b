#include "text_width.h"

#include <algorithm>
#include <array>

#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"

namespace stepslack::render {
namespace {

using base::CodePoint;
using base::DecodeUtf8;

// Advance widths of U+0020 to U+007E in thousandths of the font size.
constexpr std::array<int, 95> kAdvance = {
    318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
    636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556,
    1015, 684, 686, 722, 770, 667, 611, 778, 752, 295, 500, 667, 557, 863, 748, 787,
    667,  787, 722, 667, 611, 732, 684, 989, 685, 667, 685, 390, 337, 390, 838, 556,
    500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
constexpr int kNarrowOther = 640;  // Latin, Greek, Cyrillic beyond ASCII
constexpr int kWideOther = 1050;   // the rest: symbols, East Asian

int Advance(const CodePoint& point) {
  if (point.value >= 0x20 && point.value < 0x7F) return kAdvance[point.value - 0x20];
  return point.value < 0x500 ? kNarrowOther : kWideOther;
}

}  // namespace

double TextWidth(std::string_view text, double font_px) {
  int total = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    total += Advance(point);
    at += point.bytes;
  }
  return total * font_px / 1000.0;
}

std::string FitText(std::string_view text, double font_px, double max_px) {
  if (TextWidth(text, font_px) <= max_px) return std::string(text);
  constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
  double used = TextWidth(kEllipsis, font_px);
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = DecodeUtf8(text, at);
    used += Advance(point) * font_px / 1000.0;
    if (used > max_px) break;
    at += point.bytes;
  }
  return std::string(base::Trim(text.substr(0, at))) + std::string(kEllipsis);
}

std::vector<std::string> WrapText(std::string_view text, double font_px, double max_px,
                                  size_t max_lines) {
  std::vector<std::string> lines;
  std::string line;
  const std::vector<std::string_view> words = base::Split(base::Trim(text), ' ');
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string longer =
        line.empty() ? std::string(words[i]) : line + " " + std::string(words[i]);
    if (line.empty() || TextWidth(longer, font_px) <= max_px) {
      line = longer;
      continue;
    }
    if (lines.size() + 1 == max_lines) {  // last line: the rest, cut where it ends
      for (; i < words.size(); ++i) line += " " + std::string(words[i]);
      break;
    }
    lines.push_back(FitText(line, font_px, max_px));
    line = words[i];
  }
  if (!line.empty() || lines.empty()) lines.push_back(FitText(line, font_px, max_px));
  return lines;
}

}  // namespace stepslack::render
