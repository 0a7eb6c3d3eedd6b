// Congestion features and labels of a placed and routed design, per tile and per net.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/eda/def.h"

namespace stepslack::eda {

struct PnrTileOptions {
  double tile_um = 16;
  // A net's box is not thinner than this: wires have a width of their own.
  double min_box_um = 1;
  // Whether pins follow the orientation of their cell. Off only to compare with tables
  // that were made without it.
  bool turn_pins = true;
  // Whether a net's demand is spread over its exact box. Off: evenly over the tiles
  // that its box touches.
  bool clip_boxes = true;
  // Whether every segment of a wire counts. Off: only the first, as in tables made by a
  // reader that overlooks the bends of `( x y ) ( * y ) ( x * )`.
  bool whole_wires = true;
};

struct PnrTile {
  int64_t ix = 0;
  int64_t iy = 0;
  int64_t pin_count = 0;
  double rudy_um = 0;        // expected wire length in the tile
  double cell_area_um2 = 0;  // of cells whose middle lies in the tile, fillers too
  double routed_um = 0;      // the label: routed length in the tile, all layers
};

struct PnrNet {
  std::string name;
  int64_t pins = 0;
  double dx_um = 0, dy_um = 0, hpwl_um = 0;  // box of the pins
  double routed_um = 0;
  int64_t vias = 0;
  bool routed = false;  // has a wire or a via
};

struct PnrTables {
  std::vector<PnrTile> tiles;  // by ix, then iy; every tile of the die
  std::vector<PnrNet> nets;    // of two pins and more, in the order of the DEF
  int64_t single_pin_nets = 0;
  int64_t unrouted_nets = 0;  // of `nets`
};

// RUDY (Spindler and Johannes, DATE 2007): a net of box w x h spreads its half
// perimeter w + h evenly over its box; a tile has the sum over nets of (w + h) *
// overlap / (w * h). A pin lies at the middle of its first LEF rectangle. EDA-0230: a
// cell or pin that the LEF does not know; EDA-0231: a terminal that names no component
// or pin of the design, or a cell turned by 90 degrees; EDA-0232: more than 16 M tiles.
base::Result<PnrTables> ComputePnrTables(const DefDesign& design,
                                         const std::map<std::string, LefMacro>& lef,
                                         const PnrTileOptions& options = {});

// Pearson correlation of RUDY and routed length over the tiles; NaN when constant.
double RudyCorrelation(const std::vector<PnrTile>& tiles);

std::string TilesAsCsv(const std::string& design, const std::vector<PnrTile>& tiles);
std::string NetsAsCsv(const std::string& design, const std::vector<PnrNet>& nets);

}  // namespace stepslack::eda
