#include "qor_netlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < line.size()) {
    const size_t start = line.find_first_not_of(" \t\r", at);
    if (start == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t\r", start), line.size());
    words.emplace_back(line.substr(start, at - start));
  }
  return words;
}

// The next line with continuations joined and comments gone; advances `rest`.
std::string NextLine(std::string_view& rest, int64_t& number) {
  std::string line;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    part = base::Trim(part.substr(0, part.find('#')));
    if (!part.ends_with('\\')) return line.append(part);
    line.append(part.substr(0, part.size() - 1)).append(" ");
  }
  return line;
}

tl::unexpected<base::Error> Refuse(std::string_view name, int64_t line,
                                   std::string_view what) {
  return base::Fail("EDA-0103", base::ExitCode::kInput, std::string(what),
                    fmt::format("{}:{}", name, line),
                    "check the output of the tool that wrote this BLIF");
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& words) {
  to.insert(to.end(), words.begin() + 1, words.end());
}

// Short names that every tool reads, in order of first use.
class NetNames {
 public:
  explicit NetNames(char prefix) : prefix_(prefix) {}

  std::string Of(const std::string& net) {
    const auto [at, added] = names_.try_emplace(net, "");
    if (added) at->second = fmt::format("{}{}", prefix_, names_.size() - 1);
    return at->second;
  }

 private:
  char prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace

base::Result<Blif> ParseBlif(std::string_view text, std::string_view name) {
  Blif blif;
  int64_t number = 0;
  bool in_table = false;
  while (!text.empty()) {
    const std::string line = NextLine(text, number);
    const std::vector<std::string> words = Words(line);
    if (words.empty()) continue;
    const std::string& first = words[0];
    if (!first.starts_with('.')) {
      if (!in_table) return Refuse(name, number, "a line belongs to no table");
      blif.tables.back().rows.push_back(line);
      continue;
    }
    in_table = first == ".names";
    if (first == ".end") break;
    if (first == ".latch") return Refuse(name, number, "a latch was not mapped");
    if (first == ".inputs") Append(blif.inputs, words);
    if (first == ".outputs") Append(blif.outputs, words);
    if (in_table) {
      if (words.size() < 2) return Refuse(name, number, "a table has no output");
      Append(blif.tables.emplace_back().nets, words);
    }
    if (first == ".subckt" || first == ".gate") {
      if (words.size() < 2) return Refuse(name, number, "a cell has no type");
      BlifCell& cell = blif.cells.emplace_back();
      cell.type = words[1];
      for (size_t i = 2; i < words.size(); ++i) {
        const size_t equals = words[i].find('=');
        if (equals == std::string::npos)
          return Refuse(name, number, "a pin has no net");
        cell.pins.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
      }
    }
  }
  return blif;
}

namespace {

// What the mapper must make (a register's input, a design's output) and what it is
// given (a register's output, a design's input).
struct Boundary {
  std::set<std::string> given;
  std::vector<std::string> wanted;
};

base::Result<Boundary> FindBoundary(CutDesign& cut, NetNames& names, const Blif& design,
                                    const LibertyLibrary& library) {
  Boundary boundary;
  std::set<std::string> clocks;
  for (const std::string& input : cut.inputs) boundary.given.insert(input);
  std::vector<std::string> sinks = cut.outputs;
  for (const BlifCell& cell : design.cells) {
    const auto type = library.cells.find(cell.type);
    if (type == library.cells.end() || !type->second.sequential) {
      return base::Fail("EDA-0104", base::ExitCode::kInput,
                        fmt::format("cell {} is no register of the library", cell.type),
                        library.name, "use a library with plain flip-flops");
    }
    BlifCell& copy = cut.registers.emplace_back(BlifCell{cell.type, {}});
    for (const auto& [pin, net] : cell.pins) {
      const std::string renamed = names.Of(net);
      copy.pins.emplace_back(pin, renamed);
      const auto known = type->second.pins.find(pin);
      const LibertyPin kind =
          known == type->second.pins.end() ? LibertyPin{} : known->second;
      if (kind.is_output) {
        boundary.given.insert(renamed);
      } else if (kind.is_clock && boundary.given.contains(renamed)) {
        clocks.insert(renamed);
      } else {
        sinks.push_back(renamed);
      }
    }
  }
  std::set<std::string> seen;
  for (const std::string& net : sinks) {
    if (!boundary.given.contains(net) && seen.insert(net).second) {
      boundary.wanted.push_back(net);
    }
  }
  for (const std::string& clock : clocks) boundary.given.erase(clock);
  cut.clocks.assign(clocks.begin(), clocks.end());
  return boundary;
}

std::string Joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

base::Result<CutDesign> CutAtRegisters(const Blif& design,
                                       const LibertyLibrary& library) {
  CutDesign cut;
  NetNames names('s');  // the mapper calls its own nets n..
  for (const std::string& net : design.inputs) cut.inputs.push_back(names.Of(net));
  for (const std::string& net : design.outputs) cut.outputs.push_back(names.Of(net));
  SS_TRY(const Boundary boundary, FindBoundary(cut, names, design, library));
  // The mapper gets what the logic reads; an input that goes straight into a register
  // is none of the graph's inputs.
  std::set<std::string> used;
  for (const BlifTable& table : design.tables) {
    for (size_t i = 0; i + 1 < table.nets.size(); ++i) {
      const std::string net = names.Of(table.nets[i]);
      if (boundary.given.contains(net)) used.insert(net);
    }
  }
  const std::vector<std::string> given(used.begin(), used.end());
  cut.logic = fmt::format(".model top\n.inputs {}\n.outputs {}\n", Joined(given),
                          Joined(boundary.wanted));
  for (const BlifTable& table : design.tables) {
    cut.logic += ".names";
    for (const std::string& net : table.nets) cut.logic += " " + names.Of(net);
    cut.logic += "\n";
    for (const std::string& row : table.rows) cut.logic += row + "\n";
  }
  cut.logic += ".end\n";
  cut.logic_inputs = static_cast<int>(given.size());
  cut.logic_outputs = static_cast<int>(boundary.wanted.size());
  return cut;
}

namespace {

tl::unexpected<base::Error> Unmapped(std::string_view what) {
  return base::Fail("EDA-0105", base::ExitCode::kInput, std::string(what),
                    "mapped netlist", "look at the recipe's last command");
}

class Reunion {
 public:
  Reunion(const CutDesign& design, const LibertyLibrary& library)
      : design_(design), library_(library) {
    for (const std::string& net : design.inputs) names_.Of(net);
  }

  base::Result<MappedDesign> Build(const Blif& mapped) {
    for (const BlifCell& cell : mapped.cells) SS_RETURN_IF_ERROR(Add(cell));
    for (const BlifCell& cell : design_.registers) SS_RETURN_IF_ERROR(Add(cell));
    for (const BlifTable& table : mapped.tables) SS_RETURN_IF_ERROR(Add(table));
    std::vector<std::string> ports;
    std::string head;
    for (const std::string& net : design_.inputs) {
      const std::string name = names_.Of(net);
      const auto& clocks = design_.clocks;
      const bool clock = std::find(clocks.begin(), clocks.end(), net) != clocks.end();
      (clock ? out_.clocks : out_.inputs).push_back(name);
      ports.push_back(name);
      head += fmt::format("  input {};\n", name);
    }
    // An output has a port of its own, since one net may drive several and inputs too.
    for (size_t i = 0; i < design_.outputs.size(); ++i) {
      out_.outputs.push_back(fmt::format("o{}", i));
      ports.push_back(out_.outputs.back());
      head += fmt::format("  output {};\n", ports.back());
      body_ += fmt::format("  assign {} = {};\n", ports.back(),
                           names_.Of(design_.outputs[i]));
    }
    out_.verilog = fmt::format("module top({});\n{}{}endmodule\n",
                               fmt::join(ports, ", "), head, body_);
    return std::move(out_);
  }

 private:
  base::Status Add(const BlifCell& cell) {
    // The mapper's own cells for constants; no library has them.
    const bool one = cell.type == "_const1_";
    if ((one || cell.type == "_const0_") && cell.pins.size() == 1) {
      body_ += fmt::format("  assign {} = 1'b{};\n", names_.Of(cell.pins[0].second),
                           one ? 1 : 0);
      return {};
    }
    const auto type = library_.cells.find(cell.type);
    if (type == library_.cells.end()) return Unmapped("a cell is not in the library");
    body_ += fmt::format("  {} g{}(", cell.type, out_.cells);
    for (size_t i = 0; i < cell.pins.size(); ++i) {
      body_ += fmt::format("{}.{}({})", i == 0 ? "" : ", ", cell.pins[i].first,
                           names_.Of(cell.pins[i].second));
    }
    body_ += ");\n";
    out_.area += type->second.area;
    ++out_.cells;
    return {};
  }

  base::Status Add(const BlifTable& table) {
    const std::string net = names_.Of(table.nets.back());
    if (table.nets.size() == 1) {
      const bool one = !table.rows.empty() && table.rows[0] == "1";
      body_ += fmt::format("  assign {} = 1'b{};\n", net, one ? 1 : 0);
      return {};
    }
    if (table.nets.size() != 2 || table.rows.size() != 1 || table.rows[0] != "1 1") {
      return Unmapped("a table is neither a constant nor a wire");
    }
    body_ += fmt::format("  assign {} = {};\n", net, names_.Of(table.nets[0]));
    return {};
  }

  const CutDesign& design_;
  const LibertyLibrary& library_;
  NetNames names_{'n'};
  MappedDesign out_;
  std::string body_;
};

}  // namespace

base::Result<MappedDesign> Reunite(const CutDesign& design, const Blif& mapped,
                                   const LibertyLibrary& library) {
  return Reunion(design, library).Build(mapped);
}

}  // namespace stepslack::eda
