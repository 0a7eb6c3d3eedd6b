#include "stepslack/eda/floorplan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "pad_placement.h"
#include "stepslack/base/random.h"

namespace stepslack::eda {
namespace {

// Mean current of a map, uA per tile; uniform between these.
constexpr double kMeanCurrentLowUa = 20;
constexpr double kMeanCurrentHighUa = 60;
// Spread of the texture of logic (lognormal).
constexpr double kTexture = 0.25;

size_t TileCount(int tiles) {
  return static_cast<size_t>(tiles) * static_cast<size_t>(tiles);
}

size_t Tile(int tiles, int x, int y) {
  return static_cast<size_t>(x) * static_cast<size_t>(tiles) + static_cast<size_t>(y);
}

int Between(base::Random& random, int low, int high) {
  return low + static_cast<int>(random.Below(static_cast<uint64_t>(high - low + 1)));
}

std::vector<Block> DrawBlocks(int tiles, base::Random& random) {
  std::vector<Block> blocks(static_cast<size_t>(Between(random, 2, 8)));
  for (Block& block : blocks) {
    const int height = Between(random, tiles / 8, tiles * 2 / 5);
    const int width = Between(random, tiles / 8, tiles * 2 / 5);
    block.x0 = Between(random, 0, tiles - height);
    block.y0 = Between(random, 0, tiles - width);
    block.x1 = block.x0 + height;
    block.y1 = block.y0 + width;
    block.uniform = random.Uniform() < 0.4;
    // Memories are quiet; logic goes from clock-gated to busy.
    block.activity = block.uniform
                         ? random.Uniform(0.15, 0.6)
                         : std::exp(random.Uniform(std::log(0.3), std::log(4.0)));
  }
  return blocks;
}

uint8_t DrawClass(base::Random& random) {
  return static_cast<uint8_t>(random.Below(kTemplateClasses));
}

void FillClass(int tiles, const Block& area, uint8_t value, std::vector<uint8_t>& map) {
  for (int x = area.x0; x < area.x1; ++x) {
    for (int y = area.y0; y < area.y1; ++y) map[Tile(tiles, x, y)] = value;
  }
}

// Bands along x or y with random borders.
void DrawBands(int tiles, base::Random& random, std::vector<uint8_t>& map) {
  const bool along_x = random.Uniform() < 0.5;
  int at = 0;
  while (at < tiles) {
    const int end = std::min(tiles, at + Between(random, tiles / 5, tiles / 2));
    const Block band = along_x ? Block{at, 0, end, tiles} : Block{0, at, tiles, end};
    FillClass(tiles, band, DrawClass(random), map);
    at = end;
  }
}

// A coarse checker of `cells` x `cells` areas.
void DrawCells(int tiles, int cells, base::Random& random, std::vector<uint8_t>& map) {
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < cells; ++j) {
      const Block cell{i * tiles / cells, j * tiles / cells, (i + 1) * tiles / cells,
                       (j + 1) * tiles / cells};
      FillClass(tiles, cell, DrawClass(random), map);
    }
  }
}

// Template map: bands, a coarse checker, or one background with a template per block.
std::vector<uint8_t> DrawTemplates(int tiles, const std::vector<Block>& blocks,
                                   base::Random& random) {
  std::vector<uint8_t> map(TileCount(tiles), DrawClass(random));
  const double kind = random.Uniform();
  if (kind < 0.25) {
    DrawBands(tiles, random, map);
  } else if (kind < 0.65) {
    DrawCells(tiles, Between(random, 2, 4), random, map);
  } else {
    for (const Block& block : blocks) FillClass(tiles, block, DrawClass(random), map);
  }
  return map;
}

// Smooth background: a few low waves, always positive.
std::vector<double> DrawBackground(int tiles, base::Random& random) {
  struct Wave {
    double kx, ky, phase, amplitude;
  };
  std::array<Wave, 4> waves{};
  for (Wave& wave : waves) {
    wave = {random.Uniform(-1.5, 1.5), random.Uniform(-1.5, 1.5), random.Uniform(),
            random.Uniform(0, 0.4)};
  }
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<double> density(TileCount(tiles));
  for (int x = 0; x < tiles; ++x) {
    for (int y = 0; y < tiles; ++y) {
      double exponent = 0;
      for (const Wave& wave : waves) {
        const double turns = (wave.kx * x + wave.ky * y) / tiles + wave.phase;
        exponent += wave.amplitude * std::cos(kTwoPi * turns);
      }
      density[Tile(tiles, x, y)] = std::exp(exponent);
    }
  }
  return density;
}

void ApplyBlocks(int tiles, const std::vector<Block>& blocks, base::Random& random,
                 std::vector<double>& density, std::vector<uint8_t>& textured) {
  for (const Block& block : blocks) {
    // The same block is busier in one condition than in the next.
    const double level = block.activity * std::exp(0.3 * random.Normal());
    for (int x = block.x0; x < block.x1; ++x) {
      for (int y = block.y0; y < block.y1; ++y) {
        const size_t tile = Tile(tiles, x, y);
        density[tile] = block.uniform ? level : level * std::sqrt(density[tile]);
        textured[tile] = block.uniform ? 0 : 1;
      }
    }
  }
}

// Clock drivers, switching buses: small areas of several times the density around them.
void AddHotClusters(int tiles, base::Random& random, std::vector<double>& density) {
  const int count = Between(random, 1, 6);
  for (int i = 0; i < count; ++i) {
    const double cx = random.Uniform(0, tiles);
    const double cy = random.Uniform(0, tiles);
    const double sigma = random.Uniform(1, 0.06 * tiles + 1);
    const double peak = random.Uniform(2, 6);
    for (int x = 0; x < tiles; ++x) {
      for (int y = 0; y < tiles; ++y) {
        const double dx = (x - cx) / sigma;
        const double dy = (y - cy) / sigma;
        density[Tile(tiles, x, y)] += peak * std::exp(-0.5 * (dx * dx + dy * dy));
      }
    }
  }
}

std::vector<float> DrawCurrents(const Family& family, base::Random& random) {
  const int tiles = family.tiles;
  std::vector<double> density = DrawBackground(tiles, random);
  std::vector<uint8_t> textured(density.size(), 1);
  ApplyBlocks(tiles, family.blocks, random, density, textured);
  AddHotClusters(tiles, random, density);
  double sum = 0;
  for (size_t i = 0; i < density.size(); ++i) {
    if (textured[i] != 0) density[i] *= std::exp(kTexture * random.Normal());
    sum += density[i];
  }
  const double scale = random.Uniform(kMeanCurrentLowUa, kMeanCurrentHighUa) *
                       static_cast<double>(density.size()) / sum;
  std::vector<float> current(density.size());
  for (size_t i = 0; i < density.size(); ++i) {
    current[i] = static_cast<float>(density[i] * scale);
  }
  return current;
}

}  // namespace

std::string_view ToString(PadStyle style) {
  constexpr std::array<std::string_view, kPadStyles> kNames = {
      "ring", "area array", "corners", "one side", "two sides", "spine", "scattered"};
  return kNames[static_cast<size_t>(style)];
}

Family DrawFamily(uint64_t seed, int index, int tiles) {
  Family family;
  family.seed = base::DeriveSeed(seed, "eda.family", static_cast<uint64_t>(index));
  family.index = index;
  family.tiles = tiles;
  base::Random pads(base::DeriveSeed(family.seed, "eda.pads"));
  family.pad_style = static_cast<PadStyle>(pads.Below(kPadStyles));
  family.pads = PlacePads(family.pad_style, tiles, pads);
  base::Random blocks(base::DeriveSeed(family.seed, "eda.blocks"));
  family.blocks = DrawBlocks(tiles, blocks);
  base::Random templates(base::DeriveSeed(family.seed, "eda.templates"));
  family.template_class = DrawTemplates(tiles, family.blocks, templates);
  return family;
}

Variant DrawVariant(const Family& family, int variant) {
  const auto index = static_cast<uint64_t>(variant);
  Variant drawn;
  drawn.grid.tiles = family.tiles;
  drawn.grid.pads = family.pads;
  drawn.grid.template_class = family.template_class;
  if (variant % 2 != 0) {
    base::Random templates(
        base::DeriveSeed(family.seed, "eda.variant.templates", index));
    drawn.grid.template_class = DrawTemplates(family.tiles, family.blocks, templates);
  }
  drawn.grid.stripe = StripeMask(family.tiles, drawn.grid.template_class);
  base::Random currents(base::DeriveSeed(family.seed, "eda.variant.currents", index));
  drawn.current_ua = DrawCurrents(family, currents);
  return drawn;
}

}  // namespace stepslack::eda
