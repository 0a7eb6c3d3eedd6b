#include "stepslack/render/timeline_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "chart_style.h"
#include "display_text.h"
#include "html_writer.h"
#include "stepslack/base/byte_text.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/text.h"
#include "timeline_data.h"
#include "timeline_script.h"
#include "timeline_style.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostTableRows = 200;
constexpr size_t kWorstPlaces = 20;
constexpr size_t kMostPlaces = 100;
constexpr size_t kMostText = 300;  // bytes of a text from outside
constexpr int kAttempts = 6;
// Their numbers and spans alone would fill the page.
constexpr size_t kMostPictureRanks = 50'000;

// The length in milliseconds with three decimals, rounded half up.
std::string Milliseconds(int64_t ns) {
  const int64_t us = std::max<int64_t>(ns, 0) / 1000 +
                     (std::max<int64_t>(ns, 0) % 1000 >= 500 ? 1 : 0);
  return fmt::format("{}.{:03}", us / 1000, us % 1000);
}

std::string Cut(std::string_view text) {
  const std::string line = OneLine(text.substr(0, kMostText));
  return line.size() < text.size() && text.size() > kMostText ? line + "..." : line;
}

// Content security policies name a script by the base64 of its digest.
std::string ScriptSource() {
  const std::string hex = base::Sha256Of(kTimelineScript.text());
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto digit = [&](size_t k) {
      return hex[k] <= '9' ? hex[k] - '0' : hex[k] - 'a' + 10;
    };
    bytes += static_cast<char>(digit(i) * 16 + digit(i + 1));
  }
  return "'sha256-" + base::Base64Of(bytes) + "'";
}

std::vector<TimelinePlace> WorstPlaces(const TimelinePage& page) {
  std::vector<TimelinePlace> places;
  for (const TimelinePlace& place :
       page.worst.first(std::min(page.worst.size(), kMostPlaces))) {
    if (RowOfRank(*page.pyramid, place.rank) >= 0) places.push_back(place);
  }
  if (!page.worst.empty()) return places;
  for (const analyze::WorstStep& step :
       analyze::FindWorstSteps(page.traces, *page.pyramid, kWorstPlaces)) {
    places.push_back(
        {step.rank, step.step, step.start_ns, step.end_ns,
         fmt::format("exposed communication {} ms, idle {} ms",
                     Milliseconds(step.exposed_comm_ns), Milliseconds(step.idle_ns))});
  }
  return places;
}

void WriteHead(HtmlWriter& writer, const TimelinePage& page) {
  const auto head = writer.Open("head");
  writer.Empty("meta", {{"charset", "utf-8"}});
  writer.Empty("meta", {{"http-equiv", "Content-Security-Policy"},
                        {"content",
                         "default-src 'none'; img-src data:; style-src "
                         "'unsafe-inline'; script-src " +
                             ScriptSource()}});
  writer.Empty("meta", {{"name", "viewport"},
                        {"content", "width=device-width, initial-scale=1"}});
  writer.Empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  writer.Leaf("title", Cut(page.title) + " - Stepslack");
  writer.Style(kColourCss);
  writer.Style(kTimelineCss);
}

void WriteDropped(HtmlWriter& writer, const TimelineDropped& dropped) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(dropped.levels, "finest levels of the picture");
  add(dropped.steps, "step boundaries");
  add(dropped.phases, "phase spans");
  add(dropped.collectives, "collectives (the shortest of a rank first)");
  if (parts.empty()) return;
  std::string text =
      "Left out to keep this page small: " + fmt::format("{}", fmt::join(parts, ", ")) +
      ".";
  if (dropped.ranks_without_marks > 0) {
    text += fmt::format(" {} ranks have none of their marks here.",
                        dropped.ranks_without_marks);
  }
  text += " The bars and the table count everything.";
  writer.Leaf("p", {{"class", "cut"}}, text);
}

// Which ranks have bars as fine as those of a small set.
void WriteFocus(HtmlWriter& writer, const analyze::TracePyramid& pyramid) {
  const std::vector<int32_t>& focus = pyramid.levels.back().focus;
  if (focus.empty()) return;
  std::vector<int32_t> ranks;
  for (const int32_t row : focus) {
    ranks.push_back(pyramid.ranks[static_cast<size_t>(row)].rank);
  }
  writer.Leaf("p", {{"class", "muted"}},
              fmt::format("Of so many ranks, bars are fine in time for merged rows and "
                          "for the ranks {}; others are coarse when looked at alone.",
                          fmt::join(ranks, ", ")));
}

void WriteButtons(HtmlWriter& writer) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kButtons = {{
      {"+", "Zoom in (+)"},
      {"-", "Zoom out (-)"},
      {"ArrowLeft", "Earlier (Left)"},
      {"ArrowRight", "Later (Right)"},
      {"]", "Taller rows (])"},
      {"[", "Flatter rows ([)"},
      {"0", "Fit all (0)"},
  }};
  const auto bar = writer.Open(
      "div", {{"class", "bar"}, {"role", "toolbar"}, {"aria-label", "Timeline view"}});
  for (const auto& [action, label] : kButtons) {
    writer.Leaf("button", {{"type", "button"}, {"data-do", action}}, label);
  }
}

void WriteLegend(HtmlWriter& writer, std::string_view title, std::string_view css,
                 std::span<const std::pair<const char*, const char*>> entries) {
  const auto list = writer.Open("ul", {{"class", "legend"}, {"aria-label", title}});
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto item = writer.Open("li");
    {
      const auto swatch =
          writer.Open("span", {{"class", fmt::format("sw {}{}", css, i)}});
      writer.Leaf("b", entries[i].first);
    }
    writer.Leaf("span", entries[i].second);
  }
}

void WriteLegends(HtmlWriter& writer) {
  using Entry = std::pair<const char*, const char*>;
  constexpr std::array<Entry, 5> kParts = {{
      {"C", "compute"},
      {"O", "communication overlapped by compute"},
      {"E", "communication exposed"},
      {"M", "memory copies and sets"},
      {"I", "idle"},
  }};
  constexpr std::array<Entry, 7> kPhases = {{
      {"D", "data"},
      {"F", "forward"},
      {"B", "backward"},
      {"O", "optimizer"},
      {"Z", "zero_grad"},
      {"E", "eval"},
      {"C", "checkpoint"},
  }};
  constexpr std::array<Entry, 3> kCollectives = {{
      {"W", "collective: waiting for other ranks"},
      {"T", "collective: transfer"},
      {"?", "collective: wait not known"},
  }};
  WriteLegend(writer, "Bars: shares of the time", "k", kParts);
  WriteLegend(writer, "Second lane: phases", "p", kPhases);
  WriteLegend(writer, "Third lane: collectives", "x", kCollectives);
  writer.Leaf(
      "p", {{"class", "muted"}},
      "The height of a part is its share of the time. Lanes of phases and collectives "
      "appear when rows are tall. Where ranks share a row, the bar is their mean, and "
      "a dark line on top marks a rank whose exposed communication is at least twice "
      "that mean. Vertical lines are step boundaries.");
}

void WritePicture(HtmlWriter& writer, const TimelinePage& page) {
  WriteButtons(writer);
  {
    const auto box = writer.Open("div", {{"id", "box"}});
    const std::string label = fmt::format(
        "Timeline of {} ranks over {} ms. The table below holds the sums per rank.",
        page.pyramid->ranks.size(), Milliseconds(page.pyramid->length_ns));
    writer.Leaf("canvas",
                {{"id", "view"},
                 {"tabindex", "0"},
                 {"role", "application"},
                 {"aria-label", label},
                 {"aria-describedby", "keys"}},
                "");
    writer.Leaf("div", {{"id", "pad"}}, "");
  }
  writer.Leaf("output", {{"id", "read"}, {"aria-live", "polite"}},
              "Point at the picture, or focus it and press Shift with the arrow keys, "
              "to read values.");
  writer.Leaf("p", {{"id", "keys"}, {"class", "muted"}},
              "Wheel or + and -: zoom in time. Drag or arrow keys: move. Shift and "
              "wheel, Page Up, Page Down: other ranks. Ctrl and wheel, [ and ]: height "
              "of rows. Home, End: begin, end. 0: all. Shift and arrow keys: read "
              "values.");
  writer.Leaf("noscript",
              "The picture needs a script that this page brings along; the table below "
              "does not.");
  WriteLegends(writer);
}

void WriteWorst(HtmlWriter& writer, const std::vector<TimelinePlace>& places) {
  if (places.empty()) return;
  writer.Leaf("h2", "Worst places");
  const auto list = writer.Open("ol", {{"class", "worst"}});
  for (size_t i = 0; i < places.size(); ++i) {
    const TimelinePlace& place = places[i];
    const std::string step =
        place.step >= 0 ? fmt::format(", step {}", place.step) : std::string();
    const auto item = writer.Open("li");
    writer.Leaf("button", {{"type", "button"}, {"data-worst", std::to_string(i)}},
                fmt::format("rank {}{}, at {} ms: {}", place.rank, step,
                            Milliseconds(place.start_ns), Cut(place.text)));
  }
}

void WriteTable(HtmlWriter& writer, const TimelinePage& page) {
  writer.Leaf("h2", "Per rank");
  const auto scroll = writer.Open("div", {{"class", "scroll"}});
  const auto table = writer.Open("table");
  writer.Leaf("caption",
              "Milliseconds of device time (of operators and phases on a CPU-only "
              "rank). Compute and comm hold their overlap both.");
  {
    const auto head = writer.Open("thead");
    const auto row = writer.Open("tr");
    for (const char* name : {"rank", "span ms", "idle ms", "compute ms", "memory ms",
                             "comm ms", "overlap ms", "exposed ms", "exposed %"}) {
      writer.Leaf("th", {{"scope", "col"}}, name);
    }
  }
  const auto body = writer.Open("tbody");
  const size_t shown = std::min(page.pyramid->ranks.size(), kMostTableRows);
  for (size_t i = 0; i < shown; ++i) {
    const analyze::PyramidRank& rank = page.pyramid->ranks[i];
    const analyze::DeviceTimes& times = page.traces[rank.trace].total;
    const auto row = writer.Open("tr");
    writer.Leaf("th", {{"scope", "row"}}, std::to_string(rank.rank));
    for (const int64_t ns :
         {times.span_ns, times.idle_ns, times.compute_ns, times.memory_ns,
          times.comm_ns, times.overlap_ns, times.exposed_comm_ns}) {
      writer.Leaf("td", Milliseconds(ns));
    }
    const double share = times.span_ns > 0
                             ? 100.0 * static_cast<double>(times.exposed_comm_ns) /
                                   static_cast<double>(times.span_ns)
                             : 0.0;
    writer.Leaf("td", fmt::format("{:.1f}", share));
  }
}

void WriteBody(HtmlWriter& writer, const TimelinePage& page,
               const std::vector<TimelinePlace>& places, const base::Json* data,
               const TimelineDropped& dropped) {
  const auto body = writer.Open("body");
  {
    const auto main = writer.Open("main");
    writer.Leaf("h1", Cut(page.title));
    if (!page.note.empty()) writer.Leaf("p", Cut(page.note));
    const size_t ranks = page.pyramid->ranks.size();
    if (page.pyramid->levels.empty()) {
      writer.Leaf("p", {{"class", "cut"}},
                  "These traces hold no device time: nothing to draw.");
    } else if (data == nullptr) {
      writer.Leaf("p", {{"class", "cut"}},
                  fmt::format("{} ranks are too many for the picture on one page; "
                              "choose fewer.",
                              ranks));
    } else {
      WriteDropped(writer, dropped);
      WriteFocus(writer, *page.pyramid);
      WritePicture(writer, page);
      WriteWorst(writer, places);
    }
    WriteTable(writer, page);
    if (ranks > kMostTableRows) {
      writer.Leaf("p", {{"class", "muted"}},
                  fmt::format("First {} of {} ranks; the JSON report holds all.",
                              kMostTableRows, ranks));
    }
  }
  if (data == nullptr || page.pyramid->levels.empty()) return;
  writer.DataBlock("data", *data);
  writer.Script(kTimelineScript);
}

std::string WritePage(const TimelinePage& page,
                      const std::vector<TimelinePlace>& places, const base::Json* data,
                      const TimelineDropped& dropped) {
  HtmlWriter writer;
  writer.Doctype();
  {
    const auto html = writer.Open("html", {{"lang", "en"}});
    WriteHead(writer, page);
    WriteBody(writer, page, places, data, dropped);
  }
  return writer.Take();
}

}  // namespace

std::string RenderTimelineHtml(const TimelinePage& page) {
  const std::vector<TimelinePlace> places = WorstPlaces(page);
  TimelineLimits limits;
  const bool few = page.pyramid->ranks.size() <= kMostPictureRanks;
  for (int attempt = 0; few && attempt < kAttempts; ++attempt) {
    TimelineDropped dropped;
    const base::Json data = TimelineData(page, places, limits, dropped);
    std::string html = WritePage(page, places, &data, dropped);
    if (html.size() <= kMostTimelineBytes) return html;
    // Marks first: there are many, and each says little.
    limits.finest_left_out += attempt > 0 ? 1 : 0;
    limits.steps /= 4;
    limits.phases /= 4;
    limits.collectives /= 4;
  }
  return WritePage(page, places, nullptr, {});
}

}  // namespace stepslack::render
