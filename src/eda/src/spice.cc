#include "stepslack/eda/spice.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

constexpr size_t kMaxNodes = 50'000'000;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = Lower(c);
  return out;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    const size_t begin = at;
    while (at < line.size() && !IsSpace(line[at])) ++at;
    if (at > begin) words.push_back(LowerCase(line.substr(begin, at - begin)));
  }
  return words;
}

// Controls that ask for an analysis or an output: the circuit is the same without them.
bool IsHarmlessControl(std::string_view word) {
  constexpr std::array<std::string_view, 12> kHarmless = {
      ".op",    ".title", ".option", ".options", ".print", ".plot",
      ".probe", ".save",  ".dc",     ".tran",    ".temp",  ".ends"};
  for (const std::string_view known : kHarmless) {
    if (word == known) return word != ".ends";
  }
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view name) {
    netlist_.name = std::string(name);
    netlist_.nodes.push_back("0");
    netlist_.node_line.push_back(0);
    index_.emplace("0", kGround);
    index_.emplace("gnd", kGround);
  }

  base::Result<SpiceNetlist> Parse(std::string_view text) {
    std::vector<std::string> pending;
    int64_t pending_line = 0;
    int64_t number = 0;
    for (size_t at = 0; at < text.size() && !ended_;) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      ++number;
      line = base::Trim(line.substr(0, line.find_first_of("$;")));
      if (line.empty() || line[0] == '*') continue;
      if (line[0] == '+') {
        SS_RETURN_IF_ERROR(CheckContinues(pending, number));
        for (std::string& word : Words(line.substr(1))) {
          pending.push_back(std::move(word));
        }
        continue;
      }
      SS_RETURN_IF_ERROR(Statement(pending, pending_line));
      pending = Words(line);
      pending_line = number;
    }
    if (!ended_) SS_RETURN_IF_ERROR(Statement(pending, pending_line));
    if (netlist_.resistors.empty() && netlist_.voltages.empty()) {
      return base::Fail("EDA-0207", base::ExitCode::kInput,
                        "the netlist holds no resistor and no voltage source",
                        netlist_.name, "give a netlist with R, I and V lines");
    }
    return std::move(netlist_);
  }

 private:
  std::string Where(int64_t line) const {
    return fmt::format("{}, line {}", netlist_.name, line);
  }

  base::Status CheckContinues(const std::vector<std::string>& pending,
                              int64_t line) const {
    if (!pending.empty()) return {};
    return base::Fail("EDA-0206", base::ExitCode::kInput,
                      "a continuation line has nothing to continue", Where(line),
                      "put the element before its `+` line");
  }

  // One statement with its continuation lines.
  base::Status Statement(const std::vector<std::string>& words, int64_t line) {
    if (words.empty()) return {};
    const bool first = !seen_statement_;
    seen_statement_ = true;
    const std::string& head = words[0];
    if (head == ".end") {
      ended_ = true;
      return {};
    }
    const char kind = head[0];
    if (kind == '.' && IsHarmlessControl(head)) {
      ++netlist_.ignored_controls;
      return {};
    }
    const bool element = kind == 'r' || kind == 'i' || kind == 'v';
    // The title may be any text: an element is recognised by its last word.
    if (first && kind != '.' &&
        (!element || words.size() < 4 || !ParseSpiceNumber(words.back()))) {
      return {};
    }
    if (!element) {
      return base::Fail("EDA-0200", base::ExitCode::kInput,
                        fmt::format("`{}` is neither a resistor nor a source", head),
                        Where(line), "flatten the netlist to R, I and V lines");
    }
    return Element(kind, words, line);
  }

  base::Status Element(char kind, const std::vector<std::string>& words, int64_t line) {
    const bool direct = words.size() == 5 && words[3] == "dc";
    if (words.size() != 4 && !direct) {
      return base::Fail(
          "EDA-0201", base::ExitCode::kInput,
          fmt::format("`{}` has {} words, expected 4", words[0], words.size()),
          Where(line), "write NAME NODE NODE VALUE");
    }
    const std::optional<double> value = ParseSpiceNumber(words.back());
    if (!value) {
      return base::Fail("EDA-0202", base::ExitCode::kInput,
                        fmt::format("`{}` is no finite number", words.back()),
                        Where(line), "write a number such as 0.35, 1.2k or 3u");
    }
    if (!names_.insert(words[0]).second) {
      return base::Fail("EDA-0203", base::ExitCode::kInput,
                        fmt::format("element `{}` is defined twice", words[0]),
                        Where(line), "give every element a name of its own");
    }
    if (kind == 'r') SS_RETURN_IF_ERROR(CheckResistance(words[0], *value, line));
    SpiceElement element;
    element.value = *value;
    element.line = line;
    element.from = Node(words[1], line);
    element.to = Node(words[2], line);
    if (netlist_.nodes.size() > kMaxNodes) {
      return base::Fail("EDA-0208", base::ExitCode::kInput,
                        fmt::format("more than {} nodes", kMaxNodes), Where(line),
                        "split the netlist by net");
    }
    auto& list = kind == 'r'   ? netlist_.resistors
                 : kind == 'i' ? netlist_.currents
                               : netlist_.voltages;
    list.push_back(element);
    return {};
  }

  base::Status CheckResistance(const std::string& name, double ohm,
                               int64_t line) const {
    if (ohm == 0) {
      return base::Fail("EDA-0204", base::ExitCode::kInput,
                        fmt::format("`{}` has no resistance: a short", name),
                        Where(line), "join its two nodes under one name");
    }
    if (ohm < 0) {
      return base::Fail("EDA-0205", base::ExitCode::kInput,
                        fmt::format("`{}` has the negative resistance {}", name, ohm),
                        Where(line), "correct the sign");
    }
    return {};
  }

  int32_t Node(const std::string& name, int64_t line) {
    const auto [at, fresh] =
        index_.emplace(name, static_cast<int32_t>(netlist_.nodes.size()));
    if (fresh) {
      netlist_.nodes.push_back(name);
      netlist_.node_line.push_back(line);
    }
    return at->second;
  }

  SpiceNetlist netlist_;
  std::unordered_map<std::string, int32_t> index_;
  std::unordered_set<std::string> names_;
  bool seen_statement_ = false;
  bool ended_ = false;
};

std::optional<int64_t> TakeInt(std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

double Scale(std::string_view suffix) {
  if (suffix.starts_with("meg")) return 1e6;
  if (suffix.starts_with("mil")) return 25.4e-6;
  switch (suffix.empty() ? '\0' : suffix[0]) {
    case 'f':
      return 1e-15;
    case 'p':
      return 1e-12;
    case 'n':
      return 1e-9;
    case 'u':
      return 1e-6;
    case 'm':
      return 1e-3;
    case 'k':
      return 1e3;
    case 'g':
      return 1e9;
    case 't':
      return 1e12;
    default:
      return 1;
  }
}

}  // namespace

std::optional<double> ParseSpiceNumber(std::string_view word) {
  const std::string lower = LowerCase(word);
  std::string_view text = lower;
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars would read "inf" and "nan".
  if (text.find_first_of("0123456789") > 2) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const char c : suffix) {
    if (c < 'a' || c > 'z') return std::nullopt;
  }
  value *= Scale(suffix);
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<GridNodeName> ParseGridNode(std::string_view node) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto net = TakePrefix(node, "n") ? TakeInt(node) : std::nullopt;
  const auto layer = net && TakePrefix(node, "_m") ? TakeInt(node) : std::nullopt;
  const auto x = layer && TakePrefix(node, "_") ? TakeInt(node) : std::nullopt;
  const auto y = x && TakePrefix(node, "_") ? TakeInt(node) : std::nullopt;
  if (!y || !node.empty() || *x > kMost || *y > kMost) return std::nullopt;
  if (*net > 1'000'000 || *layer > 1'000) return std::nullopt;
  return GridNodeName{static_cast<int>(*net), static_cast<int>(*layer), *x, *y};
}

base::Result<SpiceNetlist> ParseSpice(std::string_view text, std::string_view name) {
  return Parser(name).Parse(text);
}

base::Result<SpiceNetlist> ReadSpice(const std::string& path) {
  SS_TRY(const std::string text, base::ReadMaybeGzip(path));
  return ParseSpice(text, path);
}

}  // namespace stepslack::eda
