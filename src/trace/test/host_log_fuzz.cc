// Any bytes: every reader of host texts ends, and its records are clean and counted.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/host_log.h"

namespace {

namespace trace = stepslack::trace;

void Check(const trace::HostReport& report) {
  SS_CHECK(report.FindingCount() <= report.evidence.size());
  for (const trace::HostEvidence& record : report.evidence) {
    SS_CHECK(record.count >= 1 && record.first_line <= record.last_line);
    SS_CHECK(record.last_line <= report.lines);
    SS_CHECK(record.first_text.size() <= 200 && record.last_text.size() <= 200);
    SS_CHECK(record.subject.size() <= 80 && record.code.size() <= 80);
    for (const char c : record.first_text + record.last_text + record.subject) {
      SS_CHECK(static_cast<unsigned char>(c) >= 0x20);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto patterns = trace::ShippedHostLogPatterns();
  SS_CHECK(patterns.has_value());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check(trace::ParseNvidiaSmi(text));
  Check(trace::ParseNvlinkStatus(text));
  Check(trace::ParseIbstat(text));
  Check(trace::ParseProcSnapshot(text));
  Check(trace::ParseKernelLog(text, *patterns));
  const auto detected = trace::ParseHostLog(text, "fuzz", {.patterns = &*patterns});
  SS_CHECK(detected.has_value() ==
           (trace::DetectHostLog(text) != trace::HostLogKind::kUnknown));
  if (detected.has_value()) trace::ToJson(*detected).Dump();
  trace::ParseHostLogPatterns(text, "fuzz.toml").has_value();
  return 0;
}
