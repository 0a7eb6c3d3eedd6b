// Any text either is refused by the readers of inspector logs, benchmark results and
// NCCL's debug output, or gives values in range whose JSON reads back.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/collective_bench.h"
#include "stepslack/trace/nccl_debug.h"
#include "stepslack/trace/nccl_inspector.h"

namespace {

namespace base = stepslack::base;
namespace trace = stepslack::trace;

void CheckTiming(const std::optional<trace::BenchTiming>& timing) {
  if (!timing) return;
  SS_CHECK(timing->time_ns >= 0 && timing->wrong >= -1);
  SS_CHECK(std::isfinite(timing->bus_gb_per_s) && timing->bus_gb_per_s >= 0);
  SS_CHECK(std::isfinite(timing->algorithm_gb_per_s));
}

void FuzzBench(std::string_view text) {
  const auto bench = trace::ParseCollectiveBench(text, "fuzz");
  if (!bench.has_value()) return;
  SS_CHECK(!bench->rows.empty());
  for (const trace::BenchRow& row : bench->rows) {
    SS_CHECK(row.bytes >= 0 && row.elements >= 0);
    SS_CHECK(row.out_of_place || row.in_place);
    CheckTiming(row.out_of_place);
    CheckTiming(row.in_place);
  }
  SS_CHECK(base::ParseJson(trace::ToJson(*bench).Dump(-1), "fuzz").has_value());
}

void FuzzInspector(std::string_view text) {
  const auto log = trace::ParseNcclInspector(text, "fuzz");
  if (!log.has_value()) return;
  for (const trace::InspectorRecord& record : log->records) {
    SS_CHECK(record.duration_ns >= 0 && record.message_bytes >= 0);
    SS_CHECK(record.rank >= -1 && record.peer >= -1);
    SS_CHECK(std::isfinite(record.bus_gb_per_s));
    SS_CHECK(log->communicators.contains(record.communicator));
  }
  SS_CHECK(base::ParseJson(trace::ToJson(*log).Dump(-1), "fuzz").has_value());
}

void FuzzDebug(std::string_view text) {
  const auto log = trace::ParseNcclDebug(text, "fuzz");
  if (!log.has_value()) return;
  for (const trace::NcclLink& link : log->links) {
    SS_CHECK(link.source >= 0 && link.target >= 0 && link.channels > 0);
  }
  for (const trace::NcclFact& fact : log->facts) {
    SS_CHECK(fact.lines > 0 && fact.first_offset >= 0);
    SS_CHECK(fact.first_offset <= static_cast<int64_t>(text.size()));
  }
  SS_CHECK(base::ParseJson(trace::ToJson(*log).Dump(-1), "fuzz").has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  trace::LooksLikeCollectiveBench(text);
  trace::LooksLikeNcclDebug(text);
  trace::LooksLikeNcclInspector(text);
  FuzzBench(text);
  FuzzInspector(text);
  FuzzDebug(text);
  return 0;
}
