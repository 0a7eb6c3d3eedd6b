// Tables of the reference designs, recomputed from their DEF. The reference places a
// pin without the orientation of its cell, hence turn_pins = false here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/eda/pnr_tiles.h"

namespace stepslack::eda {
namespace {

constexpr char kLefPath[] = "/usr/share/qflow/tech/osu035/osu035_stdcells.lef";

constexpr PnrTileOptions kReference = {
    .turn_pins = false, .clip_boxes = false, .whole_wires = false};

std::string Folder() {
  std::string root;
  if (const char* shared = std::getenv("STEPSLACK_SHARED")) {
    root = shared;
  } else if (const char* source = std::getenv("STEPSLACK_SOURCE")) {
    root = std::string(source) + "/../shared";
  }
  return root + "/data/vlsi/own-pnr";
}

using Rows = std::map<std::string, std::vector<std::vector<double>>>;

Rows ReadRows(const std::string& path) {
  Rows rows;
  const auto text = base::ReadMaybeGzip(path);
  if (!text.has_value()) return rows;
  for (const auto line : base::Split(*text, '\n')) {
    const auto cells = base::Split(base::Trim(line), ',');
    if (cells.size() < 2) continue;
    auto& row = rows[std::string(cells[0])].emplace_back();
    for (const auto cell : cells) row.push_back(base::ParseDouble(cell).value_or(NAN));
  }
  return rows;
}

TEST(ReferenceDesigns, HaveTheKnownTilesAndNets) {
  if (!base::PathExists(Folder())) GTEST_SKIP() << "the reference data is not here";
  if (!base::PathExists(kLefPath)) GTEST_SKIP() << "qflow-tech-osu035 is not installed";
  const auto lef = ReadLef(kLefPath);
  ASSERT_TRUE(lef.has_value());
  const Rows tiles = ReadRows(Folder() + "/tiles.csv.gz");
  const Rows nets = ReadRows(Folder() + "/nets.csv.gz");
  for (const auto& [name, want_tiles] : tiles) {
    if (name == "design") continue;
    SCOPED_TRACE(name);
    const auto design = ReadDef(Folder() + "/" + name + ".routed.def.gz");
    ASSERT_TRUE(design.has_value()) << base::Describe(design.error());
    const auto tables = ComputePnrTables(*design, *lef, kReference);
    ASSERT_TRUE(tables.has_value()) << base::Describe(tables.error());
    EXPECT_EQ(tables->unrouted_nets, name == "mult_w12" ? 30 : 0);
    ASSERT_EQ(tables->tiles.size(), want_tiles.size());
    // Places exactly on a border go to either tile in the reference (rounding), and its
    // wires are shared among tiles by sampling: sums agree, and most tiles do.
    double sum[2][4] = {};
    size_t same_pins = 0, same_rudy = 0;
    for (size_t i = 0; i < want_tiles.size(); ++i) {
      const PnrTile& t = tables->tiles[i];
      const double have[4] = {static_cast<double>(t.pin_count), t.rudy_um,
                              t.cell_area_um2, t.routed_um};
      for (size_t k = 0; k < 4; ++k) {
        sum[0][k] += have[k];
        sum[1][k] += want_tiles[i][k + 3];
      }
      same_pins += have[0] == want_tiles[i][3] ? 1 : 0;
      same_rudy += std::abs(have[1] - want_tiles[i][4]) <= 0.0051 ? 1 : 0;
    }
    const auto count = static_cast<double>(want_tiles.size());
    EXPECT_EQ(sum[0][0], sum[1][0]) << "pins";
    EXPECT_NEAR(sum[0][1], sum[1][1], 0.005 * count) << "RUDY";
    EXPECT_NEAR(sum[0][2], sum[1][2], 0.05 * count) << "cell area";
    EXPECT_NEAR(sum[0][3], sum[1][3], 0.05 * count) << "routed";
    EXPECT_GE(static_cast<double>(same_pins), 0.9 * count);
    EXPECT_GE(static_cast<double>(same_rudy), 0.55 * count);
    EXPECT_GE(RudyCorrelation(tables->tiles), 0.735);
    EXPECT_LE(RudyCorrelation(tables->tiles), 0.865);
    const auto& want_nets = nets.at(name);
    size_t at = 0, differing = 0;
    for (const PnrNet& n : tables->nets) {
      if (!n.routed) continue;
      ASSERT_LT(at, want_nets.size());
      const auto& want = want_nets[at++];
      const bool same = static_cast<double>(n.pins) == want[1] &&
                        std::abs(n.hpwl_um - want[4]) <= 0.0051 &&
                        std::abs(n.routed_um - want[5]) <= 0.0051 &&
                        static_cast<double>(n.vias) == want[6];
      differing += same ? 0 : 1;
    }
    EXPECT_EQ(at, want_nets.size());
    EXPECT_EQ(differing, 0U);
  }
}

}  // namespace
}  // namespace stepslack::eda
