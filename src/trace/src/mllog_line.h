// One `:::MLLOG {...}` line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepslack/trace/mllog.h"

namespace stepslack::trace {

constexpr std::string_view kMllogMarker = ":::MLLOG";

struct MllogLine {
  std::string_view text;  // the object, without what follows it
  std::string_view key;
  int64_t time_ns = 0;
  std::string_view value;  // a scalar as written; empty for others
  bool value_is_string = false;
  std::string_view throughput;  // member of a value that is an object
  MllogPosition at;
  std::string_view status;
  std::string_view metric;
};

// `text` starts behind the marker and ends with the line. No value when it is not one
// whole object with a key and a time.
std::optional<MllogLine> ParseMllogLine(std::string_view text);

// Finite numbers only.
std::optional<double> NumberOf(std::string_view text);

}  // namespace stepslack::trace
