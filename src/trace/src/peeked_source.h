// A source whose first bytes can be looked at before it is read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "stepslack/trace/byte_source.h"

namespace stepslack::trace {

// Reads until `size` bytes are there or the source ends; returns how many came.
size_t ReadFully(ByteSource& source, char* out, size_t size);

class PeekedSource : public ByteSource {
 public:
  // Looks at up to `head_bytes`. A source by reference must outlive this one.
  PeekedSource(ByteSource& source, size_t head_bytes);
  PeekedSource(std::unique_ptr<ByteSource> source, size_t head_bytes);

  std::string_view head() const { return head_; }
  size_t Read(char* out, size_t capacity) override;
  bool damaged() const override { return source_.damaged(); }

 private:
  std::unique_ptr<ByteSource> owned_;  // null: borrowed
  ByteSource& source_;
  std::string head_;
  size_t used_ = 0;
};

}  // namespace stepslack::trace
