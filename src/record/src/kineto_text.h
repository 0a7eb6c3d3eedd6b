// The text of one Kineto event, shared by the writers of whole traces and of streams.
#pragma once

#include <string>
#include <string_view>

#include "stepslack/record/kineto_writer.h"

namespace stepslack::record {

std::string QuotedJson(std::string_view text);
void AppendQuotedJson(std::string_view text, std::string& out);

// Microseconds with exactly three decimals, from integer nanoseconds.
void AppendMicroseconds(int64_t ns, std::string& out);

// {"ph": "X", ...}: one line, no separator; `start_ns` is relative to the base time.
void AppendKinetoSpan(const KinetoStream::Span& span, std::string& out);

}  // namespace stepslack::record
