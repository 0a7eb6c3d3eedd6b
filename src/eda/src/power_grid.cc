#include "stepslack/eda/power_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/context.h"

namespace stepslack::eda {
namespace {

constexpr int kWidestPitch = kGridTemplates[0].stripe_pitch;
constexpr double kUvPerMv = 1000;  // uA times ohm is uV

size_t Tile(int tiles, int x, int y) {
  return static_cast<size_t>(x) * static_cast<size_t>(tiles) + static_cast<size_t>(y);
}

const GridTemplate& TemplateAt(const GridSpec& spec, size_t tile) {
  return kGridTemplates[spec.template_class[tile]];
}

base::Status CheckPlanes(const GridSpec& spec) {
  const auto refuse = [](std::string what) -> base::Status {
    return base::Fail("EDA-0010", base::ExitCode::kInput, std::move(what), "power grid",
                      "give square planes of template classes and stripes");
  };
  if (spec.tiles < 1 || spec.tiles > kMaxTiles) {
    return refuse(
        fmt::format("{} tiles a side, allowed are 1 to {}", spec.tiles, kMaxTiles));
  }
  const size_t count = Tile(spec.tiles, spec.tiles, 0);
  if (spec.template_class.size() != count || spec.stripe.size() != count) {
    return refuse(fmt::format("planes of {} and {} tiles, expected {}",
                              spec.template_class.size(), spec.stripe.size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (spec.template_class[i] >= kTemplateClasses || spec.stripe[i] > 1) {
      return refuse(
          fmt::format("tile {}: template class {} or stripe flag {} is unknown", i,
                      spec.template_class[i], spec.stripe[i]));
    }
  }
  return {};
}

base::Status CheckPads(const GridSpec& spec) {
  const auto refuse = [](std::string what, std::string where) -> base::Status {
    return base::Fail("EDA-0011", base::ExitCode::kInput, std::move(what),
                      std::move(where), "place pads on different stripe tiles");
  };
  if (spec.pads.empty()) return refuse("a power grid needs at least one pad", "pads");
  std::vector<uint8_t> taken(spec.stripe.size(), 0);
  for (const Pad& pad : spec.pads) {
    const std::string where = fmt::format("pad ({}, {})", pad.x, pad.y);
    const bool inside =
        pad.x >= 0 && pad.y >= 0 && pad.x < spec.tiles && pad.y < spec.tiles;
    if (!inside) return refuse("the pad lies outside the grid", where);
    const size_t tile = Tile(spec.tiles, pad.x, pad.y);
    if (spec.stripe[tile] == 0)
      return refuse("there is no stripe under the pad", where);
    if (taken[tile]++ != 0) return refuse("two pads share a tile", where);
  }
  return {};
}

// Collects conductances between nodes and to the reference.
class Stamper {
 public:
  void Join(int32_t a, int32_t b, double ohm) {
    const double siemens = 1 / ohm;
    triplets_.push_back({a, a, siemens});
    triplets_.push_back({b, b, siemens});
    triplets_.push_back({a, b, -siemens});
    triplets_.push_back({b, a, -siemens});
  }
  void TieToVdd(int32_t node, double ohm) {
    triplets_.push_back({node, node, 1 / ohm});
  }
  std::span<const Triplet> triplets() const { return triplets_; }

 private:
  std::vector<Triplet> triplets_;
};

// Both layers' segments from a tile to its neighbour one step along x or y.
void JoinTiles(const GridSpec& spec, const GridNetwork& network, size_t a, size_t b,
               bool along_y, Stamper& stamper) {
  const GridTemplate& ta = TemplateAt(spec, a);
  const GridTemplate& tb = TemplateAt(spec, b);
  const double rail = along_y ? (ta.rail_ohm + tb.rail_ohm) / 2
                              : (ta.rail_cross_ohm + tb.rail_cross_ohm) / 2;
  stamper.Join(network.lower_node[a], network.lower_node[b], rail);
  if (spec.stripe[a] != 0 && spec.stripe[b] != 0) {
    stamper.Join(network.upper_node[a], network.upper_node[b],
                 (ta.stripe_ohm + tb.stripe_ohm) / 2);
  }
}

}  // namespace

bool AlwaysStripe(int tiles, int x, int y) {
  const bool ring = x == 0 || y == 0 || x == tiles - 1 || y == tiles - 1;
  return ring || x % kWidestPitch == 0 || y % kWidestPitch == 0;
}

std::vector<uint8_t> StripeMask(int tiles, std::span<const uint8_t> template_class) {
  SS_CHECK(template_class.size() == Tile(tiles, tiles, 0));
  std::vector<uint8_t> mask(template_class.size(), 0);
  for (int x = 0; x < tiles; ++x) {
    for (int y = 0; y < tiles; ++y) {
      const size_t tile = Tile(tiles, x, y);
      SS_CHECK(template_class[tile] < kTemplateClasses);
      const int pitch = kGridTemplates[template_class[tile]].stripe_pitch;
      const bool stripe = AlwaysStripe(tiles, x, y) || x % pitch == 0 || y % pitch == 0;
      mask[tile] = stripe ? 1 : 0;
    }
  }
  return mask;
}

base::Result<GridNetwork> AssembleGrid(const GridSpec& spec) {
  SS_RETURN_IF_ERROR(CheckPlanes(spec));
  SS_RETURN_IF_ERROR(CheckPads(spec));
  const int tiles = spec.tiles;
  GridNetwork network;
  network.lower_node.resize(spec.stripe.size());
  network.upper_node.assign(spec.stripe.size(), -1);
  // Both nodes of a tile stand side by side: the strong vias then lie inside the
  // pattern that the preconditioner treats exactly.
  int32_t nodes = 0;
  for (size_t tile = 0; tile < spec.stripe.size(); ++tile) {
    network.lower_node[tile] = nodes++;
    if (spec.stripe[tile] != 0) network.upper_node[tile] = nodes++;
  }
  Stamper stamper;
  for (int x = 0; x < tiles; ++x) {
    for (int y = 0; y < tiles; ++y) {
      const size_t tile = Tile(tiles, x, y);
      if (spec.stripe[tile] != 0) {
        stamper.Join(network.lower_node[tile], network.upper_node[tile], kViaOhm);
      }
      if (y + 1 < tiles) {
        JoinTiles(spec, network, tile, Tile(tiles, x, y + 1), true, stamper);
      }
      if (x + 1 < tiles) {
        JoinTiles(spec, network, tile, Tile(tiles, x + 1, y), false, stamper);
      }
    }
  }
  for (const Pad& pad : spec.pads) {
    stamper.TieToVdd(network.upper_node[Tile(tiles, pad.x, pad.y)], kPackageOhm);
  }
  SS_TRY(network.conductance, BuildCsr(nodes, stamper.triplets()));
  return network;
}

base::Result<DropMap> SolveDrop(const GridSpec& spec,
                                std::span<const double> current_ua) {
  const int64_t wall_start = base::NowNs();
  const int64_t cpu_start = ThreadCpuNs();
  SS_TRY(GridNetwork network, AssembleGrid(spec));
  if (current_ua.size() != network.lower_node.size()) {
    return base::Fail("EDA-0012", base::ExitCode::kInput,
                      fmt::format("{} currents for {} tiles", current_ua.size(),
                                  network.lower_node.size()),
                      "power grid", "give one current per tile");
  }
  std::vector<double> rhs(static_cast<size_t>(network.conductance.size), 0);
  for (size_t tile = 0; tile < current_ua.size(); ++tile) {
    rhs[static_cast<size_t>(network.lower_node[tile])] = current_ua[tile];
  }
  SS_TRY(const IrSolver solver, IrSolver::Build(std::move(network.conductance)));
  SS_TRY(Solution solution, solver.Solve(rhs));
  DropMap map;
  map.drop_mv.resize(current_ua.size());
  for (size_t tile = 0; tile < current_ua.size(); ++tile) {
    map.drop_mv[tile] =
        solution.x[static_cast<size_t>(network.lower_node[tile])] / kUvPerMv;
  }
  map.stats = solution.stats;
  map.stats.wall_ns = base::NowNs() - wall_start;
  map.stats.cpu_ns = ThreadCpuNs() - cpu_start;
  return map;
}

std::vector<double> EffectivePadDistance(int tiles, std::span<const Pad> pads) {
  std::vector<double> distance(Tile(tiles, tiles, 0));
  for (int x = 0; x < tiles; ++x) {
    for (int y = 0; y < tiles; ++y) {
      double sum = 0;
      for (const Pad& pad : pads) {
        const double dx = x - pad.x;
        const double dy = y - pad.y;
        sum += 1 / std::max(0.5, std::sqrt(dx * dx + dy * dy));
      }
      distance[Tile(tiles, x, y)] = 1 / sum;
    }
  }
  return distance;
}

}  // namespace stepslack::eda
