#include "png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <vector>

#include "colormap.h"
#include "stepslack/base/byte_text.h"

namespace stepslack::render {
namespace {

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Chunk {
  std::string type, data;
  bool intact = false;
};

std::vector<Chunk> Chunks(std::string_view png) {
  std::vector<Chunk> chunks;
  for (size_t at = 8; at + 12 <= png.size();) {
    const uint32_t size = BigEndian(png, at);
    const std::string_view body = png.substr(at + 4, size + 4);
    const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                            static_cast<uInt>(body.size()));
    chunks.push_back({std::string(body.substr(0, 4)), std::string(body.substr(4)),
                      crc == BigEndian(png, at + 8 + size)});
    at += size + 12;
  }
  return chunks;
}

TEST(EncodePng, WritesSignatureAndHeader) {
  const std::vector<uint8_t> pixel = {7};
  const std::string png = EncodePng(pixel, 1, 1, MapPalette(false));
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(8, 25),
            std::string("\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x03\0\0\0", 21) +
                std::string("\x28\xcb\x34\xbb", 4));  // CRC of this well known header
}

TEST(EncodePng, InflatesToTheSamePixels) {
  std::vector<uint8_t> indices;
  for (int i = 0; i < 300 * 7; ++i) indices.push_back(static_cast<uint8_t>(i * 31));
  const auto chunks = Chunks(EncodePng(indices, 300, 7, MapPalette(true)));
  ASSERT_EQ(chunks.size(), 4u);
  const std::vector<std::string> types = {"IHDR", "PLTE", "IDAT", "IEND"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chunks[i].type, types[i]);
    EXPECT_TRUE(chunks[i].intact) << chunks[i].type;
  }
  EXPECT_EQ(BigEndian(chunks[0].data, 0), 300u);
  EXPECT_EQ(BigEndian(chunks[0].data, 4), 7u);
  EXPECT_EQ(chunks[1].data.size(), 768u);
  std::vector<Bytef> rows(7 * 301);
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(rows.data(), &size,
                       reinterpret_cast<const Bytef*>(chunks[2].data.data()),
                       chunks[2].data.size()),
            Z_OK);
  ASSERT_EQ(size, rows.size());
  for (size_t row = 0; row < 7; ++row) {
    EXPECT_EQ(rows[row * 301], 0);
    for (size_t x = 0; x < 300; ++x) {
      ASSERT_EQ(rows[row * 301 + 1 + x], indices[row * 300 + x]);
    }
  }
}

TEST(Base64, MatchesTheVectorsOfRfc4648) {
  EXPECT_EQ(base::Base64Of(""), "");
  EXPECT_EQ(base::Base64Of("f"), "Zg==");
  EXPECT_EQ(base::Base64Of("fo"), "Zm8=");
  EXPECT_EQ(base::Base64Of("foo"), "Zm9v");
  EXPECT_EQ(base::Base64Of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base::Base64Of("\xff\xfe"), "//4=");
}

TEST(Colormap, ReachesItsAnchors) {
  EXPECT_EQ(ValueColour(0), (Rgb{68, 1, 84}));
  EXPECT_EQ(ValueColour(1), (Rgb{253, 231, 37}));
  EXPECT_EQ(ValueColour(0.5), (Rgb{33, 145, 140}));
  EXPECT_EQ(ValueColour(-3), ValueColour(0));
  EXPECT_EQ(ErrorColour(0.5), (Rgb{248, 248, 248}));
  EXPECT_GT(ErrorColour(0).blue, ErrorColour(0).red);
  EXPECT_GT(ErrorColour(1).red, ErrorColour(1).blue);
}

TEST(Colormap, GetsLighterFromLowToHigh) {
  const auto palette = MapPalette(false);
  double before = -1;
  for (size_t i = 0; i < 255; ++i) {
    const double luma =
        0.2126 * palette[i].red + 0.7152 * palette[i].green + 0.0722 * palette[i].blue;
    EXPECT_GE(luma, before - 0.8) << i;  // rounding of single channels
    before = luma;
  }
}

TEST(Colormap, KeepsAnIndexForPixelsWithoutValue) {
  EXPECT_EQ(PaletteIndex(std::nan("")), kNoValueIndex);
  EXPECT_EQ(PaletteIndex(0), 0);
  EXPECT_EQ(PaletteIndex(1), 254);
  EXPECT_EQ(PaletteIndex(7), 254);
}

}  // namespace
}  // namespace stepslack::render
