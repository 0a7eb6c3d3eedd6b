// Random floorplans for power grids. A family is what a design team would call a
// design: macro blocks, pads and a template map. A variant of it is one operating
// condition (new currents); even variants keep the family's template map, odd variants
// re-draw it. Everything follows from one seed through base::DeriveSeed, each part from
// its own stream.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepslack/eda/power_grid.h"

namespace stepslack::eda {

enum class PadStyle {
  kRing,       // evenly around the core
  kAreaArray,  // flip-chip array, jittered
  kCorners,    // three or four corners
  kOneSide,    // one edge only
  kTwoSides,   // two opposite edges
  kSpine,      // a line through the middle
  kScattered,  // anywhere, apart from each other
};
inline constexpr int kPadStyles = 7;
std::string_view ToString(PadStyle style);

// Half-open rectangle of tiles.
struct Block {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  double activity = 1;   // current density relative to the background's mean
  bool uniform = false;  // a memory: no texture inside
};

struct Family {
  uint64_t seed = 0;  // of this family's streams
  int index = 0;
  int tiles = 0;
  PadStyle pad_style = PadStyle::kRing;
  std::vector<Pad> pads;
  std::vector<Block> blocks;
  std::vector<uint8_t> template_class;
};

struct Variant {
  GridSpec grid;
  std::vector<float> current_ua;  // tiles^2, > 0
};

// `tiles` within kMinTiles .. kMaxTiles.
Family DrawFamily(uint64_t seed, int index, int tiles);
Variant DrawVariant(const Family& family, int variant);

}  // namespace stepslack::eda
