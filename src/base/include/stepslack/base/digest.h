// SHA-256 digests, lower-case hexadecimal. They identify content in evidence; nothing
// weaker is ever shown in a capsule.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::base {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& Update(std::string_view bytes);
  Sha256& Update(const void* data, size_t size);
  // 64 hexadecimal digits; the object can not be used afterwards.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Of(std::string_view bytes);
Result<std::string> Sha256OfFile(const std::string& path);

}  // namespace stepslack::base
