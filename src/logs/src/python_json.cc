#include "python_json.h"

#include <array>

#include "series_builder.h"

namespace stepslack::logs {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::array<std::string_view, 3> kWords = {"NaN", "-Infinity", "Infinity"};

std::string_view WordAt(std::string_view text) {
  for (const std::string_view word : kWords) {
    if (text.starts_with(word)) return word;
  }
  return {};
}

void Flatten(const base::Json& value, const std::string& key, int depth, Row& row,
             int64_t& others) {
  if (value.is_null()) return;
  if (value.is_object()) {
    if (depth >= kMaxDepth) {
      ++others;
      return;
    }
    for (const auto& [name, member] : value.AsObject()) {
      Flatten(member, key.empty() ? name : key + "/" + name, depth + 1, row, others);
    }
  } else if (auto text = NumberText(value)) {
    row.emplace_back(key, std::move(*text));
  } else {
    ++others;
  }
}

}  // namespace

base::Result<base::Json> ParsePythonJson(std::string_view text, std::string_view name) {
  std::string changed;
  size_t copied = 0;
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == 'N' || c == 'I' || c == '-') {
      const std::string_view word = WordAt(text.substr(at));
      if (word.empty()) continue;
      changed.append(text.substr(copied, at - copied));
      changed.append("\"").append(word).append("\"");
      at += word.size() - 1;
      copied = at + 1;
    }
  }
  if (copied == 0) return base::ParseJson(text, name);
  changed.append(text.substr(copied));
  return base::ParseJson(changed, name);
}

std::optional<std::string> NumberText(const base::Json& value) {
  if (value.is_int()) return std::to_string(value.AsInt());
  if (value.is_number()) return base::FormatDouble(value.AsDouble());
  if (value.is_string() && ParseNumber(value.AsString())) return value.AsString();
  return std::nullopt;
}

Row FlattenRow(const base::Json& object, int64_t& others) {
  Row row;
  Flatten(object, "", 0, row, others);
  return row;
}

}  // namespace stepslack::logs
