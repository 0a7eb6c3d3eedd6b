// Any bytes are an array, an archive, or an error; never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/record/array_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)stepslack::record::ParseNpy(bytes, "fuzz");
  (void)stepslack::record::ParseNpz(bytes, "fuzz");
  return 0;
}
