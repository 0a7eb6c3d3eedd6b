// Any bytes either are refused or give a store whose columns agree with each other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/kineto_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = stepslack::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto store = trace::ParseKinetoTrace(text, "fuzz");
  if (!store.has_value()) return 0;
  for (size_t i = 0; i < store->size(); ++i) {
    SS_CHECK(store->end_ns[i] >= store->start_ns[i]);
    SS_CHECK(i == 0 || store->start_ns[i - 1] <= store->start_ns[i]);
    SS_CHECK(store->name[i] < store->strings.size());
    SS_CHECK(store->category[i] < store->strings.size());
    SS_CHECK(store->collective[i] < static_cast<int32_t>(store->collectives.size()));
  }
  for (const trace::CollectiveArgs& args : store->collectives) {
    SS_CHECK(args.name < store->strings.size() && args.group < store->strings.size());
    SS_CHECK(args.bytes >= 0 && args.group_size >= 0 && args.seq >= trace::kNoSeq);
  }
  SS_CHECK(!store->truncated || store->truncated_at <= static_cast<int64_t>(size));
  return 0;
}
