#include "mllog_line.h"

#include <cmath>

#include "json_scanner.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"

namespace stepslack::trace {
namespace {

constexpr double kMostSamples = 9e15;  // doubles below are exact integers

bool AtContainer(JsonScanner& scanner) {
  const char c = scanner.Peek();
  return c == '{' || c == '[';
}

// Calls `member(key, scanner)` for every member of the object that comes next; it must
// take the value. False when the text is not one whole object.
template <typename Member>
bool ReadObject(JsonScanner& scanner, Member member) {
  if (!scanner.Take('{')) return false;
  if (scanner.Take('}')) return true;
  std::string_view key;
  while (scanner.ReadString(key) && scanner.Take(':') && member(key)) {
    if (scanner.Take('}')) return true;
    if (!scanner.Take(',')) return false;
  }
  return false;
}

bool ReadMetadata(JsonScanner& scanner, MllogLine& line) {
  std::optional<double> first_epoch;
  const bool good = ReadObject(scanner, [&](std::string_view key) {
    if (AtContainer(scanner)) return scanner.SkipValue();
    JsonToken token;
    if (!scanner.ReadScalar(token)) return false;
    if (key == "epoch_num") line.at.epoch = NumberOf(token.text);
    if (key == "first_epoch_num") first_epoch = NumberOf(token.text);
    if (key == "samples_count") {
      const std::optional<double> samples = NumberOf(token.text);
      if (samples && std::abs(*samples) < kMostSamples) {
        line.at.samples = std::llround(*samples);
      }
    }
    if (key == "status") line.status = token.text;
    if (key == "metric") line.metric = token.text;
    return true;
  });
  if (!line.at.epoch) line.at.epoch = first_epoch;
  return good;
}

bool ReadValue(JsonScanner& scanner, MllogLine& line) {
  if (scanner.Peek() == '{') {
    return ReadObject(scanner, [&](std::string_view key) {
      if (AtContainer(scanner)) return scanner.SkipValue();
      JsonToken token;
      if (!scanner.ReadScalar(token)) return false;
      if (key == "throughput") line.throughput = token.text;
      return true;
    });
  }
  if (AtContainer(scanner)) return scanner.SkipValue();
  JsonToken token;
  if (!scanner.ReadScalar(token)) return false;
  line.value = token.text;
  line.value_is_string = token.is_string;
  return true;
}

}  // namespace

std::optional<double> NumberOf(std::string_view text) {
  const std::optional<double> value = base::ParseDouble(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<MllogLine> ParseMllogLine(std::string_view text) {
  MllogLine line;
  std::optional<int64_t> time;
  JsonScanner scanner(text);
  const bool good = ReadObject(scanner, [&](std::string_view key) {
    if (key == "value") return ReadValue(scanner, line);
    if (key == "metadata" && scanner.Peek() == '{') return ReadMetadata(scanner, line);
    if (AtContainer(scanner)) return scanner.SkipValue();
    JsonToken token;
    if (!scanner.ReadScalar(token)) return false;
    if (key == "key") line.key = token.text;
    if (key == "time_ms") time = DecimalToNs(base::Trim(token.text), 6);
    return true;
  });
  if (!good || line.key.empty() || !time || *time < 0) return std::nullopt;
  line.time_ns = *time;
  line.text = text.substr(0, scanner.position());
  return line;
}

}  // namespace stepslack::trace
