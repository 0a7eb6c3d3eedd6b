#include "kineto_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepslack::record {
namespace {

using base::Json;

void AppendNumber(int64_t value, std::string& out) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

// Nothing in it that JSON writes otherwise.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

}  // namespace

void AppendMicroseconds(int64_t ns, std::string& out) {
  const auto magnitude =
      ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  if (ns < 0) out += '-';
  const fmt::format_int whole(magnitude / 1000);
  out.append(whole.data(), whole.size());
  const auto rest = static_cast<int>(magnitude % 1000);
  out += '.';
  out += static_cast<char>('0' + rest / 100);
  out += static_cast<char>('0' + rest / 10 % 10);
  out += static_cast<char>('0' + rest % 10);
}

void AppendQuotedJson(std::string_view text, std::string& out) {
  if (!IsPlain(text)) {
    out += Json(text).Dump(-1);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

std::string QuotedJson(std::string_view text) {
  std::string out;
  AppendQuotedJson(text, out);
  return out;
}

// Appended piece by piece: a trace has hundreds of thousands of these lines.
void AppendKinetoSpan(const KinetoStream::Span& span, std::string& out) {
  out += "{\"ph\": \"X\", \"cat\": ";
  AppendQuotedJson(span.category, out);
  out += ", \"name\": ";
  AppendQuotedJson(span.name, out);
  out += ", \"pid\": ";
  AppendNumber(span.process, out);
  out += ", \"tid\": ";
  AppendNumber(span.thread, out);
  out += ", \"ts\": ";
  AppendMicroseconds(span.start_ns, out);
  out += ", \"dur\": ";
  AppendMicroseconds(span.duration_ns, out);
  if (span.args != nullptr && !span.args->empty()) {
    out += ", \"args\": ";
    out += Json(*span.args).Dump(-1);
  }
  out += "}";
}

}  // namespace stepslack::record
