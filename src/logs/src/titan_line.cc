// torchtitan: "step: 10  loss: 10.7069  memory: 30.99GiB(32.62%)  tps: 7,034 ...".
// tps and tflops are of one device (torchtitan/components/metrics.py).
#include "stepslack/base/text.h"
#include "text_records.h"

namespace stepslack::logs {
namespace {

constexpr std::string_view kStep = "step:";

bool IsKeyChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9') || c == '/';
}

// Takes "key: value" off the front. False at the end or at anything else.
bool TakeField(std::string_view& text, std::string_view& key, std::string_view& value) {
  text = base::Trim(text);
  size_t end = 0;
  while (end < text.size() && IsKeyChar(text[end])) ++end;
  if (end == 0 || end >= text.size() || text[end] != ':') return false;
  key = text.substr(0, end);
  text = base::Trim(text.substr(end + 1));
  const size_t stop = std::min(text.size(), text.find_first_of(" \t"));
  value = text.substr(0, stop);
  text.remove_prefix(stop);
  return !value.empty();
}

void AddField(std::string_view key, std::string_view value, bool evaluation,
              TextLog& log) {
  SeriesBuilder& builder = log.builder();
  if (key == "memory") {
    const auto gib = ParseNumber(value.substr(0, value.find("GiB")));
    if (value.find("GiB") != std::string_view::npos && gib) {
      builder.ValueAs(evaluation ? "eval_peak_memory_bytes" : kPeakMemoryBytes, "bytes",
                      key, *gib * 1073741824.0);
      return;
    }
  } else if (value.ends_with('%')) {
    if (const auto percent = ParseNumber(value.substr(0, value.size() - 1))) {
      builder.ValueAs(key, "", key, *percent / 100);
      return;
    }
  } else if (evaluation) {
    if (const auto number = ParseNumber(value)) {
      builder.ValueAs("eval_" + std::string(key), "", key, *number);
      return;
    }
  }
  builder.Text(key, value);
}

}  // namespace

size_t FindTitan(std::string_view line) {
  for (size_t at = line.find(kStep); at != std::string_view::npos;
       at = line.find(kStep, at + 1)) {
    if (at > 512) break;
    if (at > 0 && IsKeyChar(line[at - 1])) continue;
    std::string_view rest = line.substr(at + kStep.size());
    if (!TakeInt(rest)) continue;
    const std::string_view next = base::Trim(rest);
    // One blank is what other programs put there.
    if (next.size() < rest.size() && next.starts_with("loss:")) return at;
  }
  return std::string_view::npos;
}

LineResult ReadTitanLine(const LogLine& line, TextLog& log) {
  const size_t at = FindTitan(line.text);
  if (at == std::string_view::npos) return LineResult::kNotMine;
  const bool evaluation = base::Trim(line.text.substr(0, at)).ends_with("validate");
  std::string_view rest = line.text.substr(at + kStep.size());
  const auto step = TakeInt(rest);
  const std::string_view kind = evaluation ? "torchtitan evaluation" : "torchtitan";
  if (!step || !log.Begin(kind, *step, line, at)) return LineResult::kTaken;
  std::string_view key;
  std::string_view value;
  while (TakeField(rest, key, value)) AddField(key, value, evaluation, log);
  if (!base::Trim(rest).empty()) {
    log.Count("line cut short", trace::Severity::kWarning, line);
  }
  log.builder().End();
  return LineResult::kTaken;
}

}  // namespace stepslack::logs
