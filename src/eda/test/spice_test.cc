#include "stepslack/eda/spice.h"

#include <gtest/gtest.h>

#include "stepslack/eda/spice_solver.h"

namespace stepslack::eda {
namespace {

base::Result<OperatingPoint> SolveText(std::string_view text) {
  SS_TRY(const SpiceNetlist netlist, ParseSpice(text, "t.sp"));
  return SolveNetlist(netlist);
}

base::Error ErrorOf(std::string_view text) {
  const auto point = SolveText(text);
  EXPECT_FALSE(point.has_value()) << text;
  return point.has_value() ? base::Error{} : point.error();
}

TEST(Spice, NumbersHaveSuffixesAndUnits) {
  EXPECT_DOUBLE_EQ(*ParseSpiceNumber("1.5k"), 1500);
  EXPECT_DOUBLE_EQ(*ParseSpiceNumber("2MEG"), 2e6);
  EXPECT_DOUBLE_EQ(*ParseSpiceNumber("3mA"), 3e-3);
  EXPECT_DOUBLE_EQ(*ParseSpiceNumber("-2.5e-3uV"), -2.5e-9);
  for (const char* bad : {"", "k", "nan", "inf", "1.2.3", "1e999", "4,5"}) {
    EXPECT_FALSE(ParseSpiceNumber(bad).has_value()) << bad;
  }
}

TEST(Spice, NodeNamesSayWhereTheyLie) {
  const auto node = ParseGridNode("n1_m4_160800_4800");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->layer, 4);
  EXPECT_EQ(node->x_dbu, 160800);
  EXPECT_EQ(node->y_dbu, 4800);
  EXPECT_FALSE(ParseGridNode("n1_m4_160800").has_value());
  EXPECT_FALSE(ParseGridNode("n1_m4_1_2x").has_value());
}

// 1 V through 2 ohm then 3 ohm, 0.1 A drawn at the end, 0.2 A in the middle:
// 1 - 0.3 * 2 = 0.4 V, then 0.4 - 0.1 * 3 = 0.1 V.
TEST(Spice, ALadderIsSolvedAsByHand) {
  const auto point = SolveText(
      "a title line\n* comment\nV1 top 0 DC 1\nR1 top mid 2 $ near\nR2 mid\n+ end 3\n"
      "I1 end 0 100m\nI2 mid gnd 0.2\n.op\n.end\nnonsense after the end");
  ASSERT_TRUE(point.has_value()) << base::Describe(point.error());
  EXPECT_NEAR(point->volt[2], 0.4, 1e-12);
  EXPECT_NEAR(point->volt[3], 0.1, 1e-12);
  EXPECT_NEAR(point->max_drop_v, 0.9, 1e-12);
  EXPECT_NEAR(point->source_current_a, 0.3, 1e-15);
}

// A source between two nodes that are both unknown: 10 V over R1 = 4, V2 = 2, R2 = 4
// in series gives (10 - 2) / 8 = 1 A.
TEST(Spice, AFloatingSourceIsEliminated) {
  const auto point = SolveText("V1 a 0 10\nR1 a b 4\nV2 b c 2\nR2 c 0 4\n");
  ASSERT_TRUE(point.has_value()) << base::Describe(point.error());
  EXPECT_NEAR(point->volt[2], 6, 1e-10);
  EXPECT_NEAR(point->volt[3], 4, 1e-10);
}

TEST(Spice, BadNetlistsAreNamedWithTheirLine) {
  const std::string good = "V1 a 0 1\nR1 a b 1\n";
  const auto expect = [&](const std::string& more, const char* id) {
    const base::Error error = ErrorOf(good + more);
    EXPECT_EQ(error.id, id) << more << base::Describe(error);
    EXPECT_EQ(error.where, "t.sp, line 3") << more;
  };
  expect("C1 a b 1p\n", "EDA-0200");
  expect(".include x\n", "EDA-0200");
  expect("R2 a b\n", "EDA-0201");
  expect("R2 a b x\n", "EDA-0202");
  expect("r1 a b 2\n", "EDA-0203");
  expect("R2 a b 0\n", "EDA-0204");
  expect("R2 a b -1\n", "EDA-0205");
  expect("I1 nowhere 0 1\n", "EDA-0211");
  expect("V2 a 0 1\n", "EDA-0212");
  expect("R2 c d 1\n", "EDA-0213");
  EXPECT_EQ(ErrorOf("+ R1 a 0 1\n").id, "EDA-0206");
  EXPECT_EQ(ErrorOf("").id, "EDA-0207");
  EXPECT_EQ(ErrorOf("R1 a 0 1\nI1 a 0 1\n").id, "EDA-0210");
}

TEST(Spice, MapsHaveNodeValuesAndHarmonicOnesBetween) {
  const auto netlist = ParseSpice(
      "V1 n1_m1_0_0 0 1\nR1 n1_m1_0_0 n1_m1_8000_0 1\nI1 n1_m1_8000_0 0 4m\n", "m.sp");
  ASSERT_TRUE(netlist.has_value());
  const auto point = SolveNetlist(*netlist);
  ASSERT_TRUE(point.has_value());
  const auto map = DrawGridMap(*netlist, *point);
  ASSERT_TRUE(map.has_value()) << base::Describe(map.error());
  EXPECT_EQ(map->height, 5);
  EXPECT_EQ(map->width, 1);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(map->target[i], static_cast<double>(i), 1e-6);
  }
  EXPECT_FLOAT_EQ(map->channels[0][4], 4000);  // uA
}

}  // namespace
}  // namespace stepslack::eda
