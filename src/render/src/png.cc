#include "png.h"

#include <zlib.h>

#include <vector>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/result.h"

namespace stepslack::render {
namespace {

void AppendBigEndian(uint32_t value, std::string& out) {
  for (const int shift : {24, 16, 8, 0}) {
    out += static_cast<char>(static_cast<uint8_t>(value >> shift));
  }
}

void AppendChunk(std::string_view type, std::string_view data, std::string& out) {
  AppendBigEndian(static_cast<uint32_t>(data.size()), out);
  const size_t start = out.size();
  out += type;
  out += data;
  const auto* covered = reinterpret_cast<const Bytef*>(out.data() + start);
  const uLong crc = crc32(0, covered, static_cast<uInt>(out.size() - start));
  AppendBigEndian(static_cast<uint32_t>(crc), out);
}

std::string Deflate(std::string_view raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(raw.data()),
                               static_cast<uLong>(raw.size()), Z_BEST_COMPRESSION);
  SS_CHECK(status == Z_OK);  // the buffer is large enough by compressBound
  out.resize(size);
  return out;
}

}  // namespace

std::string EncodePng(std::span<const uint8_t> indices, uint32_t width, uint32_t height,
                      const std::array<Rgb, 256>& palette) {
  SS_CHECK(width > 0 && height > 0 && indices.size() == size_t{width} * height);
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string header;
  AppendBigEndian(width, header);
  AppendBigEndian(height, header);
  // 8 bits, palette; deflate, adaptive filtering, no interlace.
  header.append({'\x08', '\x03', '\x00', '\x00', '\x00'});
  AppendChunk("IHDR", header, out);
  std::string colours;
  for (const Rgb& colour : palette) {
    colours += static_cast<char>(colour.red);
    colours += static_cast<char>(colour.green);
    colours += static_cast<char>(colour.blue);
  }
  AppendChunk("PLTE", colours, out);
  std::string rows;
  rows.reserve(indices.size() + height);
  for (uint32_t row = 0; row < height; ++row) {
    rows += '\0';  // filter "none": best for palette images
    const auto* begin =
        reinterpret_cast<const char*>(indices.data()) + size_t{row} * width;
    rows.append(begin, width);
  }
  AppendChunk("IDAT", Deflate(rows), out);
  AppendChunk("IEND", "", out);
  return out;
}

std::string PngDataUri(std::string_view png) {
  return "data:image/png;base64," + base::Base64Of(png);
}

}  // namespace stepslack::render
