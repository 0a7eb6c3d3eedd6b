// Any bytes, as pickle or JSON, either are refused or give a dump whose JSON reads
// back. The first byte chooses between the recorder and the bare pickle reader.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pickle.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/flight_recorder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = stepslack::trace;
  namespace base = stepslack::base;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  trace::LooksLikeFlightRecorder(text);
  const auto pickled = trace::ReadPickle(text, "fuzz",
                                         {.max_nodes = 100'000,
                                          .short_list_key = "frames",
                                          .short_list_items = 2,
                                          .located_list_key = "entries"});
  if (pickled.has_value()) {
    SS_CHECK(base::ParseJson(pickled->value.Dump(-1), "fuzz").has_value());
    for (const int64_t offset : pickled->located) {
      SS_CHECK(offset >= 0 && offset < static_cast<int64_t>(size));
    }
  }
  const auto dump = trace::ParseFlightRecorder(text, "fuzz_dump_1");
  if (!dump.has_value()) return 0;
  for (size_t i = 0; i < dump->entries.size(); ++i) {
    const trace::FlightEntry& entry = dump->entries[i];
    SS_CHECK(!entry.operation.empty() && !entry.group_name.empty());
    SS_CHECK(entry.collective_seq_id >= 0 || entry.p2p_seq_id >= 0);
    SS_CHECK(entry.frames.size() <= 8);
    SS_CHECK(i == 0 || dump->entries[i - 1].record_id <= entry.record_id);
  }
  SS_CHECK(base::ParseJson(trace::ToJson(*dump).Dump(-1), "fuzz").has_value());
  return 0;
}
