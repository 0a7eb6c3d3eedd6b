// TOML configuration with positions: every unknown key is an error with its line.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::base {

// One TOML table. Reads mark keys as known; Finish() refuses the rest. Type and range
// errors are collected, the first one in file order is returned by Finish().
// Errors: CONF-0001 syntax, CONF-0002 unknown key, CONF-0003 wrong type or out of
// range, CONF-0004 missing key.
class ConfigTable {
 public:
  static Result<ConfigTable> Parse(std::string_view text, std::string_view file_name);
  static Result<ConfigTable> Load(const std::string& path);

  // Absent key: the fallback; no fallback: CONF-0004.
  std::string String(std::string_view key, std::optional<std::string> fallback = {});
  int64_t Int(std::string_view key, std::optional<int64_t> fallback, int64_t low,
              int64_t high);
  double Double(std::string_view key, std::optional<double> fallback, double low,
                double high);
  bool Bool(std::string_view key, std::optional<bool> fallback);
  // One of `choices`; another text is refused with the nearest of them.
  std::string Choice(std::string_view key, std::optional<std::string> fallback,
                     const std::vector<std::string>& choices);
  std::vector<std::string> Strings(std::string_view key);  // empty when absent
  std::vector<double> Doubles(std::string_view key);
  std::vector<int64_t> Ints(std::string_view key, int64_t low, int64_t high);
  // A value of any kind but a table, for keys that the user invents; null when absent.
  Json Value(std::string_view key);
  // Puts a value where `path` ("train.learning_rate") points, as if the file said so.
  // CONF-0005 when a table stands there, or a value where the path needs a table.
  Status Override(std::string_view path, Json value);
  // A sub-table; an empty one when absent (reads of it then give fallbacks).
  ConfigTable& Table(std::string_view key);
  // An array of tables; empty when absent.
  std::vector<ConfigTable*> Tables(std::string_view key);
  bool Has(std::string_view key) const;
  std::vector<std::string> Keys() const;

  // "file:line" of a key, or of the table itself for "".
  std::string Where(std::string_view key) const;
  // Records a semantic error found by the caller (exit 2, CONF-0003).
  void Reject(std::string_view key, std::string what, std::string help);

  // First error of this table and its sub-tables, unknown keys included.
  Status Finish();

 private:
  struct Problem {
    int line = 0;
    Error error;
  };
  void Complain(int line, std::string id, std::string what, std::string help);
  void Missing(std::string_view key, std::string_view example);
  int LineOf(std::string_view key) const;
  const Json* Find(std::string_view key);
  void CollectProblems(std::vector<Problem>& out);

  std::string file_;
  std::string path_;  // dotted path of this table, "" for the root
  int line_ = 0;
  Json::Object values_;  // scalars and arrays of scalars
  std::map<std::string, int, std::less<>> lines_;
  std::map<std::string, std::vector<ConfigTable>, std::less<>> tables_;
  std::set<std::string, std::less<>> read_;
  std::vector<Problem> problems_;
  friend struct ConfigBuilder;
};

}  // namespace stepslack::base
