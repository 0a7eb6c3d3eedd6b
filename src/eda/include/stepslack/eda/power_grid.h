// A two-layer power grid on tiles x tiles tiles, as a resistor network in ohm, uA and
// mV.
//
// Lower layer: standard-cell rails, one node a tile; rails run along y (columns of the
// map), straps between them along x are weaker. Upper layer: stripes, one node in every
// tile of the stripe mask; two neighbouring stripe tiles are joined by a segment. A via
// joins the layers in every stripe tile. A pad ties the upper node of its tile to Vdd
// through the package. Each tile contributes half of a segment, with the resistance of
// its template class. Everything that sets the drop is in four planes: current,
// template class, stripe mask, pads. Indexing: tile (x, y) is element x * tiles + y.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/eda/ir_solver.h"

namespace stepslack::eda {

inline constexpr int kMinTiles = 16;
inline constexpr int kMaxTiles = 256;
inline constexpr int kTemplateClasses = 3;

struct GridTemplate {
  int stripe_pitch;       // tiles between stripes, both directions
  double stripe_ohm;      // per tile of stripe
  double rail_ohm;        // per tile along y: all rails of a tile in parallel
  double rail_cross_ohm;  // per tile along x
};

// Sparse, medium and dense; pitches divide each other, so stripes continue across
// regions.
inline constexpr std::array<GridTemplate, kTemplateClasses> kGridTemplates = {{
    {16, 0.32, 5.0, 15.0},
    {8, 0.32, 5.0, 15.0},
    {4, 0.36, 5.0, 15.0},
}};
inline constexpr double kViaOhm = 0.4;       // stripe to rails, one tile
inline constexpr double kPackageOhm = 0.25;  // pad to Vdd

struct Pad {
  int x = 0;
  int y = 0;
  friend bool operator==(const Pad&, const Pad&) = default;
};

struct GridSpec {
  int tiles = 0;
  std::vector<uint8_t> template_class;  // tiles^2, 0 .. kTemplateClasses - 1
  std::vector<uint8_t> stripe;          // tiles^2, 0 or 1
  std::vector<Pad> pads;                // on stripe tiles, no two in one tile
};

// Stripes of every tile's own template at multiples of its pitch, and the core ring:
// the outermost tiles always carry a stripe.
std::vector<uint8_t> StripeMask(int tiles, std::span<const uint8_t> template_class);

// True where any template has a stripe: the core ring and multiples of the widest
// pitch.
bool AlwaysStripe(int tiles, int x, int y);

struct GridNetwork {
  CsrMatrix conductance;            // siemens; Vdd is the eliminated reference
  std::vector<int32_t> lower_node;  // tiles^2: node of the lower layer
  std::vector<int32_t> upper_node;  // tiles^2: node of the upper layer or -1
};

// EDA-0010: sizes, classes or mask out of range; EDA-0011: no pad, or a pad outside the
// grid, off the stripes or twice in a tile.
base::Result<GridNetwork> AssembleGrid(const GridSpec& spec);

struct DropMap {
  std::vector<double> drop_mv;  // tiles^2, Vdd minus the lower node's voltage
  SolveStats stats;             // assembly, factorisation, iteration and residual
};

// Exact drop for sinks of `current_ua` (tiles^2) at the lower nodes; linear in the
// currents. EDA-0012: another number of currents than tiles.
base::Result<DropMap> SolveDrop(const GridSpec& spec,
                                std::span<const double> current_ua);

// Effective distance to the pads in tiles, as in the ICCAD 2023 set: 1 / sum(1 / d)
// over all pads, d the Euclidean distance, not below 1/2.
std::vector<double> EffectivePadDistance(int tiles, std::span<const Pad> pads);

}  // namespace stepslack::eda
