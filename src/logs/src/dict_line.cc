// Hugging Face Trainer prints its log records as Python dicts, without the step:
// {'loss': 2.075, 'learning_rate': 0.0002, 'epoch': 0.04}. Newer releases print the
// numbers as strings.
#include <algorithm>

#include "stepslack/base/text.h"
#include "text_records.h"

namespace stepslack::logs {
namespace {

constexpr int kMaxEvaluations = 16;
constexpr std::string_view kNoStep = "order of the records: the log prints no step";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view Unquoted(std::string_view text) {
  text = base::Trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// Names of the whole run, which must not become points of the training loss.
std::string NameOf(std::string_view key) {
  return key == "train_loss" ? "train_loss_mean" : std::string(key);
}

}  // namespace

size_t FindDict(std::string_view line) {
  const size_t at = line.find("{'");
  if (at == std::string_view::npos) return at;
  const std::string_view dict = line.substr(at);
  const bool known = Contains(dict, "'loss':") || Contains(dict, "'eval_loss':") ||
                     Contains(dict, "'train_runtime':") ||
                     Contains(dict, "'eval_runtime':");
  return known ? at : std::string_view::npos;
}

LineResult ReadDictLine(const LogLine& line, TextLog& log) {
  const size_t at = FindDict(line.text);
  if (at == std::string_view::npos) return LineResult::kNotMine;
  std::string_view dict = line.text.substr(at + 1);
  const size_t close = dict.find('}');
  if (close == std::string_view::npos) {
    log.Count("line cut short", trace::Severity::kWarning, line);
  }
  dict = dict.substr(0, close);
  const bool train = Contains(dict, "'loss':");
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  std::optional<int64_t> step;
  for (const std::string_view piece : base::Split(dict, ',')) {
    const size_t colon = piece.find(':');
    if (colon == std::string_view::npos) continue;
    pairs.emplace_back(Unquoted(piece.substr(0, colon)),
                       Unquoted(piece.substr(colon + 1)));
    if (pairs.back().first == "step") step = base::ParseInt(pairs.back().second);
  }
  if (train) ++log.dict_records;
  log.evaluations = train ? 0 : std::min(log.evaluations + 1, kMaxEvaluations);
  // Evaluations of several data sets stand at one step: none of them is a restart.
  std::string kind = "huggingface";
  if (!train) kind += " evaluation " + std::to_string(log.evaluations);
  const bool begun = log.Begin(kind, step.value_or(log.dict_records), line, at,
                               std::nullopt, step ? std::string_view() : kNoStep);
  if (!begun) return LineResult::kTaken;
  for (const auto& [key, value] : pairs) {
    if (key != "step") log.builder().Text(NameOf(key), value);
  }
  log.builder().End();
  return LineResult::kTaken;
}

}  // namespace stepslack::logs
