#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "display_text.h"
#include "html_parts.h"
#include "svg_parts.h"

namespace stepslack::render {
namespace {

constexpr double kGlyphWidth = 150;
constexpr double kGlyphHeight = 22;
constexpr double kHalf = kGlyphWidth / 2 - 7;  // from zero to the end of the scale

// Percent at the ends of every slack bar: a round number that most rows fit in.
double ScaleOf(const std::vector<evidence::RequirementResult>& results) {
  double largest = 0;
  for (const evidence::RequirementResult& result : results) {
    const double percent = result.slack.percent.value_or(0);
    if (std::isfinite(percent)) largest = std::max(largest, std::abs(percent));
  }
  for (const double scale : {10.0, 20.0, 50.0}) {
    if (largest <= scale) return scale;
  }
  return 100;
}

struct SlackSpan {
  double low = 0;
  double high = 0;
};

// The interval of the estimate as percent of slack.
std::optional<SlackSpan> IntervalSlack(const evidence::RequirementResult& result) {
  const double bound = result.requirement.bound;
  if (!result.estimate || bound == 0) return std::nullopt;
  const auto& low = result.estimate->low;
  const auto& high = result.estimate->high;
  if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high))
    return std::nullopt;
  const double sign =
      result.requirement.direction == base::Direction::kAtLeast ? 1.0 : -1.0;
  const double a = sign * 100 * (*low - bound) / std::abs(bound);
  const double b = sign * 100 * (*high - bound) / std::abs(bound);
  return SlackSpan{std::min(a, b), std::max(a, b)};
}

double PixelOf(double percent, double scale) {
  return kGlyphWidth / 2 + kHalf * std::clamp(percent / scale, -1.0, 1.0);
}

std::string_view BarClass(base::Verdict verdict) {
  if (verdict == base::Verdict::kMet) return "good";
  return verdict == base::Verdict::kInconclusive ? "open" : "bad";
}

void WriteInterval(HtmlWriter& writer, const SlackSpan& span, double scale) {
  const double low = PixelOf(span.low, scale);
  const double high = PixelOf(span.high, scale);
  PathData path;
  path.Move(low, 11).Line(high, 11).Move(low, 7).Line(low, 15).Move(high, 7).Line(high,
                                                                                  15);
  writer.Empty("path", {{"d", path.text()}, {"class", "ci-under"}});
  writer.Empty("path", {{"d", path.text()}, {"class", "ci-ink"}});
}

// Bar from zero, interval over it, an arrow head when it goes beyond the scale.
void WriteGlyph(HtmlWriter& writer, const evidence::RequirementResult& result,
                double scale) {
  const std::string name =
      fmt::format("slack {}, {}", SlackText(result), VerdictWord(result.slack.verdict));
  const auto svg = writer.Open(
      "svg", {{"class", "glyph"},
              {"role", "img"},
              {"aria-label", name},
              {"viewBox", fmt::format("0 0 {} {}", kGlyphWidth, kGlyphHeight)},
              {"width", kGlyphWidth},
              {"height", kGlyphHeight}});
  writer.Leaf("title", name);
  const double zero = kGlyphWidth / 2;
  WriteLine(writer, zero - kHalf, 18.5, zero + kHalf, 18.5, "rail");
  const bool shown = result.slack.percent && std::isfinite(*result.slack.percent);
  if (shown) {
    const double end = PixelOf(*result.slack.percent, scale);
    const double x = std::min(zero, end);
    const double width = std::abs(end - zero);
    for (const std::string_view css_class :
         {BarClass(result.slack.verdict), std::string_view("outline")}) {
      writer.Empty(
          "rect",
          {{"x", x}, {"y", 5}, {"width", width}, {"height", 12}, {"class", css_class}});
    }
    if (const auto span = IntervalSlack(result)) WriteInterval(writer, *span, scale);
    if (std::abs(*result.slack.percent) > scale) {
      const double tip = *result.slack.percent > 0 ? 6 : -6;
      PathData arrow;
      arrow.Move(end, 6).Line(end + tip, 11).Line(end, 16).Close();
      writer.Empty("path", {{"d", arrow.text()}, {"class", "arrow"}});
    }
  }
  WriteLine(writer, zero, 2, zero, 20, "zero");
}

void WriteHead(HtmlWriter& writer, double scale) {
  const auto head = writer.Open("thead");
  const auto row = writer.Open("tr");
  const std::string bar = fmt::format("Slack bar, \u00b1{:g} %", scale);
  writer.Leaf("th", {{"scope", "col"}}, "Requirement");
  writer.Leaf("th", {{"scope", "col"}}, "Estimate");
  writer.Leaf("th", {{"scope", "col"}, {"class", "n"}}, "Bound");
  writer.Leaf("th", {{"scope", "col"}, {"class", "n"}}, "Slack");
  writer.Leaf("th", {{"scope", "col"}}, bar);
  writer.Leaf("th", {{"scope", "col"}}, "Verdict");
  writer.Leaf("th", {{"scope", "col"}}, "Owner");
}

void WriteRow(Page& page, const evidence::RequirementResult& result, double scale) {
  HtmlWriter& writer = page.writer();
  const auto row = writer.Open("tr");
  {
    const auto td = writer.Open("td", {{"class", "name"}});
    writer.Leaf("b", page.Cut(result.requirement.title));
    std::string basis = result.requirement.id;
    if (!result.artifact.empty()) basis += " \u00b7 from " + result.artifact;
    writer.Leaf("span", {{"class", "basis"}}, page.Cut(basis));
  }
  {
    const auto td =
        writer.Open("td", {{"class", "estimate"}, {"data-label", "Estimate"}});
    if (result.estimate) {
      WriteEstimate(writer, *result.estimate);
    } else {
      writer.Leaf("span", {{"class", "muted"}}, "not run");
    }
  }
  writer.Leaf("td", {{"class", "n"}, {"data-label", "Bound"}},
              BoundText(result.requirement, Signs::kUnicode));
  writer.Leaf("td", {{"class", "n value"}, {"data-label", "Slack"}}, SlackText(result));
  {
    const auto td = writer.Open("td", {{"data-label", "Slack bar"}});
    WriteGlyph(writer, result, scale);
  }
  {
    const auto td =
        writer.Open("td", {{"class", "outcome"}, {"data-label", "Verdict"}});
    WriteVerdict(writer, result.slack.verdict);
    if (const std::string text = DecidingText(result); !text.empty()) {
      writer.Text(" ");
      writer.Leaf("span", {{"class", "basis"}}, text);
    }
  }
  writer.Leaf("td", {{"data-label", "Owner"}}, page.Cut(result.requirement.owner));
}

}  // namespace

void WriteSlackPatterns(HtmlWriter& writer) {
  const auto svg = writer.Open(
      "svg",
      {{"class", "glyphs"}, {"aria-hidden", "true"}, {"width", 0}, {"height", 0}});
  const auto defs = writer.Open("defs");
  const auto pattern = [&](std::string_view id, std::string_view tile,
                           std::string_view strokes) {
    const auto element = writer.Open(
        "pattern",
        {{"id", id}, {"patternUnits", "userSpaceOnUse"}, {"width", 6}, {"height", 6}});
    writer.Empty("rect", {{"width", 6}, {"height", 6}, {"class", tile}});
    writer.Empty("path", {{"d", strokes}, {"class", "tile-line"}});
  };
  pattern("slack_bad", "bad-tile", "M-1,7L7,-1M-1,1L1,-1M5,7L7,5");
  pattern("slack_open", "open-tile", "M3,0L3,6");
}

void WriteRequirements(Page& page, const evidence::Review& review) {
  HtmlWriter& writer = page.writer();
  writer.Leaf(
      "p", {{"class", "finding"}},
      fmt::format("{}. Worst slack first.", CountVerdicts(review.requirements)));
  const double scale = ScaleOf(review.requirements);
  const std::vector<size_t> order = WorstFirst(review.requirements);
  {
    const auto scroll = writer.Open("div", {{"class", "scroll"}});
    const auto table = writer.Open("table", {{"class", "req wide cards"}});
    WriteHead(writer, scale);
    const auto body = writer.Open("tbody");
    for (size_t i = 0; i < page.Rows(order.size()); ++i) {
      WriteRow(page, review.requirements[order[i]], scale);
    }
  }
  page.SayRows(order.size());
  writer.Leaf(
      "p", {{"class", "muted small"}},
      "Slack is the signed margin to the bound in percent of the bound; positive is "
      "good. "
      "OK: the whole interval is on the good side. FAIL: none of it is. HOLD: the "
      "interval "
      "holds the bound, so that the data can not decide. ERROR and NOT RUN never count "
      "as "
      "met. Bars: plain for OK, diagonal hatch for FAIL, vertical hatch for HOLD; the "
      "whisker is the interval, an arrow head goes beyond the scale.");
}

}  // namespace stepslack::render
