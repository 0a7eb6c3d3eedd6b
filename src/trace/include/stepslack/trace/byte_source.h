// Bytes of an input as a stream: a file as it is, or inflated when it is gzip, or one
// member of a tar archive (itself plain or gzip). Nothing is held but one buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::trace {

bool LooksLikeGzip(std::string_view bytes);

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `capacity` bytes and returns how many; 0 is the end. A damaged gzip
  // stream ends where the damage is, with damaged() set.
  virtual size_t Read(char* out, size_t capacity) = 0;
  virtual bool damaged() const { return false; }
};

// The file's bytes, inflated when they are gzip (several members count as one stream).
// Errors: TRACE-0003 (not readable).
base::Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

// What `source` holds, inflated when it is gzip. `source` must outlive the result.
std::unique_ptr<ByteSource> Inflated(ByteSource& source);

// Over bytes that outlive the source; never inflates.
std::unique_ptr<ByteSource> OverBytes(std::string_view bytes);

// A sliding window over a source: what is not yet used stays in one piece.
class TextWindow {
 public:
  TextWindow(ByteSource& source, size_t max_window);

  std::string_view text() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Byte of the whole text at which text() begins.
  int64_t offset() const { return offset_; }
  bool at_end() const { return at_end_; }  // nothing follows text()
  // Drops the first `used` bytes and reads more behind the rest. False when nothing
  // more came: the end of the source, or the window is full.
  bool Advance(size_t used);

 private:
  ByteSource& source_;
  size_t max_window_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t offset_ = 0;
  bool at_end_ = false;
};

}  // namespace stepslack::trace
