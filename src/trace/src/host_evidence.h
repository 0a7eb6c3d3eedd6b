// Collects evidence: equal things are one record with a count, so that memory follows
// the number of distinct things and not the length of a log.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "stepslack/trace/host_log.h"

namespace stepslack::trace {

// At most `limit` bytes of valid UTF-8 without control characters; bytes that are not
// valid become '?'.
std::string CleanText(std::string_view text, size_t limit = 200);

struct EvidenceLine {
  int64_t number = 0;  // from 1
  std::string_view text;
};

// What a record says when it is first met.
struct EvidenceKind {
  std::string_view kind;
  std::string_view code;
  Severity severity = Severity::kInfo;
  std::string_view layer;
  std::string_view cause;
  std::string_view meaning;
};

class EvidenceCollector {
 public:
  explicit EvidenceCollector(HostReport& report) : report_(report) {}

  // The record of (kind, subject, code), counted once more. The reference is good until
  // the next call.
  HostEvidence& Add(const EvidenceKind& kind, std::string_view subject,
                    const EvidenceLine& line);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  HostReport& report_;
  HostEvidence overflow_;
  std::map<Key, size_t> index_;
};

// The lines of a text, without their ends ("\n" or "\r\n").
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}
  bool Next(std::string_view& line);
  int64_t number() const { return number_; }  // of the last one, from 1
  size_t offset() const { return offset_; }   // of the last one, in bytes

 private:
  std::string_view text_;
  size_t at_ = 0;
  size_t offset_ = 0;
  int64_t number_ = 0;
};

// "Name   : value" to its parts, trimmed; false without a colon.
bool SplitField(std::string_view line, std::string_view& name, std::string_view& value);
// The number a text begins with: "67.74 W" to 67.74; `fallback` for "N/A".
double LeadingNumber(std::string_view text, double fallback);

}  // namespace stepslack::trace
