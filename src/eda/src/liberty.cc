#include "stepslack/eda/liberty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

constexpr int kMostNesting = 64;
constexpr size_t kMostBytes = size_t{256} << 20;

bool IsPunctuation(char c) {
  return std::string_view("{}():;,").find(c) != std::string_view::npos;
}

// Words, quoted strings (without quotes) and single punctuation marks.
class LibertyTokens {
 public:
  explicit LibertyTokens(std::string_view text) : text_(text) {}

  struct Token {
    char mark = 0;  // the punctuation mark; 0: a word or string; '\0' text: the end
    std::string_view text;
    bool end = false;
  };

  Token Next() {
    SkipBlank();
    if (at_ >= text_.size()) return {.end = true};
    const char c = text_[at_];
    if (IsPunctuation(c)) return {.mark = c, .text = text_.substr(at_++, 1)};
    if (c == '"') {
      const size_t close = std::min(text_.find('"', at_ + 1), text_.size());
      const std::string_view inside = text_.substr(at_ + 1, close - at_ - 1);
      at_ = std::min(close + 1, text_.size());
      return {.text = inside};
    }
    const size_t start = at_;
    while (at_ < text_.size() && !IsPunctuation(text_[at_]) && text_[at_] != '"' &&
           std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
      ++at_;
    }
    return {.text = text_.substr(start, at_ - start)};
  }

  int64_t line() const {
    return 1 +
           std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
  }

 private:
  void SkipBlank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\') {
        ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const size_t close = text_.find("*/", at_ + 2);
        at_ = close == std::string_view::npos ? text_.size() : close + 2;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct Group {
  std::string kind;      // "cell"
  std::string argument;  // the first in its parentheses
};

// Walks the statements and keeps those that matter; the stack of open groups says where
// it is.
class LibertyReader {
 public:
  LibertyReader(std::string_view text, std::string_view name)
      : tokens_(text), name_(name) {}

  base::Result<LibertyLibrary> Read() {
    std::string word;
    std::string argument;
    for (auto token = tokens_.Next(); !token.end; token = tokens_.Next()) {
      if (token.mark == 0) {
        word = token.text;
        argument.clear();
      } else if (token.mark == '(') {
        SS_TRY(argument, Arguments());
      } else if (token.mark == ':') {
        SS_RETURN_IF_ERROR(Attribute(word));
      } else if (token.mark == '{') {
        SS_RETURN_IF_ERROR(Open(word, argument));
        word.clear();
      } else if (token.mark == '}') {
        if (groups_.empty()) return Refuse("a closing brace has no opening one");
        groups_.pop_back();
      }
    }
    if (!groups_.empty()) return Refuse("the text ends inside of a group");
    if (library_.cells.empty()) {
      return base::Fail("EDA-0101", base::ExitCode::kInput, "the library has no cell",
                        name_, "give a liberty file with cell groups");
    }
    return std::move(library_);
  }

 private:
  tl::unexpected<base::Error> Refuse(const std::string& what) const {
    return base::Fail("EDA-0100", base::ExitCode::kInput, what,
                      fmt::format("{}:{}", name_, tokens_.line()),
                      "check that it is a whole liberty file");
  }

  base::Result<std::string> Arguments() {
    std::string first;
    for (auto token = tokens_.Next(); !token.end; token = tokens_.Next()) {
      if (token.mark == ')') return first;
      if (token.mark == 0 && first.empty()) first = token.text;
      if (token.mark != 0 && token.mark != ',' && token.mark != ':') break;
    }
    return Refuse("a parenthesis is not closed");
  }

  base::Status Open(const std::string& kind, const std::string& argument) {
    if (kind.empty()) return Refuse("a group has no name");
    if (groups_.size() >= kMostNesting) return Refuse("groups are nested too deeply");
    groups_.push_back({kind, argument});
    if (kind == "library") library_.name = argument;
    if (kind == "cell" && groups_.size() == 2) cell_ = &library_.cells[argument];
    if (groups_.size() == 3 && groups_[1].kind == "cell") {
      if (kind == "ff" || kind == "latch") cell_->sequential = true;
      if (kind == "pin") cell_->pins[argument];
    }
    return {};
  }

  base::Status Attribute(const std::string& name) {
    const auto token = tokens_.Next();
    if (token.end || token.mark != 0) return Refuse("an attribute has no value");
    if (groups_.size() == 2 && groups_[1].kind == "cell" && name == "area") {
      const auto area = base::ParseDouble(token.text);
      if (!area || !std::isfinite(*area) || *area < 0) {
        return Refuse("an area is not a number of at least 0");
      }
      cell_->area = *area;
    }
    if (groups_.size() == 3 && groups_[1].kind == "cell" && groups_[2].kind == "pin") {
      LibertyPin& pin = cell_->pins[groups_[2].argument];
      if (name == "direction") pin.is_output = token.text == "output";
      if (name == "clock") pin.is_clock = token.text == "true";
    }
    return {};
  }

  LibertyTokens tokens_;
  std::string name_;
  LibertyLibrary library_;
  LibertyCell* cell_ = nullptr;  // of the open cell group
  std::vector<Group> groups_;
};

}  // namespace

base::Result<LibertyLibrary> ParseLiberty(std::string_view text,
                                          std::string_view name) {
  if (text.size() > kMostBytes) {
    return base::Fail("EDA-0102", base::ExitCode::kInput,
                      "the library is larger than 256 MiB", std::string(name),
                      "give a library of standard cells of one corner");
  }
  return LibertyReader(text, name).Read();
}

}  // namespace stepslack::eda
