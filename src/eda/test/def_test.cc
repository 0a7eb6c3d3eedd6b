#include "stepslack/eda/def.h"

#include <gtest/gtest.h>

#include "stepslack/eda/pnr_tiles.h"

namespace stepslack::eda {
namespace {

constexpr char kLef[] =
    "MACRO INV SIZE 4 BY 10 ; PIN A PORT RECT 0 1 2 3 ; END END A\n"
    "PIN Y PORT RECT 3 4 4 6 ; RECT 0 0 9 9 ; END END Y END INV\n";

std::string Def(const std::string& nets) {
  return "VERSION 5.6 ;\nDESIGN d ;\nUNITS DISTANCE MICRONS 100 ;\n"
         "DIEAREA ( 0 0 ) ( 3200 1600 ) ;\nVIAS 1 ; - v + RECT m ( 0 0 ) ( 1 1 ) ; END "
         "VIAS\nCOMPONENTS 2 ;\n- a INV + PLACED ( 0 0 ) N ;\n- b INV + PLACED ( 2000 "
         "0 ) "
         "FN ;\nEND COMPONENTS\nPINS 1 ;\n- p + NET n + LAYER m ( 0 0 ) ( 1 1 ) + "
         "PLACED "
         "( 100 1500 ) N ;\nEND PINS\n" +
         nets + "END DESIGN\n";
}

constexpr char kNets[] =
    "NETS 2 ;\n- n ( PIN p ) ( a A ) + ROUTED m1 ( 100 1500 ) ( * 200 ) v ;\n"
    "- w ( a Y ) ( b A ) + ROUTED m1 ( 350 500 ) ( 2300 * ) v NEW m2 ( 2300 500 ) ( * "
    "200 ) ;\nEND NETS\n";

// By hand: net n joins (1, 15) and (1, 2): 13 um of wire, one via. Net w joins (3.5, 5)
// and, mirrored, (20 + 4 - 1, 2) = (23, 2): box 19.5 x 3; wire 19.5 + 3 um, of which
// 16 - 3.5 = 12.5 lie in the first tile.
TEST(Def, TablesAreThoseWorkedByHand) {
  const auto design = ParseDef(Def(kNets), "d.def");
  ASSERT_TRUE(design.has_value()) << base::Describe(design.error());
  const auto lef = ParseLef(kLef, "c.lef");
  ASSERT_TRUE(lef.has_value()) << base::Describe(lef.error());
  const auto tables = ComputePnrTables(*design, *lef);
  ASSERT_TRUE(tables.has_value()) << base::Describe(tables.error());
  ASSERT_EQ(tables->nets.size(), 2U);
  EXPECT_DOUBLE_EQ(tables->nets[0].routed_um, 13);
  EXPECT_DOUBLE_EQ(tables->nets[1].hpwl_um, 22.5);
  EXPECT_EQ(tables->nets[1].vias, 1);
  ASSERT_EQ(tables->tiles.size(), 2U);
  EXPECT_EQ(tables->tiles[0].pin_count, 3);
  EXPECT_DOUBLE_EQ(tables->tiles[0].cell_area_um2, 40);
  EXPECT_DOUBLE_EQ(tables->tiles[0].routed_um, 13 + 12.5);
  EXPECT_DOUBLE_EQ(tables->tiles[1].routed_um, 7 + 3);
  EXPECT_NEAR(tables->tiles[1].rudy_um, 22.5 * 7 / 19.5, 1e-12);
}

TEST(Def, DamagedFilesAreNamed) {
  const auto id = [](const std::string& text) {
    const auto design = ParseDef(text, "d.def");
    return design.has_value() ? std::string() : design.error().id;
  };
  EXPECT_EQ(id("DESIGN d"), "EDA-0220");
  EXPECT_EQ(id(Def("NETS 1 ;\nn\n")), "EDA-0221");
  EXPECT_EQ(id("UNITS DISTANCE MICRONS 0 ;"), "EDA-0222");
  EXPECT_EQ(id("DESIGN d ;"), "EDA-0223");
  EXPECT_EQ(id(Def("NETS 2 ;\n- n ;\nEND NETS\n")), "EDA-0224");
  EXPECT_EQ(id(Def("NETS 2 ;\n- n ;\n- n ;\nEND NETS\n")), "EDA-0225");
  EXPECT_EQ(id(Def("NETS 1 ;\n- n + ROUTED m ( 0 0 ) ( 1 1 ) ;\nEND NETS\n")),
            "EDA-0226");
  EXPECT_EQ(ParseLef("MACRO A SIZE x BY 1 ; END A", "c.lef").error().id, "EDA-0227");
  const auto lef = ParseLef(kLef, "c.lef");
  const auto tables_id = [&](const std::string& net) {
    const auto design = ParseDef(Def("NETS 1 ;\n- n " + net + " ;\nEND NETS\n"), "d");
    return ComputePnrTables(*design, *lef).error().id;
  };
  EXPECT_EQ(tables_id("( a Q )"), "EDA-0230");
  EXPECT_EQ(tables_id("( c A )"), "EDA-0231");
}

}  // namespace
}  // namespace stepslack::eda
