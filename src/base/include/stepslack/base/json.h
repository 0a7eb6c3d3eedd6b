// A small JSON value with stable output: keys sorted, integers exact, doubles in the
// shortest form that reads back to the same bits, never NaN or infinity (null instead).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::base {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() = default;
  Json(std::nullptr_t) {}                                   // NOLINT(runtime/explicit)
  Json(bool value) : value_(value) {}                       // NOLINT(runtime/explicit)
  Json(int value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(int64_t value) : value_(value) {}                    // NOLINT(runtime/explicit)
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(double value) : value_(value) {}                    // NOLINT(runtime/explicit)
  Json(const char* value) : value_(std::string(value)) {}  // NOLINT
  Json(std::string value) : value_(std::move(value)) {}    // NOLINT(runtime/explicit)
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(Array value) : value_(std::move(value)) {}   // NOLINT(runtime/explicit)
  Json(Object value) : value_(std::move(value)) {}  // NOLINT(runtime/explicit)

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // Typed reads with a fallback for absent or differently typed values.
  bool AsBool(bool fallback = false) const;
  int64_t AsInt(int64_t fallback = 0) const;
  double AsDouble(double fallback = 0) const;  // integers convert
  const std::string& AsString() const;         // "" when not a string
  const Array& AsArray() const;                // empty when not an array
  const Object& AsObject() const;              // empty when not an object

  // Member lookup: a shared null when absent or not an object.
  const Json& operator[](std::string_view key) const;
  bool Has(std::string_view key) const;

  // Makes this an object (array) if it is null, then inserts.
  Json& Set(std::string_view key, Json value);
  Json& Append(Json value);

  // indent < 0: one line. Keys sorted, "\n" line ends, no trailing newline.
  std::string Dump(int indent = 2) const;

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object>
      value_;
};

// Parses UTF-8 JSON text; `name` is used in errors (BASE-0004). Depth is limited to
// 200; integers beyond int64 become doubles.
Result<Json> ParseJson(std::string_view text, std::string_view name);

// Shortest text that reads back to the same double; "null" when not finite.
std::string FormatDouble(double value);

}  // namespace stepslack::base
