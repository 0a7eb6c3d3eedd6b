#include "colormap.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace stepslack::render {
namespace {

constexpr std::array<Rgb, 9> kViridis = {{{68, 1, 84},
                                          {71, 45, 123},
                                          {59, 82, 139},
                                          {44, 114, 142},
                                          {33, 145, 140},
                                          {40, 174, 128},
                                          {94, 201, 98},
                                          {173, 220, 48},
                                          {253, 231, 37}}};
constexpr std::array<Rgb, 5> kBlueOrange = {
    {{5, 72, 130}, {96, 166, 214}, {248, 248, 248}, {244, 165, 82}, {166, 78, 4}}};

uint8_t Mix(uint8_t from, uint8_t to, double t) {
  return static_cast<uint8_t>(std::lround(from + t * (to - from)));
}

Rgb Interpolate(std::span<const Rgb> anchors, double position) {
  const double at =
      std::clamp(position, 0.0, 1.0) * static_cast<double>(anchors.size() - 1);
  const auto below = std::min(static_cast<size_t>(at), anchors.size() - 2);
  const double t = at - static_cast<double>(below);
  const Rgb& a = anchors[below];
  const Rgb& b = anchors[below + 1];
  return {Mix(a.red, b.red, t), Mix(a.green, b.green, t), Mix(a.blue, b.blue, t)};
}

}  // namespace

Rgb ValueColour(double position) { return Interpolate(kViridis, position); }
Rgb ErrorColour(double position) { return Interpolate(kBlueOrange, position); }

std::array<Rgb, 256> MapPalette(bool diverging) {
  std::array<Rgb, 256> palette;
  for (size_t i = 0; i < 255; ++i) {
    const double position = static_cast<double>(i) / 254;
    palette[i] = diverging ? ErrorColour(position) : ValueColour(position);
  }
  palette[kNoValueIndex] = {128, 128, 128};
  return palette;
}

uint8_t PaletteIndex(double position) {
  if (std::isnan(position)) return kNoValueIndex;
  return static_cast<uint8_t>(std::lround(std::clamp(position, 0.0, 1.0) * 254));
}

}  // namespace stepslack::render
