#include "byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace stepslack::data {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr int kGzipWindow = 15 + 16;  // zlib's code for a gzip wrapper

}  // namespace

struct ByteStream::State {
  std::string path;
  int file = -1;
  bool gzip = false;
  bool member_done = false;  // a gzip file may hold several members
  bool file_done = false;
  z_stream stream{};
  std::string input;

  ~State() {
    if (file >= 0) ::close(file);
    if (gzip) inflateEnd(&stream);
  }

  // Bytes read; 0 at the end or when the disk fails, which a short gzip then shows.
  base::Result<size_t> Read(char* to, size_t most) {
    while (true) {
      const ssize_t got = ::read(file, to, most);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      return base::Fail("DATA-0319", base::ExitCode::kEnvironment,
                        std::string("reading stopped: ") + std::strerror(errno), path,
                        "check the disk, then run again");
    }
  }

  base::Result<bool> Inflate(std::string& buffer) {
    const size_t before = buffer.size();
    buffer.resize(before + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data() + before);
    stream.avail_out = kPiece;
    while (stream.avail_out > 0) {
      if (stream.avail_in == 0 && !file_done) {
        input.resize(kPiece / 4);
        SS_TRY(const size_t got, Read(input.data(), input.size()));
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
        stream.avail_in = static_cast<uInt>(got);
        file_done = got == 0;
      }
      if (stream.avail_in == 0 && member_done) break;
      if (member_done) inflateReset(&stream);
      const int code = inflate(&stream, Z_NO_FLUSH);
      member_done = code == Z_STREAM_END;
      if (code == Z_OK || code == Z_STREAM_END) continue;
      return base::Fail("DATA-0301", base::ExitCode::kInput,
                        "the gzip data is damaged or cut short", path,
                        "copy the file again; `gzip -t FILE` checks it");
    }
    buffer.resize(before + kPiece - stream.avail_out);
    return buffer.size() > before;
  }
};

ByteStream::ByteStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

base::Result<ByteStream> ByteStream::Open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  state->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts {};
  int reason = errno;
  if (state->file >= 0) {
    const bool regular = ::fstat(state->file, &facts) == 0 && S_ISREG(facts.st_mode);
    reason = regular ? 0 : EINVAL;
  }
  if (reason != 0) {
    return base::Fail("DATA-0300", base::ExitCode::kInput,
                      std::string("cannot open: ") + std::strerror(reason), path,
                      "give a regular file that can be read");
  }
  unsigned char magic[2] = {};
  state->gzip =
      ::pread(state->file, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  if (state->gzip) SS_CHECK(inflateInit2(&state->stream, kGzipWindow) == Z_OK);
  return ByteStream(std::move(state));
}

base::Result<bool> ByteStream::ReadMore(std::string& buffer) {
  if (state_->gzip) return state_->Inflate(buffer);
  const size_t before = buffer.size();
  buffer.resize(before + kPiece);
  auto got = state_->Read(buffer.data() + before, kPiece);
  buffer.resize(before + (got.has_value() ? *got : 0));
  SS_TRY(const size_t size, std::move(got));
  return size > 0;
}

}  // namespace stepslack::data
