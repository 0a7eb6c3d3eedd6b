#include "stepslack/trace/byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "peeked_source.h"

namespace stepslack::trace {
namespace {

constexpr size_t kChunk = size_t{1} << 18;

class FileSource : public ByteSource {
 public:
  explicit FileSource(int descriptor) : descriptor_(descriptor) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t Read(char* out, size_t capacity) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, out, capacity);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      damaged_ = true;  // a medium error ends the text as a cut would
      return 0;
    }
  }
  bool damaged() const override { return damaged_; }

 private:
  int descriptor_;
  bool damaged_ = false;
};

class BytesSource : public ByteSource {
 public:
  explicit BytesSource(std::string_view bytes) : bytes_(bytes) {}

  size_t Read(char* out, size_t capacity) override {
    const size_t count = std::min(capacity, bytes_.size());
    std::memcpy(out, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), input_(kChunk) {
    Restart();
  }

  size_t Read(char* out, size_t capacity) override;
  bool damaged() const override { return damaged_; }

 private:
  void Restart() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.avail_in = 0;
    started_ = false;
  }
  bool Refill() {
    if (state_.avail_in != 0) return true;
    const size_t got = packed_->Read(input_.data(), input_.size());
    state_.next_in = reinterpret_cast<uint8_t*>(input_.data());
    state_.avail_in = static_cast<uint32_t>(got);
    return got != 0;
  }
  // Another member follows the one that ended; zero padding and noise do not count.
  bool NextMember();
  size_t Stop(bool damaged) {
    done_ = true;
    damaged_ = damaged || packed_->damaged();
    return 0;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> input_;
  inflate_state state_{};
  bool started_ = false;
  bool done_ = false;
  bool damaged_ = false;
};

size_t GzipSource::Read(char* out, size_t capacity) {
  capacity = std::min<size_t>(capacity, std::numeric_limits<uint32_t>::max() / 2);
  while (!done_ && capacity != 0) {
    const bool more = Refill();
    state_.next_out = reinterpret_cast<uint8_t*>(out);
    state_.avail_out = static_cast<uint32_t>(capacity);
    const uint32_t fed = state_.avail_in;
    const int code = isal_inflate(&state_);
    started_ = true;
    const size_t produced = capacity - state_.avail_out;
    const bool finished = state_.block_state == ISAL_BLOCK_FINISH;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT) {
      // Bytes before a checksum that does not match are still given out.
      Stop(true);
      return produced;
    }
    if (finished && !NextMember()) {
      Stop(false);
      return produced;
    }
    if (produced != 0) return produced;
    if (!more && !finished && state_.avail_in == fed) return Stop(true);
  }
  return 0;
}

bool GzipSource::NextMember() {
  if (!Refill()) return false;
  const std::string_view rest(reinterpret_cast<const char*>(state_.next_in),
                              state_.avail_in);
  if (static_cast<unsigned char>(rest[0]) != 0x1f) return false;
  if (rest.size() > 1 && !LooksLikeGzip(rest)) return false;
  uint8_t* const next = state_.next_in;
  const uint32_t left = state_.avail_in;
  Restart();
  state_.next_in = next;
  state_.avail_in = left;
  return true;
}

std::unique_ptr<ByteSource> InflatedIfPacked(std::unique_ptr<PeekedSource> source) {
  if (!LooksLikeGzip(source->head())) return source;
  return std::make_unique<GzipSource>(std::move(source));
}

}  // namespace

bool LooksLikeGzip(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<unsigned char>(bytes[0]) == 0x1f &&
         static_cast<unsigned char>(bytes[1]) == 0x8b;
}

base::Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  // Opening a pipe that nobody writes to must not wait for ever; reading one whose
  // writer is slow must.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return base::Fail("TRACE-0003", base::ExitCode::kInput,
                      std::string("the file can not be opened: ") + strerror(errno),
                      path, "check the path and its permissions");
  }
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) (void)::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
  return InflatedIfPacked(
      std::make_unique<PeekedSource>(std::make_unique<FileSource>(descriptor), 2));
}

std::unique_ptr<ByteSource> Inflated(ByteSource& source) {
  return InflatedIfPacked(std::make_unique<PeekedSource>(source, 2));
}

std::unique_ptr<ByteSource> OverBytes(std::string_view bytes) {
  return std::make_unique<BytesSource>(bytes);
}

TextWindow::TextWindow(ByteSource& source, size_t max_window)
    : source_(source), max_window_(max_window), buffer_(kChunk * 2) {
  Advance(0);
}

bool TextWindow::Advance(size_t used) {
  begin_ += used;
  offset_ += static_cast<int64_t>(used);
  if (at_end_) return false;
  const size_t left = end_ - begin_;
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, left);
    begin_ = 0;
    end_ = left;
  }
  if (buffer_.size() - end_ < kChunk) {
    if (buffer_.size() >= max_window_) return false;
    buffer_.resize(std::min(buffer_.size() * 2, max_window_));
  }
  // One call may bring little (a pipe, a gzip block), so go on to a useful amount.
  const size_t wanted = end_ + kChunk;
  while (end_ < std::min(wanted, buffer_.size())) {
    const size_t got = source_.Read(buffer_.data() + end_, buffer_.size() - end_);
    if (got == 0) {
      at_end_ = true;
      break;
    }
    end_ += got;
  }
  return end_ > left;
}

}  // namespace stepslack::trace
