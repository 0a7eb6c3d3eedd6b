#include <fmt/format.h>

#include "block.h"
#include "layers.h"
#include "message_passing.h"

namespace stepslack::model {
namespace {

using at::Tensor;

constexpr double kHeadGain = 0.7071067811865476;    // no ReLU follows
constexpr double kBranchGain = 0.5773502691896258;  // three products are added up

struct MessageLayer {
  NormalisedLinear self;
  LinearLayer predecessors;
  LinearLayer successors;
  bool residual = false;
};

// relu(norm(W x + P mean over predecessors + S mean over successors)), plus x where the
// width stays.
Tensor Propagate(const MessageLayer& layer, Pass& pass) {
  const GraphTensors& graph = pass.graph;
  const int64_t nodes = pass.x.size(0);
  const Tensor before = MeanInto(pass.x, graph.source, graph.sink, nodes);
  const Tensor after = MeanInto(pass.x, graph.sink, graph.source, nodes);
  Tensor sum = Apply(layer.self.product, pass, pass.x);
  sum = sum.add(Apply(layer.predecessors, pass, before));
  sum = sum.add(Apply(layer.successors, pass, after));
  sum = ApplyWithRelu(layer.self.norm, pass, sum);
  return layer.residual ? pass.x.add(sum) : sum;
}

// Statements that leave the mean of x[from] over equal `to` in `result`.
std::string ScriptMean(const char* result, const char* from, const char* to,
                       const char* rows) {
  return fmt::format(
      "{0} = torch.zeros([{3}, x.size(1)])\n"
      "{0} = torch.index_add({0}, 0, {2}, torch.index_select(x, 0, {1}))\n"
      "counts = torch.zeros([{3}])\n"
      "counts = torch.index_add(counts, 0, {2}, torch.ones([{2}.size(0)]))\n"
      "{0} = {0} / torch.clamp(counts, 1).unsqueeze(1)\n",
      result, from, to, rows);
}

std::string ScriptPropagate(const MessageLayer& layer) {
  std::string script = ScriptMean("before", "source", "sink", "x.size(0)") +
                       ScriptMean("after", "sink", "source", "x.size(0)");
  script += "total = " + Script(layer.self.product, "x") + " + " +
            Script(layer.predecessors, "before") + " + " +
            Script(layer.successors, "after") + "\n";
  script += fmt::format("total = torch.relu({})\n", Script(layer.self.norm, "total"));
  return script + (layer.residual ? "x = x + total\n" : "x = total\n");
}

}  // namespace

std::vector<Block> BuildGnn(const NetworkOptions& options, ParameterStore& store) {
  BlockList blocks(store);
  const NormKind kind = NormKindOf(options.norm);
  int64_t in = options.input_planes;
  for (size_t i = 0; i < options.hidden.size(); ++i) {
    const std::string name = "layer." + std::to_string(i);
    const int64_t out = options.hidden[i];
    MessageLayer layer;
    layer.predecessors =
        AddUnbiasedLinear(store, name + ".predecessors", in, out, kBranchGain);
    layer.successors =
        AddUnbiasedLinear(store, name + ".successors", in, out, kBranchGain);
    layer.self = AddNormalisedLinear(store, name, in, out, kind);
    layer.residual = in == out;
    blocks.Add(
        name, [=](Pass& pass) { pass.x = Propagate(layer, pass); },
        ScriptPropagate(layer));
    in = out;
  }
  const LinearLayer head = AddLinear(store, "head", in, options.outputs, kHeadGain);
  const bool of_nodes = options.node_targets;
  std::string script;
  if (!of_nodes) {
    script = "nodes = torch.arange(x.size(0))\n" +
             ScriptMean("pooled", "nodes", "graph_of_node", "graphs") + "x = pooled\n";
  }
  blocks.Add(
      "head",
      [=](Pass& pass) {
        if (!of_nodes) {
          const int64_t nodes = pass.x.size(0);
          pass.x = MeanInto(pass.x, CountUp(nodes), pass.graph.graph_of_node,
                            pass.graph.graphs);
        }
        pass.x = Apply(head, pass, pass.x);
      },
      script + "x = " + Script(head, "x") + "\n");
  return blocks.Take();
}

}  // namespace stepslack::model
