// The only place that builds an autograd graph. Parameters live in one flat buffer;
// every tensor here is a view of it, and every gradient a view of the gradient buffer.
#include "stepslack/model/network.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

namespace stepslack::model {
namespace {

using at::Tensor;
using base::ExitCode;

constexpr int64_t kChannelsPerGroup = 8;
constexpr double kNormEpsilon = 1e-5;
constexpr int64_t kKernel = 3;
constexpr int64_t kHeadKernel = 1;
constexpr double kHeadGain = 0.1;   // starts close to a constant map...
constexpr double kHeadStart = 1.0;  // ...of the mean target
constexpr int64_t kShuffle = 2;     // finest level: 2 x 2 pixels become channels

// 3 x 3 convolution, GroupNorm, ReLU; indices into the parameter list.
struct ConvolutionBlock {
  size_t kernel = 0;
  size_t gain = 0;
  size_t shift = 0;
  int64_t groups = 1;
};

// Tells the owner when autograd has finished a parameter's gradient.
class ReadyHook final : public torch::autograd::FunctionPostHook {
 public:
  ReadyHook(const std::function<void(size_t)>* callback, size_t parameter)
      : callback_(callback), parameter_(parameter) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (*callback_) (*callback_)(parameter_);
    return outputs;
  }

 private:
  const std::function<void(size_t)>* callback_;  // lives as long as the network
  size_t parameter_;
};

// Floats on a cache line boundary.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(int64_t floats)
      : storage_(static_cast<size_t>(floats) / kLine + 1), floats_(floats) {}
  std::span<float> span() {
    return {storage_.front().value, static_cast<size_t>(floats_)};
  }

 private:
  static constexpr size_t kLine = 16;
  struct alignas(64) Line {
    float value[kLine] = {};
  };
  std::vector<Line> storage_;
  int64_t floats_;
};

// Runs `body`; an exception of the tensor library becomes an Error here and goes no
// further.
template <typename Body>
base::Status Guarded(Body&& body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    const std::string_view text(error.what());
    return base::Fail("MODEL-0003", ExitCode::kInternal,
                      "the tensor library refused an operation: " +
                          std::string(text.substr(0, text.find('\n'))),
                      "network", "report this with the plan that caused it");
  }
}

}  // namespace

struct Network::State {
  explicit State(const NetworkOptions& network_options);

  int64_t Channels(int level) const {
    return static_cast<int64_t>(options.base_channels) << level;
  }
  ConvolutionBlock AddBlock(const std::string& name, int64_t in, int64_t out);
  void BindTensors();
  Tensor Apply(const ConvolutionBlock& block, const Tensor& input) const;
  Tensor Compute(const Batch& batch) const;

  NetworkOptions options;
  ParameterLayout layout;
  std::vector<ConvolutionBlock> encoder;  // two a level, finest first
  std::vector<ConvolutionBlock> decoder;  // two a level, coarsest first
  size_t head_kernel = 0;
  size_t head_shift = 0;
  std::vector<AlignedBuffer> buffers;  // values, gradients
  std::vector<Tensor> tensors;         // views, by parameter
  // Held so that the hooks stay: autograd itself keeps only weak references.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;
  std::function<void(size_t)> ready;
  Tensor loss;
};

Network::State::State(const NetworkOptions& network_options)
    : options(network_options) {
  const int depth = options.levels - 1;
  int64_t in = options.input_planes * kShuffle * kShuffle;
  for (int level = 0; level < depth; ++level) {
    const std::string name = "encoder." + std::to_string(level);
    encoder.push_back(AddBlock(name + ".a", in, Channels(level)));
    encoder.push_back(AddBlock(name + ".b", Channels(level), Channels(level)));
    in = Channels(level);
  }
  for (int level = depth - 2; level >= 0; --level) {
    const std::string name = "decoder." + std::to_string(level);
    const int64_t joined = Channels(level) + Channels(level + 1);
    decoder.push_back(AddBlock(name + ".a", joined, Channels(level)));
    decoder.push_back(AddBlock(name + ".b", Channels(level), Channels(level)));
  }
  const int64_t out = kShuffle * kShuffle;
  head_kernel =
      layout.AddKernel("head.kernel", out, Channels(0), kHeadKernel, kHeadGain);
  head_shift = layout.AddVector("head.shift", out, kHeadStart);
  buffers.emplace_back(layout.buffer_floats());
  buffers.emplace_back(layout.buffer_floats() + options.gradient_tail);
  layout.Initialise(options.seed, buffers[0].span());
}

ConvolutionBlock Network::State::AddBlock(const std::string& name, int64_t in,
                                          int64_t out) {
  ConvolutionBlock block;
  block.kernel = layout.AddKernel(name + ".kernel", out, in, kKernel, 1.0);
  block.gain = layout.AddVector(name + ".gain", out, 1.0);
  block.shift = layout.AddVector(name + ".shift", out, 0.0);
  block.groups = out % kChannelsPerGroup == 0 ? out / kChannelsPerGroup : 1;
  return block;
}

void Network::State::BindTensors() {
  for (const ParameterInfo& info : layout.parameters()) {
    Tensor tensor =
        at::from_blob(buffers[0].span().data() + info.offset, info.shape, at::kFloat);
    tensor.requires_grad_(true);
    // A gradient that exists already is added to in place, which keeps it a view.
    tensor.mutable_grad() =
        at::from_blob(buffers[1].span().data() + info.offset, info.shape, at::kFloat);
    auto accumulator = torch::autograd::impl::grad_accumulator(tensor);
    accumulator->add_post_hook(std::make_unique<ReadyHook>(&ready, tensors.size()));
    accumulators.push_back(std::move(accumulator));
    tensors.push_back(std::move(tensor));
  }
}

Tensor Network::State::Apply(const ConvolutionBlock& block, const Tensor& input) const {
  Tensor output = at::conv2d(input, tensors[block.kernel], {}, 1, kKernel / 2);
  output = at::group_norm(output, block.groups, tensors[block.gain],
                          tensors[block.shift], kNormEpsilon);
  return at::relu_(output);
}

Tensor Network::State::Compute(const Batch& batch) const {
  // The view is only read; from_blob takes no const pointer.
  Tensor x = at::from_blob(
      const_cast<float*>(batch.inputs),
      {batch.samples, options.input_planes, batch.height, batch.width}, at::kFloat);
  x = at::pixel_unshuffle(x, kShuffle);
  std::vector<Tensor> skips;
  for (size_t at = 0; at < encoder.size(); at += 2) {
    if (at > 0) {
      skips.push_back(x);
      x = at::max_pool2d(x, 2);
    }
    x = Apply(encoder[at + 1], Apply(encoder[at], x));
  }
  for (size_t at = 0; at < decoder.size(); at += 2) {
    const Tensor skip = std::move(skips.back());
    skips.pop_back();
    x = at::upsample_nearest2d(x, {skip.size(2), skip.size(3)});
    x = at::cat({skip, x}, 1);
    x = Apply(decoder[at + 1], Apply(decoder[at], x));
  }
  x = at::conv2d(x, tensors[head_kernel], tensors[head_shift], 1, kHeadKernel / 2);
  return at::pixel_shuffle(x, kShuffle).squeeze(1);
}

Network::Network(std::unique_ptr<State> state) : state_(std::move(state)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

base::Result<Network> Network::Create(const NetworkOptions& options) {
  const bool valid = options.input_planes >= 1 && options.input_planes <= 4096 &&
                     options.base_channels >= 1 && options.base_channels <= 256 &&
                     options.levels >= 2 && options.levels <= 8 &&
                     options.gradient_tail >= 0;
  if (!valid) {
    return base::Fail("MODEL-0002", ExitCode::kUsage,
                      "base_channels " + std::to_string(options.base_channels) +
                          ", levels " + std::to_string(options.levels) + ", " +
                          std::to_string(options.input_planes) + " input planes",
                      "network options", "base_channels is 1 to 256, levels is 2 to 8");
  }
  auto state = std::make_unique<State>(options);
  SS_RETURN_IF_ERROR(Guarded([&] { state->BindTensors(); }));
  return Network(std::move(state));
}

const std::vector<ParameterInfo>& Network::parameters() const {
  return state_->layout.parameters();
}

int64_t Network::parameter_count() const { return state_->layout.parameter_count(); }

std::span<float> Network::values() { return state_->buffers[0].span(); }

std::span<float> Network::gradients() { return state_->buffers[1].span(); }

base::Status Network::CheckMapSize(int64_t height, int64_t width) const {
  const int64_t multiple = int64_t{1} << (state_->options.levels - 1);
  if (height > 0 && width > 0 && height % multiple == 0 && width % multiple == 0) {
    return {};
  }
  return base::Fail("MODEL-0001", ExitCode::kInput,
                    "maps of " + std::to_string(height) + " x " +
                        std::to_string(width) + " are no multiple of " +
                        std::to_string(multiple),
                    "network of " + std::to_string(state_->options.levels) + " levels",
                    "cut tiles of another size, or lower levels");
}

void Network::OnGradientReady(std::function<void(size_t)> callback) {
  state_->ready = std::move(callback);
}

base::Result<double> Network::Forward(const Batch& batch, double weight) {
  double loss = 0;
  SS_RETURN_IF_ERROR(Guarded([&] {
    const Tensor output = state_->Compute(batch);
    const Tensor target =
        at::from_blob(const_cast<float*>(batch.targets),
                      {batch.samples, batch.height, batch.width}, at::kFloat);
    const double scale = weight * static_cast<double>(batch.samples);
    state_->loss = at::l1_loss(output, target).mul(scale);
    loss = state_->loss.item<double>();
  }));
  return loss;
}

base::Status Network::Backward() {
  return Guarded([&] {
    state_->loss.backward();
    state_->loss.reset();
  });
}

base::Status Network::Predict(const Batch& batch, std::span<float> predictions) {
  return Guarded([&] {
    const c10::NoGradGuard no_gradients;
    const Tensor output = state_->Compute(batch).contiguous();
    SS_CHECK(output.numel() == static_cast<int64_t>(predictions.size()));
    std::copy_n(output.data_ptr<float>(), predictions.size(), predictions.data());
  });
}

}  // namespace stepslack::model
