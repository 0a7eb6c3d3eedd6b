#include "pnr_text.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : base::Split(line, ' ')) {
    if (!base::Trim(word).empty()) words.push_back(base::Trim(word));
  }
  return words;
}

bool IsPlain(std::string_view name) {
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         std::string_view::npos;
}

class NetlistReader {
 public:
  explicit NetlistReader(std::string_view buffer) : buffer_(buffer) {}

  std::optional<PlaceableNetlist> Read(std::string_view blif) {
    for (const std::string_view line : base::Split(blif, '\n')) {
      const auto words = Words(line);
      if (words.empty() || words[0].starts_with('#')) continue;
      if (!Take(words)) return std::nullopt;
    }
    if (gates_.empty()) return std::nullopt;
    FindNames();
    PlaceableNetlist netlist;
    netlist.blif = ".model top\n" + Ports(".inputs", inputs_, netlist) +
                   Ports(".outputs", outputs_, netlist);
    for (const auto& gate : gates_) {
      netlist.blif += fmt::format(".gate {}", gate[1]);
      const size_t bare = netlist.blif.size();
      for (size_t i = 2; i < gate.size(); ++i) {
        const size_t equals = gate[i].find('=');
        const std::string_view net = gate[i].substr(equals + 1);
        if (constants_.contains(net)) {
          ++netlist.constant_pins;
          continue;
        }
        netlist.blif += fmt::format(" {}={}", gate[i].substr(0, equals), Name(net));
      }
      if (netlist.blif.size() == bare) return std::nullopt;  // nothing left to wire
      netlist.blif += '\n';
      ++netlist.cells;
    }
    netlist.blif += ".end\n";
    return netlist;
  }

 private:
  using Line = std::vector<std::string_view>;

  bool Take(const Line& words) {
    const std::string_view what = words[0];
    const Line rest(words.begin() + 1, words.end());
    if (what == ".inputs") {
      inputs_.insert(inputs_.end(), rest.begin(), rest.end());
    } else if (what == ".outputs") {
      outputs_.insert(outputs_.end(), rest.begin(), rest.end());
    } else if (what == ".names") {
      // Only constants have no inputs.
      if (rest.size() != 1) return false;
      constants_.insert(rest[0]);
    } else if (what == ".gate") {
      return TakeGate(words);
    } else {
      return what == ".model" || what == ".end" || what == "1";
    }
    return true;
  }

  bool TakeGate(const Line& words) {
    if (words.size() < 3) return false;
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      if (equals == 0 || equals == std::string_view::npos ||
          equals + 1 == words[i].size()) {
        return false;
      }
    }
    // A plain connection to a constant.
    if (words[1] == buffer_ && words.size() == 4 && words[2].starts_with("A=") &&
        words[3].starts_with("Y=") && constants_.contains(words[2].substr(2))) {
      constants_.insert(words[3].substr(2));
      return true;
    }
    gates_.push_back(words);
    return true;
  }

  void FindNames() {
    for (const auto& gate : gates_) {
      for (size_t i = 2; i < gate.size(); ++i) {
        names_.insert(gate[i].substr(gate[i].find('=') + 1));
      }
    }
    names_.insert(inputs_.begin(), inputs_.end());
    names_.insert(outputs_.begin(), outputs_.end());
  }

  std::string Name(std::string_view net) {
    if (IsPlain(net)) return std::string(net);
    auto& name = renamed_[net];
    while (name.empty()) {
      name = fmt::format("n{}_", next_++);
      if (names_.contains(name)) name.clear();
    }
    return name;
  }

  std::string Ports(std::string_view keyword, const Line& ports,
                    PlaceableNetlist& netlist) {
    std::string line(keyword);
    for (const std::string_view port : ports) {
      if (constants_.contains(port)) {
        ++netlist.constant_pins;
      } else {
        line += ' ' + Name(port);
      }
    }
    return line + '\n';
  }

  std::string_view buffer_;
  Line inputs_, outputs_;
  std::vector<Line> gates_;
  std::set<std::string_view> constants_;
  std::set<std::string_view> names_;
  std::map<std::string_view, std::string> renamed_;
  int64_t next_ = 0;
};

// "No failed routes!" or "Failed net routes: 30", as a number of nets.
std::optional<int64_t> FailedNets(std::string_view line) {
  if (line.find("No failed routes!") != std::string_view::npos) return 0;
  constexpr std::string_view kFailed = "Failed net routes:";
  const size_t at = line.find(kFailed);
  if (at == std::string_view::npos) return std::nullopt;
  return base::ParseInt(base::Trim(line.substr(at + kFailed.size())));
}

}  // namespace

std::optional<PlaceableNetlist> ReadPlaceableNetlist(std::string_view blif,
                                                     std::string_view buffer) {
  return NetlistReader(buffer).Read(blif);
}

RouterOutcome ReadRouterLog(std::string_view log) {
  constexpr std::string_view kStage1 = "Progress: Stage 1 total routes completed:";
  RouterOutcome outcome;
  bool in_stage1 = false;
  for (const std::string_view line : base::Split(log, '\n')) {
    if (line.starts_with(kStage1)) {
      outcome.stage1_routes = base::ParseInt(base::Trim(line.substr(kStage1.size())));
      in_stage1 = true;
      continue;
    }
    const auto failed = FailedNets(line);
    if (!failed) continue;
    if (in_stage1) outcome.stage1_failed_nets = failed;
    in_stage1 = false;
    if (line.starts_with("Final:")) outcome.failed_nets = failed;
  }
  return outcome;
}

std::string WithPlacementSeed(std::string_view parameters, uint64_t seed) {
  std::string text;
  for (const std::string_view line : base::Split(parameters, '\n')) {
    if (line.starts_with("*random.seed")) continue;
    text += line;
    text += '\n';
  }
  return text + fmt::format("*random.seed : {}\n", seed);
}

}  // namespace stepslack::eda
