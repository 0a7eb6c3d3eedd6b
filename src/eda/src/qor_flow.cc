#include "qor_flow.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "scratch_folder.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

constexpr double kClockNs = 10;

const std::map<std::string_view, std::set<std::string_view>> kOperators = {
    {"w_add", {"add", "sub", "neg", "alu", "macc"}},
    {"w_mul", {"mul", "div", "mod", "pow"}},
    {"w_mux", {"mux", "pmux"}},
    {"w_cmp", {"eq", "ne", "lt", "le", "gt", "ge", "eqx", "nex"}},
    {"w_shift", {"shl", "shr", "sshl", "sshr", "shift", "shiftx"}},
    {"w_logic",
     {"and", "or", "xor", "xnor", "not", "reduce_and", "reduce_or", "reduce_xor",
      "reduce_bool", "logic_and", "logic_or", "logic_not"}}};

std::vector<std::string_view> Fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : base::Split(line, ' ')) {
    if (!base::Trim(field).empty()) fields.push_back(base::Trim(field));
  }
  return fields;
}

std::string TimerScript(const MappedDesign& mapped, const std::string& liberty,
                        const std::string& verilog) {
  const std::string clock =
      mapped.clocks.empty()
          ? ""
          : fmt::format(" [get_ports {{{}}}]", fmt::join(mapped.clocks, " "));
  std::string script = fmt::format(
      "read_liberty {}\nread_verilog {}\nlink_design top\n"
      "create_clock -name clk -period {}{}\n",
      liberty, verilog, kClockNs, clock);
  if (!mapped.inputs.empty()) {
    script += fmt::format("set_input_delay 0 -clock clk [get_ports {{{}}}]\n",
                          fmt::join(mapped.inputs, " "));
  }
  script += fmt::format("set_output_delay 0 -clock clk [get_ports {{{}}}]\n",
                        fmt::join(mapped.outputs, " "));
  return script + "report_tns -digits 6\nreport_checks -path_delay max -digits 6\n";
}

// The line " i/o = 8/ 8 lat = 0 and = 98 lev = 16" of the mapper.
bool ReadGraphStatistics(std::string_view text, QorSample& sample) {
  const auto number = [](std::string_view line, std::string_view key) {
    const size_t at = line.find(key);
    if (at == std::string_view::npos) return std::optional<int64_t>();
    const auto fields = Fields(line.substr(at + key.size()));
    if (fields.empty() || fields[0] != "=" || fields.size() < 2) {
      return std::optional<int64_t>();
    }
    const std::string_view digits =
        fields[1].substr(0, fields[1].find_first_not_of("0123456789"));
    return base::ParseInt(digits);
  };
  for (const std::string_view line : base::Split(text, '\n')) {
    const auto nodes = number(line, " and ");
    const auto levels = number(line, " lev ");
    if (line.find("i/o") == std::string_view::npos || !nodes || !levels) continue;
    sample.aig_and = *nodes;
    sample.aig_levels = *levels;
    return true;
  }
  return false;
}

// The mapper reports errors in words and exits 0, or exits 0 in the midst of a script.
base::Result<std::optional<Blif>> Map(const CutDesign& cut, const QorRecipe& recipe,
                                      const QorSurroundings& around,
                                      const ScratchFolder& scratch, QorSample& sample) {
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(scratch.File("logic.blif"), cut.logic));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(
      scratch.File("recipe.abc"),
      fmt::format(
          "read_lib -w {}\nread_blif {}\nstrash\nprint_stats\n{}write_blif {}\n",
          around.liberty_path, scratch.File("logic.blif"), recipe.script,
          scratch.File("mapped.blif"))));
  SS_TRY(const ToolEnd end,
         RunTool({.argv = {around.tools.abc.path, "-f", scratch.File("recipe.abc")},
                  .log = scratch.File("abc.log"),
                  .timeout_s = around.timeout_s,
                  .stop = around.stop}));
  sample.wall_ms += end.wall_ms;
  sample.outcome = {end.status, "abc"};
  if (end.status != ToolStatus::kOk) return std::nullopt;
  sample.outcome.status = ToolStatus::kBadOutput;
  const auto text = base::ReadFile(scratch.File("mapped.blif"));
  if (!text || !ReadGraphStatistics(end.output, sample)) return std::nullopt;
  auto mapped = ParseBlif(*text, "mapped.blif");
  if (!mapped) return std::nullopt;
  return std::move(*mapped);
}

base::Status Time(const MappedDesign& mapped, const QorSurroundings& around,
                  const ScratchFolder& scratch, QorSample& sample) {
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(scratch.File("top.v"), mapped.verilog));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(
      scratch.File("time.tcl"),
      TimerScript(mapped, around.liberty_path, scratch.File("top.v"))));
  SS_TRY(const ToolEnd end,
         RunTool({.argv = {around.tools.sta.path, "-no_init", "-no_splash", "-exit",
                           scratch.File("time.tcl")},
                  .log = scratch.File("sta.log"),
                  .timeout_s = around.timeout_s,
                  .stop = around.stop}));
  sample.wall_ms += end.wall_ms;
  sample.outcome = {end.status, "sta"};
  if (end.status != ToolStatus::kOk) return {};
  const auto figures = ReadTimerOutput(end.output);
  if (!figures) {
    sample.outcome.status = ToolStatus::kBadOutput;
    return {};
  }
  sample.outcome = {ToolStatus::kOk, ""};
  // The timer prints six digits; the difference is rounded back to them.
  sample.wc_delay_ns = std::round((kClockNs - figures->worst_slack_ns) * 1e6) / 1e6;
  sample.tns10_ns = figures->tns_ns;
  return {};
}

}  // namespace

std::map<std::string, int64_t> ReadWordStatistics(std::string_view text) {
  std::map<std::string, int64_t> words = {{"ys_cells", 0}, {"ys_wires", 0}};
  for (const auto& [name, kinds] : kOperators) words[std::string(name)] = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    const auto fields = Fields(line);
    if (fields.size() < 2) continue;
    const auto count = base::ParseInt(fields.back());
    if (!count) continue;
    if (base::Trim(line).starts_with("Number of wire bits:")) {
      words["ys_wires"] = *count;
    }
    if (base::Trim(line).starts_with("Number of cells:")) words["ys_cells"] = *count;
    if (fields.size() != 2 || !fields[0].starts_with('$')) continue;
    const std::string_view kind = fields[0].substr(1);
    const size_t bar = kind.rfind('_');
    if (bar == std::string_view::npos) continue;
    const auto width = base::ParseInt(kind.substr(bar + 1));
    for (const auto& [name, kinds] : kOperators) {
      if (width && kinds.contains(kind.substr(0, bar))) {
        words[std::string(name)] += *width * *count;
      }
    }
  }
  return words;
}

std::optional<TimingFigures> ReadTimerOutput(std::string_view text) {
  std::optional<double> slack;
  std::optional<double> tns;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line.starts_with("Error")) return std::nullopt;
    const auto fields = Fields(line);
    if (fields.size() == 2 && fields[0] == "tns") tns = base::ParseDouble(fields[1]);
    if (fields.size() == 3 && fields[1] == "slack" && !slack) {
      slack = base::ParseDouble(fields[0]);
    }
  }
  if (!slack || !tns || !std::isfinite(*slack) || !std::isfinite(*tns)) {
    return std::nullopt;
  }
  return TimingFigures{*slack, *tns};
}

base::Result<SynthesisedDesign> Synthesise(const VerilogDesign& design,
                                           const QorSurroundings& around) {
  SS_TRY(const ScratchFolder scratch,
         ScratchFolder::Make(base::JoinPath(around.folder, design.design)));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(scratch.File("in.v"), design.text));
  const std::string script = fmt::format(
      "read_verilog {}\nhierarchy -check -top top\nproc\nopt\nmemory\nopt\ntee -o {} "
      "stat -width\n"
      "synth -flatten -top top\ndfflibmap -liberty {}\nopt_clean -purge\n"
      "splitnets -ports\nopt_clean -purge\nwrite_blif {}\n",
      scratch.File("in.v"), scratch.File("words"), around.liberty_path,
      scratch.File("out.blif"));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(scratch.File("synth.ys"), script));
  SS_TRY(const ToolEnd end,
         RunTool({.argv = {around.tools.yosys.path, "-q", scratch.File("synth.ys")},
                  .log = scratch.File("yosys.log"),
                  .timeout_s = around.timeout_s,
                  .stop = around.stop}));
  SynthesisedDesign made;
  made.wall_ms = end.wall_ms;
  made.outcome = {end.status, "yosys"};
  if (end.status != ToolStatus::kOk) return made;
  const auto words = base::ReadFile(scratch.File("words"));
  auto blif = base::ReadFile(scratch.File("out.blif"));
  if (!words || !blif) {
    made.outcome.status = ToolStatus::kBadOutput;
    return made;
  }
  made.outcome = {ToolStatus::kOk, ""};
  made.words = ReadWordStatistics(*words);
  made.blif = std::move(*blif);
  return made;
}

base::Result<QorSample> MapAndTime(const SynthesisedDesign& design,
                                   const std::string& name, const QorRecipe& recipe,
                                   const QorSurroundings& around) {
  QorSample sample;
  sample.outcome = design.outcome;
  if (design.outcome.status != ToolStatus::kOk) return sample;
  sample.outcome = {ToolStatus::kBadOutput, "yosys"};
  const auto blif = ParseBlif(design.blif, name);
  if (!blif) return sample;
  const auto cut = CutAtRegisters(*blif, around.library);
  if (!cut) return sample;
  sample.n_ff = static_cast<int64_t>(cut->registers.size());
  sample.aig_inputs = cut->logic_inputs;
  sample.aig_outputs = cut->logic_outputs;
  SS_TRY(const ScratchFolder scratch,
         ScratchFolder::Make(base::JoinPath(around.folder, name + "-" + recipe.name)));
  SS_TRY(const auto mapped, Map(*cut, recipe, around, scratch, sample));
  if (!mapped) return sample;
  const auto whole = Reunite(*cut, *mapped, around.library);
  if (!whole) return sample;
  sample.area_um2 = whole->area;
  sample.cells = whole->cells;
  SS_RETURN_IF_ERROR(Time(*whole, around, scratch, sample));
  return sample;
}

}  // namespace stepslack::eda
