#include "partial_gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace stepslack::trace {
namespace {

// Owns the zlib state for the length of one call.
struct InflateStream {
  z_stream z{};
  bool ready = false;

  InflateStream() { ready = inflateInit2(&z, 15 + 16) == Z_OK; }
  ~InflateStream() {
    if (ready) inflateEnd(&z);
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
};

}  // namespace

bool LooksLikeGzip(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<unsigned char>(bytes[0]) == 0x1f &&
         static_cast<unsigned char>(bytes[1]) == 0x8b;
}

Inflated InflateGzip(std::string_view bytes, size_t max_bytes) {
  Inflated result;
  InflateStream stream;
  if (!stream.ready) return result;
  std::vector<char> chunk(size_t{1} << 18);
  size_t taken = 0;
  while (true) {
    const size_t feed =
        std::min<size_t>(bytes.size() - taken, std::numeric_limits<uInt>::max() / 2);
    // zlib does not write through next_in; the C interface lacks the const.
    stream.z.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.z.avail_in = static_cast<uInt>(feed);
    stream.z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.z.avail_out = static_cast<uInt>(chunk.size());
    const int code = inflate(&stream.z, Z_NO_FLUSH);
    taken += feed - stream.z.avail_in;
    const size_t produced = chunk.size() - stream.z.avail_out;
    if (result.text.size() + produced > max_bytes) {
      result.too_large = true;
      return result;
    }
    result.text.append(chunk.data(), produced);
    if (code == Z_STREAM_END) {
      if (!LooksLikeGzip(bytes.substr(taken))) {
        result.complete = true;
        return result;
      }
      if (inflateReset(&stream.z) != Z_OK) return result;
    } else if (code != Z_OK || (produced == 0 && stream.z.avail_in == feed)) {
      return result;
    }
  }
}

}  // namespace stepslack::trace
