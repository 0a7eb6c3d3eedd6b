#include "pad_placement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace stepslack::eda {
namespace {

constexpr double kReferenceTiles = 64;

// Collects pads, snapping each to the nearest tile that always has a stripe.
class PadSet {
 public:
  explicit PadSet(int tiles) : tiles_(tiles) {}

  void Add(double x, double y) {
    const int cx = Clamp(x);
    const int cy = Clamp(y);
    for (int radius = 0; radius < tiles_; ++radius) {
      if (AddWithin(cx, cy, radius)) return;
    }
  }
  int tiles() const { return tiles_; }
  size_t size() const { return pads_.size(); }
  std::vector<Pad> Take() { return std::move(pads_); }

  // Square of the distance to the nearest pad so far.
  double NearestSquared(double x, double y) const {
    double nearest = INFINITY;
    for (const Pad& pad : pads_) {
      const double dx = x - pad.x;
      const double dy = y - pad.y;
      nearest = std::min(nearest, dx * dx + dy * dy);
    }
    return nearest;
  }

 private:
  int Clamp(double v) const {
    return std::clamp(static_cast<int>(std::lround(v)), 0, tiles_ - 1);
  }

  // Tries the tiles at Chebyshev distance `radius`. A tile that has a pad ends the
  // search as well: two pads in one place would be one pad of a better package.
  bool AddWithin(int cx, int cy, int radius) {
    for (int x = cx - radius; x <= cx + radius; ++x) {
      for (int y = cy - radius; y <= cy + radius; ++y) {
        if (std::max(std::abs(x - cx), std::abs(y - cy)) != radius) continue;
        if (x < 0 || y < 0 || x >= tiles_ || y >= tiles_) continue;
        if (!AlwaysStripe(tiles_, x, y)) continue;
        const Pad pad{x, y};
        if (std::find(pads_.begin(), pads_.end(), pad) == pads_.end()) {
          pads_.push_back(pad);
        }
        return true;
      }
    }
    return false;
  }

  int tiles_;
  std::vector<Pad> pads_;
};

// A count drawn for the reference size, scaled by area.
int DrawCount(int low, int high, int tiles, base::Random& random) {
  const double drawn =
      low + static_cast<double>(random.Below(static_cast<uint64_t>(high - low + 1)));
  const double scale = tiles / kReferenceTiles;
  return std::max(2, static_cast<int>(std::lround(drawn * scale * scale)));
}

// `count` pads along the closed or open line t in [0, 1), mapped by `place`.
void PlaceRing(PadSet& pads, int count, double offset) {
  const double side = pads.tiles() - 1;
  for (int i = 0; i < count; ++i) {
    const double t = std::fmod((i + offset) / count, 1.0) * 4;
    const int edge = static_cast<int>(t);
    const double along = (t - edge) * side;
    if (edge == 0) pads.Add(0, along);
    if (edge == 1) pads.Add(along, side);
    if (edge == 2) pads.Add(side, side - along);
    if (edge == 3) pads.Add(side - along, 0);
  }
}

void PlaceArray(PadSet& pads, int count, base::Random& random) {
  const int columns = std::max(2, static_cast<int>(std::lround(std::sqrt(count))));
  const int rows = std::max(1, (count + columns / 2) / columns);
  const double step_x = static_cast<double>(pads.tiles()) / rows;
  const double step_y = static_cast<double>(pads.tiles()) / columns;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      pads.Add((i + 0.5 + random.Uniform(-0.2, 0.2)) * step_x,
               (j + 0.5 + random.Uniform(-0.2, 0.2)) * step_y);
    }
  }
}

void PlaceCorners(PadSet& pads, int count, base::Random& random) {
  const double side = pads.tiles() - 1;
  const double inset = random.Uniform(0, 0.2) * side;
  const double near = inset;
  const double far = side - inset;
  const bool all_four = random.Uniform() < 0.7;
  const int corners = all_four ? 4 : 3;
  const int each = std::max(1, count / corners);
  // A corner's pads spread towards the middle of its edges.
  const auto turn = static_cast<int>(random.Below(4));
  for (int c = 0; c < corners; ++c) {
    const int corner = (c + turn) % 4;
    const double x = corner < 2 ? near : far;
    const double y = corner % 2 == 0 ? near : far;
    const double inward_x = corner < 2 ? 1 : -1;
    const double inward_y = corner % 2 == 0 ? 1 : -1;
    for (int i = 0; i < each; ++i) {
      const int place = (i + 1) / 2;  // pads alternate between the two arms
      const double step = 0.12 * side * place / std::max(1, each / 4);
      pads.Add(i % 2 == 0 ? x + inward_x * step : x,
               i % 2 == 0 ? y : y + inward_y * step);
    }
  }
}

// A line of pads at depth `depth` from edge `edge` (0 low x, 1 low y, 2 high x, 3 high
// y).
void PlaceLine(PadSet& pads, int edge, double depth, int count) {
  const double side = pads.tiles() - 1;
  for (int i = 0; i < count; ++i) {
    const double along = (i + 0.5) / count * side;
    const double across = edge < 2 ? depth * side : (1 - depth) * side;
    if (edge % 2 == 0) pads.Add(across, along);
    if (edge % 2 == 1) pads.Add(along, across);
  }
}

// Best of several candidates each time, so that pads keep apart (Mitchell).
void PlaceScattered(PadSet& pads, int count, base::Random& random) {
  constexpr int kCandidates = 6;
  const double side = pads.tiles() - 1;
  for (int i = 0; i < count; ++i) {
    double best_x = 0, best_y = 0, best = -1;
    for (int c = 0; c < kCandidates; ++c) {
      const double x = random.Uniform(0, side);
      const double y = random.Uniform(0, side);
      const double apart = pads.NearestSquared(x, y);
      if (apart > best) {
        best = apart;
        best_x = x;
        best_y = y;
      }
    }
    pads.Add(best_x, best_y);
  }
}

}  // namespace

std::vector<Pad> PlacePads(PadStyle style, int tiles, base::Random& random) {
  PadSet pads(tiles);
  const auto edge = static_cast<int>(random.Below(4));
  switch (style) {
    case PadStyle::kRing:
      PlaceRing(pads, DrawCount(6, 24, tiles, random), random.Uniform());
      break;
    case PadStyle::kAreaArray:
      PlaceArray(pads, DrawCount(4, 24, tiles, random), random);
      break;
    case PadStyle::kCorners:
      PlaceCorners(pads, DrawCount(6, 14, tiles, random), random);
      break;
    case PadStyle::kOneSide:
      PlaceLine(pads, edge, random.Uniform(0, 0.25), DrawCount(6, 12, tiles, random));
      break;
    case PadStyle::kTwoSides: {
      const double depth = random.Uniform(0, 0.2);
      const int count = DrawCount(3, 8, tiles, random);
      PlaceLine(pads, edge % 2, depth, count);
      PlaceLine(pads, edge % 2 + 2, depth, count);
      break;
    }
    case PadStyle::kSpine:
      PlaceLine(pads, edge, random.Uniform(0.35, 0.65),
                DrawCount(4, 10, tiles, random));
      break;
    case PadStyle::kScattered:
      PlaceScattered(pads, DrawCount(4, 24, tiles, random), random);
      break;
  }
  // Small grids may snap all pads of a style to one tile.
  if (pads.size() < 2) {
    pads.Add(0, 0);
    pads.Add(tiles - 1, tiles - 1);
  }
  return pads.Take();
}

}  // namespace stepslack::eda
