#include "stepslack/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "stepslack/base/utf8.h"

namespace stepslack::base {
namespace {

constexpr int kMaxDepth = 200;

const Json& Null() {
  static const Json null;
  return null;
}

// JSON is UTF-8 whatever the text is: damaged bytes become U+FFFD.
void AppendEscaped(std::string_view raw, std::string& out) {
  const bool plain = std::all_of(raw.begin(), raw.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  const std::string cleaned = plain ? std::string() : ValidUtf8(raw);
  const std::string_view text = plain ? raw : std::string_view(cleaned);
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr char kHex[] = "0123456789abcdef";
          out += "\\u00";
          out += kHex[(c >> 4) & 0xf];
          out += kHex[c & 0xf];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void NewLine(int indent, int depth, std::string& out) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
}

void Write(const Json& json, int indent, int depth, std::string& out);

void WriteArray(const Json::Array& items, int indent, int depth, std::string& out) {
  if (items.empty()) {
    out += "[]";
    return;
  }
  // Arrays of scalars stay on one line: long index lists remain readable.
  bool flat = true;
  for (const Json& item : items) flat = flat && !item.is_array() && !item.is_object();
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += flat && indent >= 0 ? ", " : ",";
    if (!flat) NewLine(indent, depth + 1, out);
    Write(items[i], indent, depth + 1, out);
  }
  if (!flat) NewLine(indent, depth, out);
  out += ']';
}

void WriteObject(const Json::Object& members, int indent, int depth, std::string& out) {
  if (members.empty()) {
    out += "{}";
    return;
  }
  out += '{';
  bool first = true;
  for (const auto& [key, value] : members) {
    if (!first) out += ',';
    first = false;
    NewLine(indent, depth + 1, out);
    AppendEscaped(key, out);
    out += indent < 0 ? ":" : ": ";
    Write(value, indent, depth + 1, out);
  }
  NewLine(indent, depth, out);
  out += '}';
}

void Write(const Json& json, int indent, int depth, std::string& out) {
  if (json.is_null()) {
    out += "null";
  } else if (json.is_bool()) {
    out += json.AsBool() ? "true" : "false";
  } else if (json.is_int()) {
    out += std::to_string(json.AsInt());
  } else if (json.is_number()) {
    out += FormatDouble(json.AsDouble());
  } else if (json.is_string()) {
    AppendEscaped(json.AsString(), out);
  } else if (json.is_array()) {
    WriteArray(json.AsArray(), indent, depth, out);
  } else {
    WriteObject(json.AsObject(), indent, depth, out);
  }
}

Json Convert(const nlohmann::json& from) {
  switch (from.type()) {
    case nlohmann::json::value_t::boolean:
      return from.get<bool>();
    case nlohmann::json::value_t::number_integer:
      return from.get<int64_t>();
    case nlohmann::json::value_t::number_unsigned: {
      const auto value = from.get<uint64_t>();
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<double>(value);
      }
      return static_cast<int64_t>(value);
    }
    case nlohmann::json::value_t::number_float:
      return from.get<double>();
    case nlohmann::json::value_t::string:
      return from.get<std::string>();
    case nlohmann::json::value_t::array: {
      Json::Array items;
      items.reserve(from.size());
      for (const auto& item : from) items.push_back(Convert(item));
      return items;
    }
    case nlohmann::json::value_t::object: {
      Json::Object members;
      for (const auto& [key, value] : from.items())
        members.emplace(key, Convert(value));
      return members;
    }
    default:
      return nullptr;
  }
}

}  // namespace

bool Json::AsBool(bool fallback) const {
  const auto* value = std::get_if<bool>(&value_);
  return value != nullptr ? *value : fallback;
}

int64_t Json::AsInt(int64_t fallback) const {
  const auto* value = std::get_if<int64_t>(&value_);
  return value != nullptr ? *value : fallback;
}

double Json::AsDouble(double fallback) const {
  if (is_int()) return static_cast<double>(AsInt());
  const auto* value = std::get_if<double>(&value_);
  return value != nullptr ? *value : fallback;
}

const std::string& Json::AsString() const {
  static const std::string empty;
  const auto* value = std::get_if<std::string>(&value_);
  return value != nullptr ? *value : empty;
}

const Json::Array& Json::AsArray() const {
  static const Array empty;
  const auto* value = std::get_if<Array>(&value_);
  return value != nullptr ? *value : empty;
}

const Json::Object& Json::AsObject() const {
  static const Object empty;
  const auto* value = std::get_if<Object>(&value_);
  return value != nullptr ? *value : empty;
}

const Json& Json::operator[](std::string_view key) const {
  const Object& members = AsObject();
  const auto found = members.find(key);
  return found != members.end() ? found->second : Null();
}

bool Json::Has(std::string_view key) const {
  return AsObject().find(key) != AsObject().end();
}

Json& Json::Set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  SS_CHECK(is_object());
  std::get<Object>(value_).insert_or_assign(std::string(key), std::move(value));
  return *this;
}

Json& Json::Append(Json value) {
  if (is_null()) value_ = Array{};
  SS_CHECK(is_array());
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

std::string Json::Dump(int indent) const {
  std::string out;
  Write(*this, indent, 0, out);
  return out;
}

Result<Json> ParseJson(std::string_view text, std::string_view name) {
  // The library recurses when it destroys deep values, so depth is bounded while
  // parsing.
  bool too_deep = false;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  try {
    const auto parsed = nlohmann::json::parse(text.begin(), text.end(), watch);
    if (!too_deep) return Convert(parsed);
  } catch (const nlohmann::json::exception& error) {
    return Fail("BASE-0004", ExitCode::kInput,
                std::string("not valid JSON: ") + error.what(), std::string(name),
                "check that the file is complete; write it again");
  }
  return Fail("BASE-0005", ExitCode::kInput, "JSON is nested too deeply",
              std::string(name), "at most 200 levels are read");
}

std::string FormatDouble(double value) {
  if (!std::isfinite(value)) return "null";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

}  // namespace stepslack::base
