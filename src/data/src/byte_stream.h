// A file in pieces, inflated when it is gzip, so that its size does not matter.
#pragma once

#include <memory>
#include <string>

#include "stepslack/base/result.h"

namespace stepslack::data {

class ByteStream {
 public:
  // DATA-0300 not a regular file that can be read.
  static base::Result<ByteStream> Open(const std::string& path);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  // Appends up to a mebibyte; false at the end. DATA-0301 gzip damaged or cut short.
  base::Result<bool> ReadMore(std::string& buffer);

 private:
  struct State;
  explicit ByteStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::data
