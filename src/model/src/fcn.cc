#include "block.h"
#include "layers.h"

namespace stepslack::model {
namespace {

constexpr size_t kLongestDilation = 4;  // doublings: 1, 2, 4, 8, 16, then again from 1

}  // namespace

std::vector<Block> BuildFcn(const NetworkOptions& options, ParameterStore& store) {
  BlockList blocks(store);
  const NormKind kind = NormKindOf(options.norm);
  int64_t in = options.input_planes;
  for (size_t i = 0; i < options.hidden.size(); ++i) {
    const std::string name = "layer." + std::to_string(i);
    const int64_t dilation = int64_t{1} << (i % (kLongestDilation + 1));
    const ConvolutionLayer layer =
        AddConvolution(store, name, in, options.hidden[i], dilation, kind);
    blocks.Add(
        name, [=](Pass& pass) { pass.x = Apply(layer, pass, pass.x); },
        "x = " + Script(layer, "x") + "\n");
    in = options.hidden[i];
  }
  const PlainLayer head = AddHead(store, "head", in, options.outputs);
  const bool squeeze = options.outputs == 1;
  std::string script = "x = " + ScriptHead(head, "x") + "\n";
  if (squeeze) script += "x = torch.squeeze(x, 1)\n";
  blocks.Add(
      "head",
      [=](Pass& pass) {
        pass.x = ApplyHead(head, pass, pass.x);
        if (squeeze) pass.x = pass.x.squeeze(1);
      },
      script);
  return blocks.Take();
}

}  // namespace stepslack::model
