#include <cstddef>
#include <cstdint>
#include <string>

#include "stepslack/base/digest.h"
#include "stepslack/data/collection_file.h"

// Any bytes give maps whose planes fit their shape, or an integrity error. The second
// reading has a correct digest appended, so that the parser behind it is reached too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using stepslack::base::ExitCode;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (int round = 0; round < 2; ++round) {
    const auto read = stepslack::data::ParseCollection(bytes, "fuzz.maps");
    if (!read.has_value()) {
      SS_CHECK(read.error().exit_code == ExitCode::kIntegrity);
    } else {
      for (const auto& map : read->maps) {
        const auto area = static_cast<size_t>(map.height * map.width);
        SS_CHECK(map.channels.size() == read->channels.size());
        SS_CHECK(map.target.size() == area);
        for (const auto& channel : map.channels) SS_CHECK(channel.size() == area);
      }
    }
    bytes += stepslack::base::Sha256Of(bytes);
  }
  return 0;
}
