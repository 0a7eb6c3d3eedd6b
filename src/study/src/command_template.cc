#include "command_template.h"

#include <algorithm>
#include <functional>

namespace stepslack::study {
namespace {

// Calls `literal` for plain text and `name` for what stands in braces; false when a
// brace has no other half.
bool Walk(std::string_view text, const std::function<void(std::string_view)>& literal,
          const std::function<void(std::string_view)>& name) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      literal(text.substr(i, 1));
      i += 2;
    } else if (c == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos || end == i + 1) return false;
      name(text.substr(i + 1, end - i - 1));
      i = end + 1;
    } else if (c == '}') {
      return false;
    } else {
      const size_t end = std::min(text.find_first_of("{}", i), text.size());
      literal(text.substr(i, end - i));
      i = end;
    }
  }
  return true;
}

bool SafeForShell(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-+./:,=@%").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string ShellWord(std::string_view text) {
  if (SafeForShell(text)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

base::Result<std::set<std::string>> Placeholders(std::string_view text) {
  std::set<std::string> names;
  const bool good = Walk(
      text, [](std::string_view) {},
      [&](std::string_view name) { names.emplace(name); });
  if (!good) {
    return base::Fail("STUDY-0200", base::ExitCode::kUsage,
                      "a brace in the command has no other half, or no name inside",
                      std::string(text), "write {name}, or {{ and }} for braces");
  }
  return names;
}

std::string QuotedPlaceholder(std::string_view text) {
  char open = '\0';
  std::string found;
  Walk(
      text,
      [&](std::string_view literal) {
        for (size_t i = 0; i < literal.size(); ++i) {
          const char c = literal[i];
          if (c == '\\' && open != '\'') {
            ++i;
          } else if (open == '\0' && (c == '"' || c == '\'')) {
            open = c;
          } else if (c == open) {
            open = '\0';
          }
        }
      },
      [&](std::string_view name) {
        if (open != '\0' && found.empty()) found = name;
      });
  return found;
}

std::string FillIn(std::string_view text, const Settings& values) {
  std::string filled;
  Walk(
      text, [&](std::string_view literal) { filled += literal; },
      [&](std::string_view name) {
        const auto found = values.find(std::string(name));
        if (found == values.end()) {
          filled += "{" + std::string(name) + "}";
          return;
        }
        const base::Json& value = found->second;
        filled += ShellWord(value.is_string() ? value.AsString() : value.Dump(-1));
      });
  return filled;
}

}  // namespace stepslack::study
