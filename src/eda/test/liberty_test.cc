#include "stepslack/eda/liberty.h"

#include <gtest/gtest.h>

namespace stepslack::eda {
namespace {

TEST(Liberty, ReadsAreasPinsAndRegisters) {
  const auto library = ParseLiberty(
      "library (small) { /* a { comment */ time_unit : \"1ns\";\n"
      " cell (INV) { area : 16; pin(A) { direction : input; }\n"
      "  pin(Y) { direction : output; timing() { values (\"1, 2\", \\\n \"3\"); } } }\n"
      " cell (DFF) { area : 96.5; ff (IQ,IQN) { next_state : \"D\"; }\n"
      "  pin(CLK) { direction : input; clock : true; } } }\n",
      "small.lib");
  ASSERT_TRUE(library.has_value()) << base::Describe(library.error());
  EXPECT_EQ(library->name, "small");
  ASSERT_EQ(library->cells.size(), 2);
  const LibertyCell& inverter = library->cells.at("INV");
  EXPECT_EQ(inverter.area, 16);
  EXPECT_FALSE(inverter.sequential);
  EXPECT_TRUE(inverter.pins.at("Y").is_output);
  EXPECT_FALSE(inverter.pins.at("A").is_output);
  EXPECT_EQ(library->cells.at("DFF").area, 96.5);
  EXPECT_TRUE(library->cells.at("DFF").sequential);
  EXPECT_TRUE(library->cells.at("DFF").pins.at("CLK").is_clock);
}

TEST(Liberty, RefusesWhatIsCutShortOrNotANumber) {
  for (const char* text : {"library (a) { cell (b) { area : 1;", "}", "a ( b",
                           "library (a) { cell (b) { area : x; } }"}) {
    const auto library = ParseLiberty(text, "bad.lib");
    ASSERT_FALSE(library.has_value()) << text;
    EXPECT_EQ(library.error().id, "EDA-0100") << text;
  }
  EXPECT_EQ(ParseLiberty("library (a) { }", "bad.lib").error().id, "EDA-0101");
}

}  // namespace
}  // namespace stepslack::eda
