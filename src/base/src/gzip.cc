#include <zlib.h>

#include "stepslack/base/file.h"

namespace stepslack::base {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's code for a gzip wrapper
constexpr size_t kChunk = 1 << 18;

}  // namespace

std::string Gzip(std::string_view bytes, int level) {
  z_stream stream{};
  SS_CHECK(deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  size_t left = bytes.size();
  std::string out;
  std::string chunk(kChunk, '\0');
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0 && left > 0) {
      stream.avail_in = static_cast<uInt>(std::min(left, kChunk));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    SS_CHECK(code != Z_STREAM_ERROR);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

Result<std::string> Gunzip(std::string_view bytes, std::string_view name) {
  z_stream stream{};
  SS_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  size_t left = bytes.size();
  std::string out;
  std::string chunk(kChunk, '\0');
  int code = Z_OK;
  // A gzip file may hold several members one after another.
  while (code == Z_OK || (code == Z_STREAM_END && left + stream.avail_in > 0)) {
    if (code == Z_STREAM_END) inflateReset(&stream);
    if (stream.avail_in == 0 && left > 0) {
      stream.avail_in = static_cast<uInt>(std::min(left, kChunk));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
    if (code == Z_BUF_ERROR && (left > 0 || stream.avail_in > 0)) code = Z_OK;
  }
  inflateEnd(&stream);
  if (code == Z_STREAM_END) return out;
  return Fail("BASE-0003", ExitCode::kInput,
              "gzip data is damaged or cut short after " + std::to_string(out.size()) +
                  " bytes",
              std::string(name), "copy the file again; `gzip -t FILE` checks it");
}

}  // namespace stepslack::base
