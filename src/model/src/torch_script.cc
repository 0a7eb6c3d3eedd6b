// Writes a network as TorchScript: every block states itself as text, the interpreter
// compiles the text, and the archive holds both the code and the numbers.
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include <sstream>

#include "layers.h"
#include "network_state.h"

namespace stepslack::model {
namespace {

std::string Attribute(const std::string& parameter) {
  return ScriptName(parameter).substr(std::string_view("self.").size());
}

// The forward method; every line of a block becomes one of its body.
std::string ForwardText(const std::vector<Block>& blocks, bool of_graphs) {
  std::string text = "def forward(self, x: Tensor";
  if (of_graphs) {
    text += ", source: Tensor, sink: Tensor, graph_of_node: Tensor, graphs: int";
  }
  text += ") -> Tensor:\n";
  for (const Block& block : blocks) {
    std::istringstream lines(block.script);
    for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  }
  return text + "    return x\n";
}

}  // namespace

base::Result<std::string> Network::ExportTorchScript() const {
  try {
    torch::jit::Module module("Network");
    const ParameterStore& store = state_->store;
    const auto& parameters = store.layout.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      at::Tensor value = store.value(i).detach().clone();
      module.register_parameter(Attribute(parameters[i].name), value, false);
    }
    const auto& statistics = store.statistics_layout.parameters();
    for (size_t i = 0; i < statistics.size(); ++i) {
      module.register_buffer(Attribute(statistics[i].name), store.statistic(i).clone());
    }
    module.define(ForwardText(state_->blocks, state_->of_graphs));
    module.eval();
    std::ostringstream archive;
    module.save(archive);
    return archive.str();
  } catch (const std::exception& error) {
    return base::Fail("MODEL-0015", base::ExitCode::kInternal,
                      "cannot write the network as TorchScript: " + FirstLine(error),
                      "network", "report this with the plan that caused it");
  }
}

}  // namespace stepslack::model
