#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/analyze/projection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stepslack;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> left_out;
  auto families = analyze::FamiliesOfTable(text, "fuzz.csv", 8, left_out);
  if (!families.has_value()) return 0;
  analyze::ProjectOptions options;
  options.world_sizes = {1, 64, 1'000'000'000};
  analyze::ToJson(analyze::Project(*std::move(families), options));
  return 0;
}
