// Any bytes: as a file, and as the message of a record whose checksums are right.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/tfevents.h"
#include "tfevents_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace logs = stepslack::logs;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& file : {std::string(bytes), logs::Record(bytes)}) {
    const auto set = logs::ParseTfevents(file, "fuzz");
    if (!set.has_value()) continue;
    for (const auto& series : set->series) SS_CHECK(!series.points.empty());
    SS_CHECK(!logs::ToJson(*set).Dump().empty());
  }
  return 0;
}
