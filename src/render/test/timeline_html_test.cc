#include "stepslack/render/timeline_html.h"

#include <gtest/gtest.h>

#include "sample_traces.h"
#include "stepslack/base/byte_text.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/json.h"
#include "tag_balance.h"
#include "timeline_script.h"

namespace stepslack::render {
namespace {

using analyze::RankTrace;
using analyze::TracePyramid;

TracePyramid Pyramid(const std::vector<RankTrace>& traces,
                     const std::vector<int64_t>& offsets = {}) {
  auto pyramid = analyze::BuildPyramid(traces, offsets);
  EXPECT_TRUE(pyramid.has_value());
  return std::move(pyramid).value_or(TracePyramid());
}

std::string Render(const std::vector<RankTrace>& traces, const TracePyramid& pyramid,
                   const std::string& title = "Run 7",
                   std::span<const CollectiveWait> waits = {},
                   std::span<const TimelinePlace> worst = {}) {
  TimelinePage page;
  page.title = title;
  page.traces = traces;
  page.pyramid = &pyramid;
  page.waits = waits;
  page.worst = worst;
  return RenderTimelineHtml(page);
}

base::Json DataOf(const std::string& html) {
  constexpr std::string_view kStart = "<script type=\"application/json\" id=\"data\">";
  const size_t from = html.find(kStart);
  if (from == std::string::npos) return {};
  const size_t to = html.find("</script>", from);
  const auto json = base::ParseJson(
      html.substr(from + kStart.size(), to - from - kStart.size()), "data");
  EXPECT_TRUE(json.has_value());
  return json.value_or(base::Json());
}

std::vector<uint8_t> Bytes(const std::string& base64) {
  const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count & 0xff));
  }
  return bytes;
}

std::vector<uint32_t> Words(const base::Json& json) {
  const std::vector<uint8_t> bytes = Bytes(json.AsString());
  std::vector<uint32_t> words;
  for (size_t i = 0; i + 3 < bytes.size(); i += 4) {
    words.push_back(static_cast<uint32_t>(bytes[i]) |
                    static_cast<uint32_t>(bytes[i + 1]) << 8 |
                    static_cast<uint32_t>(bytes[i + 2]) << 16 |
                    static_cast<uint32_t>(bytes[i + 3]) << 24);
  }
  return words;
}

TEST(TimelineHtml, IsWellFormedSmallAndRefersToNothingOutside) {
  const auto traces = SampleTraces(8, 4);
  const std::string html = Render(traces, Pyramid(traces));
  EXPECT_EQ(Malformed(html), "");
  EXPECT_LE(html.size(), kMostTimelineBytes);
  for (const char* outside : {"http:", "https:", "src=", "url(", "@import", "fetch(",
                              "XMLHttp", "import(", "eval(", "localStorage"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(html, Render(traces, Pyramid(traces)));
}

TEST(TimelineHtml, ThePolicyAllowsOnlyThisScriptByItsDigest) {
  const auto traces = SampleTraces(1, 1);
  const std::string html = Render(traces, Pyramid(traces));
  const std::string hex = base::Sha256Of(kTimelineScript.text());
  std::string digest;
  for (size_t i = 0; i < hex.size(); i += 2) {
    digest += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  EXPECT_NE(html.find("script-src &#39;sha256-" + base::Base64Of(digest) + "&#39;\""),
            std::string::npos);
  EXPECT_NE(html.find("<script>" + std::string(kTimelineScript.text()) + "</script>"),
            std::string::npos);
}

TEST(TimelineHtml, ThePictureIsReachableAndDescribedWithoutAMouse) {
  const auto traces = SampleTraces(3, 2);
  const std::string html = Render(traces, Pyramid(traces));
  EXPECT_NE(html.find("<canvas id=\"view\" tabindex=\"0\" role=\"application\" "
                      "aria-label=\"Timeline of 3 ranks over 23.000 ms."),
            std::string::npos);
  EXPECT_NE(html.find("aria-describedby=\"keys\""), std::string::npos);
  EXPECT_NE(html.find("<output id=\"read\" aria-live=\"polite\">"), std::string::npos);
  EXPECT_NE(html.find("<noscript>"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  // Every entry of the legend has a letter beside its pattern.
  for (const char* entry : {"k2\"><b>E</b>", "k4\"><b>I</b>", "x0\"><b>W</b>"}) {
    EXPECT_NE(html.find(entry), std::string::npos) << entry;
  }
}

TEST(TimelineHtml, TheTableHoldsTheExactTimes) {
  std::vector<RankTrace> traces = SampleTraces(2, 1);
  analyze::DeviceTimes& times = traces[1].total;
  times = {.span_ns = 20'000'000,
           .idle_ns = 1'234'499,
           .compute_ns = 10'000'500,
           .memory_ns = 7,
           .comm_ns = 8'000'000,
           .overlap_ns = 3'000'000,
           .exposed_comm_ns = 5'000'000};
  const std::string html = Render(traces, Pyramid(traces));
  EXPECT_NE(
      html.find(
          "<th scope=\"row\">1</th><td>20.000</td><td>1.234</td><td>10.001</td>"
          "<td>0.000</td><td>8.000</td><td>3.000</td><td>5.000</td><td>25.0</td>"),
      std::string::npos);
}

TEST(TimelineHtml, LevelsHoldSharesOfTheTile) {
  RankTrace trace;
  trace.rank = 4;
  // Of 10 us: 4 compute alone, 2 overlapped, 1 exposed, 3 idle; 16 tiles of 1 us are
  // the only level.
  trace.compute = trace::IntervalSet({{0, 4000}, {4000, 6000}, {9900, 10'000}});
  trace.comm = trace::IntervalSet({{4000, 7500}});
  const std::vector<RankTrace> traces = {trace};
  const base::Json data = DataOf(Render(traces, Pyramid(traces)));
  const base::Json& level = data["levels"].AsArray().at(0);
  EXPECT_EQ(level["tileNs"].AsInt(), 1000);
  EXPECT_EQ(level["tiles"].AsInt(), 10);
  const std::vector<uint8_t> shares = Bytes(level["data"].AsString());
  ASSERT_EQ(shares.size(), 40u);
  EXPECT_EQ(shares[0], 255);          // compute in the first us
  EXPECT_EQ(shares[4 * 5 + 1], 255);  // overlapped in the sixth
  EXPECT_EQ(shares[4 * 7 + 2], 128);  // exposed for half of the eighth
  EXPECT_EQ(shares[4 * 9], 26);       // 10 % of the last, rest idle
  EXPECT_EQ(Words(data["rank"]), (std::vector<uint32_t>{4}));
  EXPECT_EQ(Words(data["last"]), (std::vector<uint32_t>{10'000}));
}

TEST(TimelineHtml, StepsPhasesAndWaitsAreOnTheCorrectedClock) {
  std::vector<RankTrace> traces = SampleTraces(2, 1);
  const analyze::CollectiveSpan span = traces[1].collectives[0];
  const std::vector<CollectiveWait> waits = {{1, span.start_ns, 100'000}};
  const TracePyramid pyramid = Pyramid(traces, {0, 500});
  const base::Json data = DataOf(Render(traces, pyramid, "x", waits));
  EXPECT_EQ(Words(data["steps"]["at"]), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(Words(data["steps"]["start"]), (std::vector<uint32_t>{0, 500}));
  const std::vector<uint32_t> at = Words(data["collectives"]["at"]);
  EXPECT_EQ(at, (std::vector<uint32_t>{0, 3, 6}));
  const std::vector<uint32_t> wait = Words(data["collectives"]["wait"]);
  EXPECT_EQ(wait[0], 0xffffffffu);  // rank 0: not known
  EXPECT_EQ(wait[3], 100'000u);
  EXPECT_EQ(Words(data["collectives"]["start"])[3],
            static_cast<uint32_t>(span.start_ns + 500 - pyramid.origin_ns));
  EXPECT_EQ(data["names"].AsArray().at(1).AsString(), "all_reduce");
  EXPECT_EQ(Words(data["phases"]["value"])[0], 0u);  // data comes first
}

TEST(TimelineHtml, TheWorstPlaceIsTheWaitForTheLateRank) {
  const auto traces = SampleTraces(4, 3);
  const std::string html = Render(traces, Pyramid(traces));
  const size_t list = html.find("data-worst=\"0\"");
  ASSERT_NE(list, std::string::npos);
  // Rank 3 has the smallest jitter (30 us) of those that wait for rank 2 in step 1: its
  // backward ends after 7.53 ms of the step, its last collective after 11.6 ms.
  EXPECT_EQ(html.substr(list).find("data-worst=\"0\">rank 3, step 1, at 10.000 ms: "
                                   "exposed communication 4.070 ms"),
            0u)
      << html.substr(list, 120);
  const std::vector<TimelinePlace> own = {{3, 2, 23'000'000, 24'000'000, "look here"},
                                          {77, 0, 0, 1, "no such rank"}};
  const std::string other = Render(traces, Pyramid(traces), "x", {}, own);
  EXPECT_NE(other.find("rank 3, step 2, at 23.000 ms: look here"), std::string::npos);
  EXPECT_EQ(other.find("no such rank"), std::string::npos);
}

TEST(TimelineHtml, TextOfUsersCanNotBecomeMarkupOrScript) {
  std::vector<RankTrace> traces = SampleTraces(1, 1);
  traces[0].collectives[0].op = traces[0].strings.Intern("</script><b>x&y");
  const std::string html =
      Render(traces, Pyramid(traces), "<img src=x onerror=alert(1)>");
  EXPECT_EQ(Malformed(html), "");
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("<b>x"), std::string::npos);
  EXPECT_EQ(DataOf(html)["names"].AsArray().at(1).AsString(), "</script><b>x&y");
}

TEST(TimelineHtml, ManyRanksFitAndThePageSaysWhatIsMissing) {
  const auto traces = SampleTraces(8192, 12);
  const std::string html = Render(traces, Pyramid(traces));
  EXPECT_LE(html.size(), kMostTimelineBytes);
  EXPECT_GT(html.size(), kMostTimelineBytes / 2);  // the room is used
  EXPECT_NE(html.find("ranks have none of their marks here"), std::string::npos);
  EXPECT_NE(html.find("First 200 of 8192 ranks"), std::string::npos);
  const base::Json data = DataOf(html);
  EXPECT_EQ(data["levels"].AsArray().front()["ranksPerRow"].AsInt(), 1);
  EXPECT_EQ(Words(data["rank"]).size(), 8192u);
  // The worst ranks keep bars that show single collectives.
  const base::Json& fine = data["levels"].AsArray().back();
  EXPECT_EQ(Words(fine["focus"]).size(), 16u);
  EXPECT_NE(html.find("for the ranks 19, 36, "), std::string::npos);
}

TEST(TimelineHtml, TooManyRanksOrNoTimeLeaveTheTable) {
  std::vector<RankTrace> traces(80'000);
  for (size_t i = 0; i < traces.size(); ++i) traces[i].rank = static_cast<int32_t>(i);
  std::string html = Render(traces, Pyramid(traces));
  EXPECT_NE(html.find("no device time"), std::string::npos);
  traces[0].compute = trace::IntervalSet({{0, 100}});
  html = Render(traces, Pyramid(traces));
  EXPECT_EQ(Malformed(html), "");
  EXPECT_NE(html.find("too many for the picture"), std::string::npos);
  EXPECT_EQ(html.find("<canvas"), std::string::npos);
}

}  // namespace
}  // namespace stepslack::render
