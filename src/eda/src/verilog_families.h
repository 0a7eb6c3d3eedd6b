// The parts of the Verilog generators: templates with named parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/eda/verilog_designs.h"

namespace stepslack::eda {

struct Parameter {
  char name;  // a capital letter; `localparam` of that name in the module
  int value;
};

struct Port {
  std::string name;
  std::string width;  // Verilog expression over the parameters
};

// Combinational logic between registers: `body` reads the inputs and assigns the
// outputs by their names; both sides are registered, so that every path is timed.
struct Datapath {
  std::string family;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::string body;
  std::vector<std::vector<Parameter>> variants;
};

// A whole module body with its own registers.
struct Sequential {
  std::string family;
  std::vector<Port> inputs;  // clk comes first and is not listed
  std::vector<Port> outputs;
  std::string body;
  std::vector<std::vector<Parameter>> variants;
};

// "mult_w8": the family and its parameters in small letters.
std::string DesignName(std::string_view family,
                       const std::vector<Parameter>& parameters);

std::vector<VerilogDesign> Expand(const Datapath& family);
std::vector<VerilogDesign> Expand(const Sequential& family);

std::vector<Datapath> ArithmeticFamilies();
std::vector<Datapath> LogicFamilies();
std::vector<Sequential> SequentialFamilies();

// Random Moore machines with S states, two inputs and three outputs; the transitions
// are drawn from `seed`.
std::vector<VerilogDesign> RandomStateMachines(uint64_t seed);

}  // namespace stepslack::eda
