#include "block.h"
#include "layers.h"

namespace stepslack::model {
namespace {

// No ReLU follows the last layer: variance 1 / fan in.
constexpr double kHeadGain = 0.7071067811865476;

}  // namespace

std::vector<Block> BuildMlp(const NetworkOptions& options, ParameterStore& store) {
  BlockList blocks(store);
  const NormKind kind = NormKindOf(options.norm);
  int64_t in = options.input_planes;
  for (size_t i = 0; i < options.hidden.size(); ++i) {
    const std::string name = "layer." + std::to_string(i);
    const NormalisedLinear layer =
        AddNormalisedLinear(store, name, in, options.hidden[i], kind);
    blocks.Add(
        name,
        [=](Pass& pass) {
          pass.x = ApplyWithRelu(layer.norm, pass, Apply(layer.product, pass, pass.x));
        },
        "x = torch.relu(" + Script(layer, "x") + ")\n");
    in = options.hidden[i];
  }
  const LinearLayer head = AddLinear(store, "head", in, options.outputs, kHeadGain);
  blocks.Add(
      "head", [=](Pass& pass) { pass.x = Apply(head, pass, pass.x); },
      "x = " + Script(head, "x") + "\n");
  return blocks.Take();
}

}  // namespace stepslack::model
