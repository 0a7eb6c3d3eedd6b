// Perceptual colours for maps: viridis for values (Smith and van der Walt, 2015, from
// anchors), blue-white-orange for errors about zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepslack::render {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// position in [0, 1], held there.
Rgb ValueColour(double position);
Rgb ErrorColour(double position);  // 0.5 is white

// Palette of a map: entries 0 to 254 from low to high, 255 for pixels without a value.
inline constexpr uint8_t kNoValueIndex = 255;
std::array<Rgb, 256> MapPalette(bool diverging);
uint8_t PaletteIndex(double position);

}  // namespace stepslack::render
