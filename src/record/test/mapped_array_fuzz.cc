#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/record/mapped_array.h"

namespace {

// Reads both ends of an array: what a mapping claims must lie in the file.
void Touch(const stepslack::record::MappedArray& array) {
  const int64_t product =
      std::accumulate(array.shape().begin(), array.shape().end(), int64_t{1},
                      [](int64_t a, int64_t b) { return a * b; });
  SS_CHECK(product == array.size());
  if (array.size() == 0) return;
  std::vector<float> scratch;
  SS_CHECK(array.Floats(0, 1, scratch).size() == 1);
  SS_CHECK(array.Floats(array.size() - 1, 1, scratch).size() == 1);
  int64_t last = 0;
  if (array.is_integer()) array.Integers(array.size() - 1, {&last, 1});
}

}  // namespace

// Any bytes give mapped arrays whose elements can be read, or an error with an id.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  SS_CHECK(file >= 0);
  SS_CHECK(::write(file, data, size) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (const auto arrays = stepslack::record::MapNpz(path); arrays.has_value()) {
    for (const auto& [name, array] : *arrays) Touch(array);
  } else {
    SS_CHECK(arrays.error().id.starts_with("REC-000"));
  }
  if (const auto array = stepslack::record::MapNpy(path); array.has_value()) {
    Touch(*array);
  } else {
    SS_CHECK(array.error().id.starts_with("REC-000"));
  }
  ::close(file);
  return 0;
}
