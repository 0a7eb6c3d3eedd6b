#include "stepslack/render/section_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "sample_report.h"

namespace stepslack::render {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SectionJson, TurnsWhatIsNotFiniteIntoNull) {
  const LineChart chart{.title = "t",
                        .caption = "c",
                        .x_label = "x",
                        .y_label = "y",
                        .log2_x = false,
                        .log_y = false,
                        .series = {{.name = "s",
                                    .x = {1, 2},
                                    .y = {0.5, kNan},
                                    .low = {},
                                    .high = {},
                                    .steps = true,
                                    .dashed = false,
                                    .points = true}},
                        .references = {{"r", std::numeric_limits<double>::infinity()}},
                        .target_low = 0.25,
                        .target_high = {}};
  EXPECT_EQ(ToJson(chart).Dump(-1),
            R"({"caption":"c","log2_x":false,"log_y":false,)"
            R"("references":[{"name":"r","y":null}],)"
            R"("series":[{"name":"s","steps":true,"x":[1,2],"y":[0.5,null]}],)"
            R"("target_high":null,"target_low":0.25,"title":"t","type":"line",)"
            R"("x_label":"x","y_label":"y"})");
}

TEST(SectionJson, KeepsFloatsShortAndExact) {
  const MapChart chart{
      .title = "",
      .caption = "",
      .images = {{.name = "m",
                  .unit = "mV",
                  .height = 1,
                  .width = 3,
                  .values = {0.1f, 3.0f, std::numeric_limits<float>::quiet_NaN()},
                  .diverging = false,
                  .scale_low = {},
                  .scale_high = {}}}};
  const base::Json json = ToJson(chart);
  EXPECT_EQ(json["images"].AsArray()[0]["values"].Dump(-1), "[0.1,3,null]");
}

TEST(SectionJson, HoldsEstimatesInFull) {
  const Table table{
      "t", {"a", "b"}, {{std::string("x"), base::Exact(2, "ms", 3, "steps", "count")}}};
  const base::Json cell = ToJson(table)["rows"].AsArray()[0].AsArray()[1];
  EXPECT_EQ(cell["unit"].AsString(), "ms");
  EXPECT_EQ(cell["n"].AsInt(), 3);
}

TEST(SectionJson, WritesEverySpanAndBar) {
  const base::Json timeline = ToJson(SampleTimeline());
  EXPECT_EQ(timeline["spans"].AsArray().size(), SampleTimeline().spans.size());
  EXPECT_EQ(timeline["type"].AsString(), "timeline");
  const base::Json bars = ToJson(SampleStackedChart());
  EXPECT_EQ(bars["bars"].AsArray()[1]["parts"].Dump(-1),
            "[12.4,18.3,36.9,0.4,1.7,2.3]");
}

TEST(SectionJson, ReadsBackAsJson) {
  for (const Section& section : SampleReport().sections) {
    const std::string text = ToJson(section).Dump();
    const auto parsed = base::ParseJson(text, "section");
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->Dump(), text);
  }
}

}  // namespace
}  // namespace stepslack::render
