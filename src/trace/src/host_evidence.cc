#include "host_evidence.h"

#include <algorithm>
#include <utility>

#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

constexpr size_t kMostRecords = 4096;
constexpr size_t kLongestKey = 80;

// Bytes of the UTF-8 character that `text` begins with; 0 when it is not one.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  }
  const bool overlong =
      (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool beyond =
      (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : size;
}

}  // namespace

std::string CleanText(std::string_view text, size_t limit) {
  std::string clean;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (clean.size() + std::max<size_t>(size, 1) > limit) break;
    // U+0080 to U+009F are control characters as well.
    const bool control =
        first < 0x20 || first == 0x7F ||
        (first == 0xC2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (first == '\t') {
      clean.push_back(' ');
    } else if (size == 0 || control) {
      clean.push_back('?');
    } else {
      clean += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return clean;
}

HostEvidence& EvidenceCollector::Add(const EvidenceKind& kind, std::string_view subject,
                                     const EvidenceLine& line) {
  Key key(kind.kind, CleanText(subject, kLongestKey),
          CleanText(kind.code, kLongestKey));
  const auto found = index_.find(key);
  if (found != index_.end()) {
    HostEvidence& known = report_.evidence[found->second];
    ++known.count;
    known.last_line = line.number;
    known.last_text = CleanText(base::Trim(line.text));
    return known;
  }
  if (report_.evidence.size() >= kMostRecords) {
    report_.stats.Add("evidence beyond 4096 records not kept", Severity::kWarning,
                      line.number);
    overflow_ = HostEvidence{};
    return overflow_;
  }
  index_.emplace(key, report_.evidence.size());
  HostEvidence& fresh = report_.evidence.emplace_back();
  std::tie(fresh.kind, fresh.subject, fresh.code) = std::move(key);
  fresh.severity = kind.severity;
  fresh.layer = kind.layer;
  fresh.cause = kind.cause;
  fresh.meaning = kind.meaning;
  fresh.count = 1;
  fresh.first_line = fresh.last_line = line.number;
  fresh.first_text = fresh.last_text = CleanText(base::Trim(line.text));
  return fresh;
}

bool LineReader::Next(std::string_view& line) {
  if (at_ >= text_.size()) return false;
  offset_ = at_;
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  line = text_.substr(at_, end - at_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at_ = end + 1;
  ++number_;
  return true;
}

bool SplitField(std::string_view line, std::string_view& name,
                std::string_view& value) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  name = base::Trim(line.substr(0, colon));
  value = base::Trim(line.substr(colon + 1));
  return true;
}

double LeadingNumber(std::string_view text, double fallback) {
  const size_t size = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  return base::ParseDouble(text.substr(0, size)).value_or(fallback);
}

}  // namespace stepslack::trace
