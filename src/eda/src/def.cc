#include "stepslack/eda/def.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

constexpr int64_t kMostDbu = int64_t{1} << 40;

// Words of a text with their lines; `#` starts a comment.
class Words {
 public:
  Words(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  // Empty at the end of the text.
  std::string_view Next() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && !IsSpace(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view Peek() {
    const size_t at = at_;
    const int64_t line = line_;
    const std::string_view word = Next();
    at_ = at;
    line_ = line;
    return word;
  }
  std::string Where() const { return fmt::format("{}, line {}", name_, line_); }

 private:
  static bool IsSpace(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }
  void Skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (IsSpace(text_[at_])) {
        line_ += text_[at_++] == '\n' ? 1 : 0;
      } else {
        return;
      }
    }
  }
  std::string_view text_;
  std::string_view name_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

class DefParser {
 public:
  DefParser(std::string_view text, std::string_view name) : words_(text, name) {}

  base::Result<DefDesign> Parse() {
    for (std::string_view word = words_.Next(); !word.empty(); word = words_.Next()) {
      if (word == "END") break;  // END DESIGN
      SS_RETURN_IF_ERROR(Statement(word));
    }
    if (!units_ || !die_) {
      return base::Fail("EDA-0223", base::ExitCode::kInput,
                        "the design has no units or no die area", words_.Where(),
                        "give a DEF with UNITS DISTANCE MICRONS and DIEAREA");
    }
    return std::move(design_);
  }

 private:
  base::Status Statement(std::string_view word) {
    if (word == "DESIGN") {
      SS_TRY(design_.name, Word());
    } else if (word == "UNITS") {
      SS_RETURN_IF_ERROR(Expect("DISTANCE"));
      SS_RETURN_IF_ERROR(Expect("MICRONS"));
      SS_TRY(design_.dbu_per_um, Number(1, 1'000'000));
      units_ = true;
    } else if (word == "DIEAREA") {
      SS_TRY(design_.low, Point({}));
      SS_TRY(design_.high, Point({}));
      die_ = design_.low.x < design_.high.x && design_.low.y < design_.high.y;
    } else if (word == "COMPONENTS") {
      return Section(word, [this] { return Component(); });
    } else if (word == "PINS") {
      return Section(word, [this] { return Pin(); });
    } else if (word == "NETS") {
      return Section(word, [this] { return Net(); });
    } else {
      ++design_.skipped_statements;
      const bool section = word == "VIAS" || word == "SPECIALNETS" ||
                           word == "BLOCKAGES" || word == "REGIONS" ||
                           word == "GROUPS" || word == "NONDEFAULTRULES" ||
                           word == "PROPERTYDEFINITIONS" || word == "FILLS";
      return SkipPast(section ? "END" : ";", section ? word : std::string_view());
    }
    return SkipPast(";", {});
  }

  base::Result<std::string> Word() {
    const std::string_view word = words_.Next();
    if (word.empty()) {
      return base::Fail("EDA-0220", base::ExitCode::kInput,
                        "the file ends inside a statement", words_.Where(),
                        "the file is cut short; write it again");
    }
    return std::string(word);
  }

  base::Status Unexpected(std::string_view found, std::string_view wanted) const {
    return base::Fail("EDA-0221", base::ExitCode::kInput,
                      fmt::format("found `{}`, expected {}", found, wanted),
                      words_.Where(), "check the DEF against version 5.6");
  }

  base::Status Expect(std::string_view wanted) {
    SS_TRY(const std::string word, Word());
    if (word != wanted) return Unexpected(word, wanted);
    return {};
  }

  base::Status SkipPast(std::string_view last, std::string_view then) {
    for (;;) {
      SS_TRY(const std::string word, Word());
      if (word != last) continue;
      if (then.empty() || words_.Peek() == then) break;
    }
    if (!then.empty()) words_.Next();
    return {};
  }

  base::Result<int64_t> Number(int64_t low, int64_t high) {
    SS_TRY(const std::string word, Word());
    const auto value = base::ParseDouble(word);  // qrouter writes "-480.0"
    if (!value || !(*value >= static_cast<double>(low)) ||
        !(*value <= static_cast<double>(high))) {
      return base::Fail("EDA-0222", base::ExitCode::kInput,
                        fmt::format("`{}` is no number from {} to {}", word, low, high),
                        words_.Where(), "correct the number");
    }
    return static_cast<int64_t>(*value);
  }

  // ( x y ) or ( x y extension ); `*` repeats the coordinate of `last`.
  base::Result<DefPoint> Point(DefPoint last) {
    SS_RETURN_IF_ERROR(Expect("("));
    DefPoint point = last;
    for (int64_t* coordinate : {&point.x, &point.y}) {
      if (words_.Peek() == "*") {
        words_.Next();
        continue;
      }
      SS_TRY(*coordinate, Number(-kMostDbu, kMostDbu));
    }
    if (words_.Peek() != ")") words_.Next();
    SS_RETURN_IF_ERROR(Expect(")"));
    return point;
  }

  template <typename Item>
  base::Status Section(std::string_view title, Item item) {
    SS_TRY(const int64_t announced, Number(0, int64_t{1} << 31));
    SS_RETURN_IF_ERROR(Expect(";"));
    names_.clear();
    int64_t found = 0;
    for (;;) {
      SS_TRY(const std::string word, Word());
      if (word == "END") break;
      if (word != "-") return Unexpected(word, "`-` or END");
      SS_RETURN_IF_ERROR(item());
      ++found;
    }
    SS_RETURN_IF_ERROR(Expect(title));
    if (found != announced) {
      return base::Fail(
          "EDA-0224", base::ExitCode::kInput,
          fmt::format("{} announces {} and holds {}", title, announced, found),
          words_.Where(), "the file is damaged; write it again");
    }
    return {};
  }

  base::Result<std::string> NewName() {
    SS_TRY(std::string name, Word());
    if (!names_.insert(name).second) {
      return base::Fail("EDA-0225", base::ExitCode::kInput,
                        fmt::format("`{}` is there twice", name), words_.Where(),
                        "give every component, pin and net a name of its own");
    }
    return name;
  }

  base::Status Component() {
    DefComponent c;
    SS_TRY(c.name, NewName());
    SS_TRY(c.macro, Word());
    for (;;) {
      SS_TRY(const std::string word, Word());
      if (word == ";") break;
      if (word != "PLACED" && word != "FIXED") continue;
      SS_TRY(c.place, Point({}));
      SS_TRY(c.orientation, Word());
    }
    design_.components.push_back(std::move(c));
    return {};
  }

  base::Status Pin() {
    DefPin pin;
    SS_TRY(pin.name, NewName());
    for (;;) {
      SS_TRY(const std::string word, Word());
      if (word == ";") break;
      if (word == "NET") {
        SS_TRY(pin.net, Word());
      }
      if (word != "PLACED" && word != "FIXED") continue;
      SS_TRY(pin.place, Point({}));
    }
    design_.pins.push_back(std::move(pin));
    return {};
  }

  base::Status Net() {
    DefNet net;
    SS_TRY(net.name, NewName());
    for (;;) {
      SS_TRY(std::string word, Word());
      if (word == "(") {
        DefTerminal terminal;
        SS_TRY(terminal.component, Word());
        SS_TRY(terminal.pin, Word());
        SS_RETURN_IF_ERROR(Expect(")"));
        net.terminals.push_back(std::move(terminal));
      }
      if (word == "ROUTED" || word == "FIXED" || word == "NEW") {
        SS_RETURN_IF_ERROR(Wire(net));
      }
      if (word == ";") break;
    }
    design_.nets.push_back(std::move(net));
    return {};
  }

  // LAYER POINT [POINT | VIA]..., up to NEW, `+` or `;`.
  base::Status Wire(DefNet& net) {
    SS_TRY(const std::string layer, Word());
    if (words_.Peek() != "(") words_.Next();  // TAPER
    SS_TRY(DefPoint last, Point({}));
    bool first = true;
    for (;;) {
      const std::string_view next = words_.Peek();
      if (next == "NEW" || next == "+" || next == ";") return {};
      if (next != "(") {
        SS_TRY(const std::string via, Word());
        ++net.vias;
        continue;
      }
      SS_TRY(const DefPoint point, Point(last));
      if (point.x != last.x && point.y != last.y) {
        return base::Fail("EDA-0226", base::ExitCode::kInput,
                          fmt::format("a wire of net `{}` is slanted", net.name),
                          words_.Where(), "only horizontal and vertical wires exist");
      }
      net.wires.push_back({layer, last, point, first});
      last = point;
      first = false;
    }
  }

  Words words_;
  DefDesign design_;
  std::unordered_set<std::string> names_;
  bool units_ = false;
  bool die_ = false;
};

}  // namespace

base::Result<DefDesign> ParseDef(std::string_view text, std::string_view name) {
  return DefParser(text, name).Parse();
}

base::Result<DefDesign> ReadDef(const std::string& path) {
  SS_TRY(const std::string text, base::ReadMaybeGzip(path));
  return ParseDef(text, path);
}

base::Result<std::map<std::string, LefMacro>> ParseLef(std::string_view text,
                                                       std::string_view name) {
  std::map<std::string, LefMacro> macros;
  Words words(text, name);
  std::string macro, pin;
  bool damaged = false;
  const auto number = [&] {
    const auto value = base::ParseDouble(words.Next());
    damaged = damaged || !value;
    return value.value_or(0);
  };
  for (std::string_view word = words.Next(); !word.empty() && !damaged;
       word = words.Next()) {
    if (word == "MACRO") macro = std::string(words.Next());
    if (macro.empty()) continue;
    if (word == "SIZE") {
      macros[macro].width_um = number();
      words.Next();  // BY
      macros[macro].height_um = number();
    } else if (word == "PIN") {
      pin = std::string(words.Next());
    } else if (word == "RECT" && !pin.empty()) {
      const double a = number(), b = number(), c = number(), d = number();
      macros[macro].pin_centre.emplace(pin, LefPoint{(a + c) / 2, (b + d) / 2});
    } else if (word == "END") {
      const std::string_view what = words.Peek();
      if (!pin.empty() && what == pin) {
        pin.clear();
        words.Next();
      } else if (what == macro) {
        macro.clear();
      }
    }
  }
  if (damaged || macros.empty()) {
    return base::Fail(
        "EDA-0227", base::ExitCode::kInput,
        damaged ? "a size or rectangle has no number" : "the file holds no macro",
        words.Where(), "give the LEF of the cell library");
  }
  return macros;
}

base::Result<std::map<std::string, LefMacro>> ReadLef(const std::string& path) {
  SS_TRY(const std::string text, base::ReadMaybeGzip(path));
  return ParseLef(text, path);
}

}  // namespace stepslack::eda
