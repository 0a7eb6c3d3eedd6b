// Any bytes either are refused or give stores whose columns agree with each other.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/xplane_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = stepslack::trace;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto traces = trace::ParseXplane(bytes, "fuzz");
  SS_CHECK(traces.has_value() == trace::LooksLikeXplane(bytes));
  if (!traces.has_value()) return 0;
  SS_CHECK(!traces->traces.empty());
  for (const trace::DeviceTrace& device : traces->traces) {
    const trace::EventStore& store = device.store;
    SS_CHECK(store.stream.size() == store.size());
    SS_CHECK(store.correlation.size() == store.size());
    for (size_t i = 0; i < store.size(); ++i) {
      SS_CHECK(store.end_ns[i] >= store.start_ns[i]);
      SS_CHECK(i == 0 || store.start_ns[i - 1] <= store.start_ns[i]);
      SS_CHECK(store.name[i] < store.strings.size());
      SS_CHECK(store.category[i] < store.strings.size());
      SS_CHECK(store.collective[i] < static_cast<int32_t>(store.collectives.size()));
    }
    SS_CHECK(!store.truncated || store.truncated_at <= static_cast<int64_t>(size));
  }
  return 0;
}
