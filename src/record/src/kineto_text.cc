#include "kineto_text.h"

#include <fmt/format.h>

#include <iterator>

namespace stepslack::record {

using base::Json;

std::string Microseconds(int64_t ns) {
  const auto magnitude =
      ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000,
                     magnitude % 1000);
}

std::string QuotedJson(std::string_view text) { return Json(text).Dump(-1); }

void AppendKinetoSpan(const KinetoStream::Span& span, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"ph\": \"X\", \"cat\": {}, \"name\": {}, \"pid\": {}, "
                 "\"tid\": {}, \"ts\": {}, \"dur\": {}",
                 QuotedJson(span.category), QuotedJson(span.name), span.process,
                 span.thread, Microseconds(span.start_ns),
                 Microseconds(span.duration_ns));
  if (span.args != nullptr && !span.args->empty()) {
    out += ", \"args\": ";
    out += Json(*span.args).Dump(-1);
  }
  out += "}";
}

}  // namespace stepslack::record
