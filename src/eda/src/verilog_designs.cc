#include "stepslack/eda/verilog_designs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "stepslack/base/random.h"
#include "verilog_families.h"

namespace stepslack::eda {
namespace {

// Port widths are expressions over parameters, which Verilog-2001 needs before the
// port list: `module top #(parameter W = 8) (...)`.
std::string ModuleHead(const std::vector<Parameter>& parameters,
                       const std::vector<Port>& inputs,
                       const std::vector<Port>& outputs, std::string_view in_prefix,
                       std::string_view out_prefix, std::string_view output_kind) {
  std::string text = "module top";
  for (size_t i = 0; i < parameters.size(); ++i) {
    text += fmt::format("{}parameter {} = {}", i == 0 ? " #(" : ", ",
                        parameters[i].name, parameters[i].value);
  }
  text += parameters.empty() ? "(input clk" : ") (\n  input clk";
  for (const Port& port : inputs) {
    text += fmt::format(",\n  input [{}-1:0] {}{}", port.width, in_prefix, port.name);
  }
  for (const Port& port : outputs) {
    text += fmt::format(",\n  output {}[{}-1:0] {}{}", output_kind, port.width,
                        out_prefix, port.name);
  }
  return text + ");\n";
}

std::string DatapathText(const Datapath& family,
                         const std::vector<Parameter>& parameters) {
  std::string text =
      ModuleHead(parameters, family.inputs, family.outputs, "in_", "out_", "reg ");
  std::string registers;
  for (const Port& port : family.inputs) {
    text += fmt::format("  reg [{}-1:0] {};\n", port.width, port.name);
    registers += fmt::format("    {0} <= in_{0};\n", port.name);
  }
  for (const Port& port : family.outputs) {
    text += fmt::format("  wire [{}-1:0] {};\n", port.width, port.name);
    registers += fmt::format("    out_{0} <= {0};\n", port.name);
  }
  return text + family.body + "  always @(posedge clk) begin\n" + registers +
         "  end\nendmodule\n";
}

// One transition table row as a case arm.
std::string StateArm(base::Random& random, int state, int states) {
  std::string arm = fmt::format("      {}: begin\n        case (x)\n", state);
  for (int input = 0; input < 4; ++input) {
    // The next state in a ring under input 0 keeps every state reachable.
    const auto next = input == 0 ? static_cast<uint64_t>((state + 1) % states)
                                 : random.Below(static_cast<uint64_t>(states));
    arm += fmt::format("          {}: next = {};\n", input, next);
  }
  return arm +
         fmt::format("        endcase\n        z = {};\n      end\n", random.Below(8));
}

}  // namespace

std::string DesignName(std::string_view family,
                       const std::vector<Parameter>& parameters) {
  std::string name(family);
  for (const Parameter& p : parameters) {
    name += fmt::format("_{}{}", static_cast<char>(std::tolower(p.name)), p.value);
  }
  return name;
}

std::vector<VerilogDesign> Expand(const Datapath& family) {
  std::vector<VerilogDesign> designs;
  for (const auto& parameters : family.variants) {
    designs.push_back({family.family, DesignName(family.family, parameters),
                       DatapathText(family, parameters)});
  }
  return designs;
}

std::vector<VerilogDesign> Expand(const Sequential& family) {
  std::vector<VerilogDesign> designs;
  for (const auto& parameters : family.variants) {
    designs.push_back(
        {family.family, DesignName(family.family, parameters),
         ModuleHead(parameters, family.inputs, family.outputs, "", "", "") +
             family.body + "endmodule\n"});
  }
  return designs;
}

std::vector<VerilogDesign> RandomStateMachines(uint64_t seed) {
  std::vector<VerilogDesign> designs;
  for (const int states : {6, 10, 16, 24, 32, 40}) {
    base::Random random(
        base::DeriveSeed(seed, "state machine", static_cast<uint64_t>(states)));
    std::string text =
        "module top(input clk, input rst, input [1:0] x, output reg [2:0] q);\n"
        "  reg [5:0] state, next;\n  reg [2:0] z;\n"
        "  always @* begin\n    next = 0;\n    z = 0;\n    case (state)\n";
    for (int s = 0; s < states; ++s) text += StateArm(random, s, states);
    text +=
        "    endcase\n  end\n  always @(posedge clk) begin\n"
        "    state <= rst ? 6'd0 : next;\n    q <= z;\n  end\nendmodule\n";
    designs.push_back({"fsm", fmt::format("fsm_s{}", states), std::move(text)});
  }
  return designs;
}

std::vector<VerilogDesign> MakeVerilogDesigns(uint64_t seed) {
  std::vector<std::vector<VerilogDesign>> families;
  for (const Datapath& f : ArithmeticFamilies()) families.push_back(Expand(f));
  for (const Datapath& f : LogicFamilies()) families.push_back(Expand(f));
  for (const Sequential& f : SequentialFamilies()) families.push_back(Expand(f));
  families.push_back(RandomStateMachines(seed));
  size_t longest = 0;
  for (const auto& family : families) longest = std::max(longest, family.size());
  std::vector<VerilogDesign> designs;
  for (size_t i = 0; i < longest; ++i) {
    for (auto& family : families) {
      if (i < family.size()) designs.push_back(std::move(family[i]));
    }
  }
  return designs;
}

}  // namespace stepslack::eda
