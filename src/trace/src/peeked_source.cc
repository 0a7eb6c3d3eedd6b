#include "peeked_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stepslack::trace {

size_t ReadFully(ByteSource& source, char* out, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    const size_t got = source.Read(out + filled, size - filled);
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

PeekedSource::PeekedSource(ByteSource& source, size_t head_bytes)
    : source_(source), head_(head_bytes, '\0') {
  head_.resize(ReadFully(source_, head_.data(), head_.size()));
}

PeekedSource::PeekedSource(std::unique_ptr<ByteSource> source, size_t head_bytes)
    : owned_(std::move(source)), source_(*owned_), head_(head_bytes, '\0') {
  head_.resize(ReadFully(source_, head_.data(), head_.size()));
}

size_t PeekedSource::Read(char* out, size_t capacity) {
  if (used_ == head_.size()) return source_.Read(out, capacity);
  const size_t count = std::min(capacity, head_.size() - used_);
  std::memcpy(out, head_.data() + used_, count);
  used_ += count;
  return count;
}

}  // namespace stepslack::trace
