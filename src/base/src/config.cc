#include "stepslack/base/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::base {

// Copies a parsed TOML tree into ConfigTables, so that toml++ stays in this file.
struct ConfigBuilder {
  std::string file;

  ConfigTable Build(const toml::table& from, const std::string& path, int line) const {
    ConfigTable table;
    table.file_ = file;
    table.path_ = path;
    table.line_ = line;
    for (const auto& [key, node] : from) {
      Add(table, std::string(key.str()), node,
          static_cast<int>(key.source().begin.line));
    }
    return table;
  }

  void Add(ConfigTable& table, const std::string& key, const toml::node& node,
           int line) const {
    table.lines_[key] = line;
    const std::string path = table.path_.empty() ? key : table.path_ + "." + key;
    if (const auto* sub = node.as_table()) {
      table.tables_[key].push_back(Build(*sub, path, line));
      return;
    }
    const auto* list = node.as_array();
    if (list != nullptr && !list->empty() && list->is_homogeneous<toml::table>()) {
      for (const auto& item : *list) {
        const int item_line = static_cast<int>(item.source().begin.line);
        table.tables_[key].push_back(Build(*item.as_table(), path, item_line));
      }
      return;
    }
    table.values_[key] = Scalar(node);
  }

  static Json Scalar(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* integer = node.as_integer()) return int64_t{integer->get()};
    if (const auto* number = node.as_floating_point()) return number->get();
    if (const auto* truth = node.as_boolean()) return truth->get();
    Json::Array items;
    if (const auto* list = node.as_array()) {
      for (const auto& item : *list) items.push_back(Scalar(item));
      return items;
    }
    return nullptr;  // dates and times: refused by whoever reads the key
  }
};

Result<ConfigTable> ConfigTable::Parse(std::string_view text,
                                       std::string_view file_name) {
  try {
    const toml::table parsed = toml::parse(text, file_name);
    return ConfigBuilder{.file = std::string(file_name)}.Build(parsed, "", 1);
  } catch (const toml::parse_error& error) {
    return Fail("CONF-0001", ExitCode::kUsage, std::string(error.description()),
                fmt::format("{}:{}", file_name, error.source().begin.line),
                "correct the TOML syntax at this line");
  }
}

Result<ConfigTable> ConfigTable::Load(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) {
    Error error = text.error();
    error.exit_code = ExitCode::kUsage;
    return tl::unexpected(error);
  }
  return Parse(*text, path);
}

int ConfigTable::LineOf(std::string_view key) const {
  const auto found = lines_.find(key);
  return found != lines_.end() ? found->second : line_;
}

std::string ConfigTable::Where(std::string_view key) const {
  return fmt::format("{}:{}", file_, LineOf(key));
}

void ConfigTable::Complain(int line, std::string id, std::string what,
                           std::string help) {
  problems_.push_back(
      {line, Error{std::move(id), ExitCode::kUsage, std::move(what),
                   fmt::format("{}:{}", file_, line), std::move(help)}});
}

void ConfigTable::Reject(std::string_view key, std::string what, std::string help) {
  Complain(LineOf(key), "CONF-0003", std::move(what), std::move(help));
}

void ConfigTable::Missing(std::string_view key, std::string_view example) {
  const std::string place = path_.empty() ? "at top level" : "in [" + path_ + "]";
  Complain(line_, "CONF-0004", fmt::format("key `{}` is missing {}", key, place),
           fmt::format("add {} = {}", key, example));
}

const Json* ConfigTable::Find(std::string_view key) {
  read_.emplace(key);
  const auto found = values_.find(key);
  return found != values_.end() ? &found->second : nullptr;
}

std::string ConfigTable::String(std::string_view key,
                                std::optional<std::string> fallback) {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (!fallback) Missing(key, "\"...\"");
    return fallback.value_or("");
  }
  if (!value->is_string()) {
    Reject(key, fmt::format("`{}` must be text", key), "put the value in quotes");
  }
  return value->AsString();
}

double ConfigTable::Double(std::string_view key, std::optional<double> fallback,
                           double low, double high) {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (!fallback) Missing(key, "NUMBER");
    return fallback.value_or(low);
  }
  const double number = value->AsDouble();
  // Written so that NaN is refused as well.
  if (!value->is_number() || !(number >= low && number <= high)) {
    Reject(key, fmt::format("`{}` must be a number from {} to {}", key, low, high),
           "correct the value");
    return low;
  }
  return number;
}

int64_t ConfigTable::Int(std::string_view key, std::optional<int64_t> fallback,
                         int64_t low, int64_t high) {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (!fallback) Missing(key, "NUMBER");
    return fallback.value_or(low);
  }
  const int64_t number = value->AsInt();
  if (!value->is_int() || number < low || number > high) {
    Reject(key,
           fmt::format("`{}` must be a whole number from {} to {}", key, low, high),
           "correct the value");
    return low;
  }
  return number;
}

bool ConfigTable::Bool(std::string_view key, std::optional<bool> fallback) {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (!fallback) Missing(key, "true or false");
    return fallback.value_or(false);
  }
  if (!value->is_bool()) {
    Reject(key, fmt::format("`{}` must be true or false", key), "correct the value");
  }
  return value->AsBool();
}

std::vector<std::string> ConfigTable::Strings(std::string_view key) {
  std::vector<std::string> texts;
  const Json* value = Find(key);
  if (value == nullptr) return texts;
  bool good = value->is_array();
  for (const Json& item : value->AsArray()) {
    good = good && item.is_string();
    texts.push_back(item.AsString());
  }
  if (!good) {
    Reject(key, fmt::format("`{}` must be a list of texts", key),
           "write [\"a\", \"b\"]");
  }
  return texts;
}

std::vector<double> ConfigTable::Doubles(std::string_view key) {
  std::vector<double> numbers;
  const Json* value = Find(key);
  if (value == nullptr) return numbers;
  bool good = value->is_array();
  for (const Json& item : value->AsArray()) {
    good = good && item.is_number();
    numbers.push_back(item.AsDouble());
  }
  if (!good) {
    Reject(key, fmt::format("`{}` must be a list of numbers", key), "write [1, 2.5]");
  }
  return numbers;
}

ConfigTable& ConfigTable::Table(std::string_view key) {
  read_.emplace(key);
  if (const auto found = values_.find(key); found != values_.end()) {
    Reject(key, fmt::format("`{}` must be a table", key),
           fmt::format("write [{}]", key));
  }
  std::vector<ConfigTable>& tables = tables_[std::string(key)];
  if (tables.empty()) {
    ConfigTable& table = tables.emplace_back();
    table.file_ = file_;
    table.path_ = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
    table.line_ = LineOf(key);
  }
  return tables.front();
}

std::vector<ConfigTable*> ConfigTable::Tables(std::string_view key) {
  read_.emplace(key);
  if (const auto found = values_.find(key); found != values_.end()) {
    Reject(key, fmt::format("`{}` must be a list of tables", key),
           fmt::format("write [[{}]]", key));
  }
  std::vector<ConfigTable*> tables;
  const auto found = tables_.find(key);
  if (found == tables_.end()) return tables;
  for (ConfigTable& table : found->second) tables.push_back(&table);
  return tables;
}

bool ConfigTable::Has(std::string_view key) const { return lines_.contains(key); }

std::vector<std::string> ConfigTable::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, line] : lines_) keys.push_back(key);
  return keys;
}

void ConfigTable::CollectProblems(std::vector<Problem>& out) {
  const std::vector<std::string> known(read_.begin(), read_.end());
  for (const auto& [key, line] : lines_) {
    if (read_.contains(key)) continue;
    const std::string near = DidYouMean(key, known);
    const std::string place = path_.empty() ? "at top level" : "in [" + path_ + "]";
    const std::string help = near.empty()
                                 ? fmt::format("known keys: {}", fmt::join(known, ", "))
                                 : fmt::format("did you mean `{}`?", near);
    Complain(line, "CONF-0002", fmt::format("unknown key `{}` {}", key, place), help);
  }
  out.insert(out.end(), problems_.begin(), problems_.end());
  for (auto& [key, tables] : tables_) {
    if (!read_.contains(key)) continue;
    for (ConfigTable& table : tables) table.CollectProblems(out);
  }
}

Status ConfigTable::Finish() {
  std::vector<Problem> problems;
  CollectProblems(problems);
  if (problems.empty()) return {};
  const auto first = std::min_element(
      problems.begin(), problems.end(),
      [](const Problem& a, const Problem& b) { return a.line < b.line; });
  Error error = first->error;
  if (problems.size() > 1) {
    error.what += fmt::format(" (and {} more problems)", problems.size() - 1);
  }
  return tl::unexpected(error);
}

}  // namespace stepslack::base
