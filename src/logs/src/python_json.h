// JSON as Python writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::logs {

// ParseJson, but NaN, Infinity and -Infinity outside of strings become strings.
base::Result<base::Json> ParsePythonJson(std::string_view text, std::string_view name);

// A number, or a string that is one. The text of a number is the shortest that reads
// back, so a decimal time keeps the digits that the file has.
std::optional<std::string> NumberText(const base::Json& value);

using Row = std::vector<std::pair<std::string, std::string>>;  // key, text

// Leaves with text, nested keys joined by "/" (depth 8 at most). `others` counts leaves
// that are no number: strings, truth values, arrays.
Row FlattenRow(const base::Json& object, int64_t& others);

}  // namespace stepslack::logs
