#include "log_line.h"

#include <charconv>

#include "stepslack/base/text.h"

namespace stepslack::logs {
namespace {

constexpr size_t kMaxLabels = 100'000;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Byte behind the control sequence that begins at `at` (ECMA-48 5.4: ESC [ ... final).
size_t SkipEscape(std::string_view line, size_t at) {
  ++at;
  if (at >= line.size()) return at;
  if (line[at] != '[') return at + 1;
  for (++at; at < line.size(); ++at) {
    if (line[at] >= '@' && line[at] <= '~') return at + 1;
  }
  return at;
}

// Digits behind `word` (and blanks) where `word` occurs last, any case of letters.
std::string NumberBehind(std::string_view text, std::string_view word) {
  for (size_t at = text.size(); at-- > 0;) {
    if (text.size() - at < word.size()) continue;
    size_t i = 0;
    while (i < word.size() && Lower(text[at + i]) == word[i]) ++i;
    if (i < word.size()) continue;
    size_t from = at + word.size();
    while (from < text.size() && text[from] == ' ') ++from;
    size_t to = from;
    while (to < text.size() && IsDigit(text[to])) ++to;
    if (to > from) return std::string(text.substr(from, to - from));
  }
  return "";
}

}  // namespace

std::string_view CleanLine(std::string_view line, std::string& storage) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
    line.remove_suffix(1);
  }
  const size_t overwritten = line.rfind('\r');
  if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
  if (line.find('\x1b') == std::string_view::npos) return line;
  storage.clear();
  for (size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = SkipEscape(line, at);
    } else {
      storage += line[at++];
    }
  }
  return storage;
}

std::string RankLabel(std::string_view prefix) {
  if (prefix.size() > 256) prefix = prefix.substr(prefix.size() - 256);
  std::string number = NumberBehind(prefix, "[default");
  if (number.empty()) number = NumberBehind(prefix, "[rank");
  if (!number.empty()) return number;
  std::string_view rest = base::Trim(prefix);
  size_t digits = 0;
  while (digits < rest.size() && IsDigit(rest[digits])) ++digits;
  if (digits > 0 && digits < rest.size() && rest[digits] == ':') {
    return std::string(rest.substr(0, digits));
  }
  return "";
}

StepTracker::Verdict StepTracker::Next(const std::string& label, int64_t step,
                                       size_t content) {
  const bool seen = steps_.contains(step);
  const bool ahead = steps_.empty() || step > *steps_.rbegin();
  Verdict verdict = Verdict::kNew;
  const auto own = last_.find(label);
  if (ahead) {
    verdict = Verdict::kNew;
  } else if (own == last_.end() || own->second.segment != segment_) {
    verdict = seen ? Verdict::kOtherRank : Verdict::kRestart;
  } else if (step > own->second.step) {
    verdict = seen ? Verdict::kOtherRank : Verdict::kNew;
  } else if (step == own->second.step && content == own->second.content) {
    verdict = Verdict::kRepeated;
  } else {
    verdict = Verdict::kRestart;
  }
  if (verdict == Verdict::kRestart) {
    ++segment_;
    steps_.clear();
  }
  steps_.insert(step);
  if (last_.size() >= kMaxLabels && own == last_.end()) return verdict;
  last_[label] = {step, content, segment_};
  return verdict;
}

std::optional<int64_t> TakeInt(std::string_view& text) {
  size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  int64_t value = 0;
  const char* const from = text.data() + at;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(from, end, value);
  if (error != std::errc() || rest == from) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return value;
}

}  // namespace stepslack::logs
