// Whatever the bytes are: recognising, inflating and walking an archive ends, and a
// member never gives more than its header says.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/trace/byte_source.h"
#include "stepslack/trace/input_files.h"
#include "tar_members.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stepslack::trace;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)DetectFormat(bytes);
  (void)RankOfFileName(bytes);
  const auto raw = OverBytes(bytes);
  const auto inflated = Inflated(*raw);
  constexpr int64_t kMost = int64_t{4} << 20;
  (void)VisitTarMembers(*inflated, [](const std::string& name, ByteSource& member) {
    if (name.size() > (size_t{1} << 16) + 256) __builtin_trap();
    (void)ReadAll(member, name, kMost);
  });
  return 0;
}
