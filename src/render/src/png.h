// A minimal PNG encoder: 8-bit palette images (PNG specification, colour type 3).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "colormap.h"

namespace stepslack::render {

// `indices` is row-major with width * height entries; both sides at least 1.
std::string EncodePng(std::span<const uint8_t> indices, uint32_t width, uint32_t height,
                      const std::array<Rgb, 256>& palette);

std::string PngDataUri(std::string_view png);

}  // namespace stepslack::render
