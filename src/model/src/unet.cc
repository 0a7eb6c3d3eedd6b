#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/pixel_unshuffle.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <fmt/format.h>

#include "block.h"
#include "layers.h"

namespace stepslack::model {
namespace {

using at::Tensor;

constexpr int64_t kShuffle = 2;  // stem "shuffle": 2 x 2 pixels become channels

// LibTorch 1.13 gives a batch without samples the wrong number of planes.
at::Tensor Unshuffle(const at::Tensor& x) {
  if (x.size(0) > 0) return at::pixel_unshuffle(x, kShuffle);
  return x.reshape(
      {0, x.size(1) * kShuffle * kShuffle, x.size(2) / kShuffle, x.size(3) / kShuffle});
}

at::Tensor Shuffle(const at::Tensor& x) {
  if (x.size(0) > 0) return at::pixel_shuffle(x, kShuffle);
  return x.reshape({0, x.size(1) / (kShuffle * kShuffle), x.size(2) * kShuffle,
                    x.size(3) * kShuffle});
}

// Adds the blocks of one U-Net from the finest level down and up again.
class UnetBuilder {
 public:
  UnetBuilder(const NetworkOptions& options, ParameterStore& store)
      : options_(options),
        store_(store),
        blocks_(store),
        kind_(NormKindOf(options.norm)),
        shuffle_(options.stem == "shuffle"),
        depth_(options.levels - (shuffle_ ? 1 : 0)) {}

  std::vector<Block> Build() {
    for (int level = 0; level < depth_; ++level) AddEncoder(level);
    for (int level = depth_ - 2; level >= 0; --level) AddDecoder(level);
    AddLast();
    return blocks_.Take();
  }

 private:
  int64_t Channels(int level) const {
    return static_cast<int64_t>(options_.base_channels) << level;
  }
  void AddEncoder(int level);
  void AddDecoder(int level);
  void AddLast();

  const NetworkOptions& options_;
  ParameterStore& store_;
  BlockList blocks_;
  NormKind kind_;
  bool shuffle_;
  int depth_;  // levels of convolutions
};

void UnetBuilder::AddEncoder(int level) {
  const std::string name = "encoder." + std::to_string(level);
  const int64_t planes = options_.input_planes * (shuffle_ ? kShuffle * kShuffle : 1);
  const int64_t in = level == 0 ? planes : Channels(level - 1);
  const ConvolutionLayer a =
      AddConvolution(store_, name + ".a", in, Channels(level), 1, kind_);
  const ConvolutionLayer b =
      AddConvolution(store_, name + ".b", Channels(level), Channels(level), 1, kind_);
  const bool unshuffle = level == 0 && shuffle_;
  const bool pool = level > 0;
  std::string script;
  if (unshuffle) script += fmt::format("x = torch.pixel_unshuffle(x, {})\n", kShuffle);
  if (pool) {
    script += fmt::format("skip_{} = x\n", level - 1);
    script += "x = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)\n";
  }
  script += "x = " + Script(a, "x") + "\nx = " + Script(b, "x") + "\n";
  blocks_.Add(
      name,
      [=](Pass& pass) {
        if (unshuffle) pass.x = Unshuffle(pass.x);
        if (pool) {
          pass.skips.push_back(pass.x);
          pass.x = at::max_pool2d(pass.x, 2);
        }
        pass.x = Apply(b, pass, Apply(a, pass, pass.x));
      },
      script);
}

void UnetBuilder::AddDecoder(int level) {
  const std::string name = "decoder." + std::to_string(level);
  const int64_t skipped = Channels(level);
  const int64_t coarse = Channels(level + 1);
  PlainLayer up;
  if (!shuffle_) up = AddUp(store_, name + ".up", coarse, skipped);
  const int64_t joined = skipped + (shuffle_ ? coarse : skipped);
  const ConvolutionLayer a =
      AddConvolution(store_, name + ".a", joined, Channels(level), 1, kind_);
  const ConvolutionLayer b =
      AddConvolution(store_, name + ".b", Channels(level), Channels(level), 1, kind_);
  const bool repeat = shuffle_;
  std::string script;
  if (repeat) {
    script += fmt::format(
        "x = torch.upsample_nearest2d(x, [skip_{0}.size(2), skip_{0}.size(3)])\n",
        level);
  } else {
    script += "x = " + ScriptUp(up, "x") + "\n";
  }
  script += fmt::format("x = torch.cat([skip_{}, x], 1)\n", level);
  script += "x = " + Script(a, "x") + "\nx = " + Script(b, "x") + "\n";
  blocks_.Add(
      name,
      [=](Pass& pass) {
        const Tensor skip = std::move(pass.skips.back());
        pass.skips.pop_back();
        const Tensor x =
            repeat ? at::upsample_nearest2d(pass.x, {skip.size(2), skip.size(3)})
                   : ApplyUp(up, pass, pass.x);
        pass.x = at::cat({skip, x}, 1);
        pass.x = Apply(b, pass, Apply(a, pass, pass.x));
      },
      script);
}

void UnetBuilder::AddLast() {
  const int64_t out = options_.outputs * (shuffle_ ? kShuffle * kShuffle : 1);
  const PlainLayer head = AddHead(store_, "head", Channels(0), out);
  const bool shuffle = shuffle_;
  const bool squeeze = options_.outputs == 1;
  std::string script = "x = " + ScriptHead(head, "x") + "\n";
  if (shuffle) script += fmt::format("x = torch.pixel_shuffle(x, {})\n", kShuffle);
  if (squeeze) script += "x = torch.squeeze(x, 1)\n";
  blocks_.Add(
      "head",
      [=](Pass& pass) {
        pass.x = ApplyHead(head, pass, pass.x);
        if (shuffle) pass.x = Shuffle(pass.x);
        if (squeeze) pass.x = pass.x.squeeze(1);
      },
      script);
}

}  // namespace

std::vector<Block> BuildUnet(const NetworkOptions& options, ParameterStore& store) {
  return UnetBuilder(options, store).Build();
}

}  // namespace stepslack::model
