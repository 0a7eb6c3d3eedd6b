// Lines of "key: value | key: value": Megatron-LM, its forks, NeMo 2.
#include "stepslack/base/text.h"
#include "text_records.h"

namespace stepslack::logs {
namespace {

constexpr std::string_view kIteration = "iteration";
constexpr std::string_view kValidation = "validation loss at iteration ";
constexpr std::string_view kNemo = "Training epoch ";

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

// Splits at "|"; the value stands behind the last ":". A piece without one is `cut`.
Fields SplitFields(std::string_view text, bool& cut) {
  Fields fields;
  cut = false;
  for (const std::string_view piece : base::Split(text, '|')) {
    const std::string_view field = base::Trim(piece);
    if (field.empty()) continue;
    const size_t colon = field.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == field.size()) {
      cut = true;
      continue;
    }
    fields.emplace_back(base::Trim(field.substr(0, colon)),
                        base::Trim(field.substr(colon + 1)));
  }
  return fields;
}

std::optional<int64_t> Whole(const Fields& fields, std::string_view key) {
  for (const auto& [name, value] : fields) {
    if (name == key) return base::ParseInt(value);
  }
  return std::nullopt;
}

void AddFields(const Fields& fields, const LogLine& line, bool cut, TextLog& log) {
  for (const auto& [name, value] : fields) log.builder().Text(name, value);
  if (cut) log.Count("line cut short", trace::Severity::kWarning, line);
  log.builder().End();
}

// "iteration  12/ 100 |" at `at`: the two numbers and what follows.
struct Head {
  int64_t step = 0;
  int64_t planned = 0;
  std::string_view rest;
};

std::optional<Head> ReadHead(std::string_view text) {
  text.remove_prefix(kIteration.size());
  const auto step = TakeInt(text);
  if (!step) return std::nullopt;
  text = base::Trim(text);
  if (!text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  const auto planned = TakeInt(text);
  text = base::Trim(text);
  if (!planned || !text.starts_with('|')) return std::nullopt;
  return Head{.step = *step, .planned = *planned, .rest = text};
}

LineResult ReadValidation(const LogLine& line, size_t at, TextLog& log) {
  std::string_view rest = line.text.substr(at + kValidation.size());
  const auto step = TakeInt(rest);
  if (!step) return LineResult::kNotMine;
  const size_t bar = rest.find('|');
  if (bar == std::string_view::npos) return LineResult::kNotMine;
  bool cut = false;
  const Fields fields = SplitFields(rest.substr(bar), cut);
  const bool test = rest.substr(0, bar).find("test set") != std::string_view::npos;
  const std::string_view kind = test ? "megatron test" : "megatron evaluation";
  if (!log.Begin(kind, *step, line, at)) return LineResult::kTaken;
  for (const auto& [name, text] : fields) {
    const auto value = ParseNumber(text);
    if (value && name == "lm loss value") {
      log.builder().ValueAs(test ? "test_loss" : kEvalLoss, "", name, *value);
    } else if (value && name == "lm loss PPL") {
      log.builder().ValueAs(test ? "test_perplexity" : "eval_perplexity", "", name,
                            *value);
    } else {
      log.builder().Text(name, text);
    }
  }
  log.builder().End();
  return LineResult::kTaken;
}

}  // namespace

size_t FindMegatron(std::string_view line) {
  if (line.find('|') == std::string_view::npos) return std::string_view::npos;
  const size_t validation = line.find(kValidation);
  if (validation != std::string_view::npos) return validation;
  if (FindNemo(line) != std::string_view::npos) return std::string_view::npos;
  for (size_t at = line.find(kIteration); at != std::string_view::npos;
       at = line.find(kIteration, at + 1)) {
    if (ReadHead(line.substr(at))) return at;
    if (at > 512) break;
  }
  return std::string_view::npos;
}

size_t FindNemo(std::string_view line) {
  const size_t at = line.find(kNemo);
  if (at == std::string_view::npos) return at;
  return line.find(", iteration ", at) == std::string_view::npos
             ? std::string_view::npos
             : at;
}

bool MegatronLineIsOpen(std::string_view line) {
  return FindMegatron(line) != std::string_view::npos &&
         !base::Trim(line).ends_with('|');
}

bool IsMegatronRest(std::string_view line) {
  const std::string_view text = base::Trim(line);
  return text.ends_with('|') && text.find(": ") != std::string_view::npos &&
         !text.starts_with('[') && FindMegatron(line) == std::string_view::npos &&
         FindNemo(line) == std::string_view::npos;
}

LineResult ReadMegatronLine(const LogLine& line, TextLog& log) {
  const size_t at = FindMegatron(line.text);
  if (at == std::string_view::npos) return LineResult::kNotMine;
  if (line.text.substr(at).starts_with(kValidation)) {
    return ReadValidation(line, at, log);
  }
  const auto head = ReadHead(line.text.substr(at));
  if (!head) return LineResult::kNotMine;
  bool cut = false;
  Fields fields = SplitFields(head->rest, cut);
  if (!cut && !fields.empty() && MegatronLineIsOpen(line.text)) {
    // Every record ends with "|": the last number may have lost digits.
    fields.pop_back();
    cut = true;
  }
  if (!log.Begin("megatron", head->step, line, at, Whole(fields, "consumed samples"))) {
    return LineResult::kTaken;
  }
  log.run().planned_steps = head->planned;
  AddFields(fields, line, cut, log);
  return LineResult::kTaken;
}

LineResult ReadNemoLine(const LogLine& line, TextLog& log) {
  const size_t at = FindNemo(line.text);
  if (at == std::string_view::npos) return LineResult::kNotMine;
  std::string_view rest = line.text.substr(at + kNemo.size());
  const auto epoch = TakeInt(rest);
  rest.remove_prefix(std::min(rest.size(), rest.find(", iteration ") + 12));
  const auto iteration = TakeInt(rest);
  const size_t bar = rest.find('|');
  if (!epoch || !iteration || bar == std::string_view::npos)
    return LineResult::kNotMine;
  bool cut = false;
  const Fields fields = SplitFields(rest.substr(bar), cut);
  const int64_t step = Whole(fields, "global_step").value_or(*iteration);
  if (!log.Begin("nemo", step, line, at, Whole(fields, "consumed_samples"))) {
    return LineResult::kTaken;
  }
  log.builder().Value("epoch", static_cast<double>(*epoch));
  AddFields(fields, line, cut, log);
  return LineResult::kTaken;
}

LineResult ReadArgumentLine(const LogLine& line, TextLog& log) {
  constexpr std::string_view kWorld = "using world size: ";
  const size_t world = line.text.find(kWorld);
  if (world != std::string_view::npos) {
    std::string_view rest = line.text.substr(world + kWorld.size());
    const auto size = TakeInt(rest);
    if (size && *size > 0) log.run().world_size = *size;
    return size ? LineResult::kTaken : LineResult::kNotMine;
  }
  const size_t length = line.text.find("  seq_length ....");
  if (length == std::string_view::npos) return LineResult::kNotMine;
  const auto value =
      base::ParseInt(base::Trim(line.text.substr(line.text.rfind('.') + 1)));
  if (value && *value > 0) log.run().sequence_length = *value;
  return value ? LineResult::kTaken : LineResult::kNotMine;
}

}  // namespace stepslack::logs
