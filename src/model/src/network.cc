// The only place that builds an autograd graph. Parameters live in one flat buffer; every
// tensor here is a view of it, and every gradient a view of the gradient buffer.
#include "stepslack/model/network.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <exception>
#include <cstdlib>
#include <new>
#include <utility>

namespace stepslack::model {
namespace {

int Env(const char* n, int d) { const char* s = getenv(n); return s ? atoi(s) : d; }

using at::Tensor;

struct ConvNorm {
  size_t kernel = 0, gain = 0, shift = 0;
  int64_t groups = 1;
};

}  // namespace

struct AlignedFree {
  void operator()(float* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], AlignedFree>;

Buffer MakeBuffer(size_t floats) {
  const size_t bytes = (floats * sizeof(float) + 63) / 64 * 64;
  Buffer b(static_cast<float*>(std::aligned_alloc(64, bytes)));
  std::fill_n(b.get(), bytes / 4, 0.0F);
  return b;
}

struct Network::State {
  NetworkOptions options;
  ParameterLayout layout;
  std::vector<ConvNorm> encoder, decoder;
  ConvNorm stem, refine;
  size_t head_kernel = 0, head_shift = 0;
  Buffer values, gradients;
  std::vector<Tensor> p;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;
  std::function<void(size_t)> callback;
  Tensor loss;
  int variant = Env("V", 0), norm = Env("NORM", 1), down = Env("DOWN", 0), cap = Env("CAP", 1000), gdiv = Env("GDIV", 8), act = Env("ACT",0), cl = Env("CL",0), up = Env("UP", 0);

  int64_t Channels(int level) const { return std::min<int64_t>(cap, static_cast<int64_t>(options.base_channels) << level); }

  ConvNorm AddConv(const std::string& name, int64_t in, int64_t out, int64_t k = 3) {
    ConvNorm c;
    c.kernel = layout.AddKernel(name + ".kernel", out, in, k, 1.0);
    c.gain = layout.AddVector(name + ".gain", out, 1.0);
    c.shift = layout.AddVector(name + ".shift", out, 0.0);
    c.groups = std::max<int64_t>(1, out / gdiv);
    return c;
  }
  void Build() {
    // variant 0: level 0 at full res with channels; 1: unshuffle
    const int n = variant == 1 ? options.levels - 1 : options.levels;
    int64_t in = variant == 1 ? options.input_planes * 4 : options.input_planes;
    for (int l = 0; l < n; ++l) {
      encoder.push_back(AddConv(fmt("encoder", l, "a"), in, Channels(l)));
      encoder.push_back(AddConv(fmt("encoder", l, "b"), Channels(l), Channels(l)));
      in = Channels(l);
    }
    for (int l = n - 2; l >= 0; --l) {
      decoder.push_back(AddConv(fmt("decoder", l, "a"), Channels(l) + Channels(l + 1), Channels(l)));
      decoder.push_back(AddConv(fmt("decoder", l, "b"), Channels(l), Channels(l)));
    }
    head_kernel = layout.AddKernel("head.kernel", variant == 1 ? 4 : 1, Channels(0), Env("HK",1), 0.1);
    head_shift = layout.AddVector("head.shift", variant == 1 ? 4 : 1, 1.0);
  }
  static std::string fmt(const char* a, int l, const char* b) { return std::string(a) + "." + std::to_string(l) + "." + b; }

  Tensor Conv(const ConvNorm& c, const Tensor& x) {
    const int64_t pad = p[c.kernel].size(2) / 2;
    if (norm == 0) return act_(at::conv2d(x, p[c.kernel], p[c.shift], 1, pad));
    Tensor y = at::conv2d(x, p[c.kernel], {}, 1, pad);
    y = at::group_norm(y, c.groups, p[c.gain], p[c.shift], 1e-5);
    return act_(y);
  }
  Tensor act_(const Tensor& y) { return act == 0 ? at::relu_(const_cast<Tensor&>(y)) : act == 1 ? at::silu(y) : at::leaky_relu(y, 0.1); }

  Tensor Compute(const Batch& b) {
    Tensor x = at::from_blob(const_cast<float*>(b.inputs), {b.samples, options.input_planes, b.height, b.width}, at::kFloat);
    if (variant == 1) x = at::pixel_unshuffle(x, 2);
    if (cl) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    const size_t n = encoder.size() / 2;
    std::vector<Tensor> skips;
    for (size_t l = 0; l < n; ++l) {
      if (l > 0) { skips.push_back(x); x = down == 0 ? at::max_pool2d(x, 2) : at::avg_pool2d(x, 2); }
      x = Conv(encoder[2 * l], x);
      x = Conv(encoder[2 * l + 1], x);
    }
    for (size_t d = 0; d < n - 1; ++d) {
      const Tensor& s = skips[n - 2 - d];
      if (up == 0) x = at::upsample_nearest2d(x, {s.size(2), s.size(3)});
      else x = at::upsample_bilinear2d(x, {s.size(2), s.size(3)}, false);
      x = at::cat({s, x}, 1);
      x = Conv(decoder[2 * d], x);
      x = Conv(decoder[2 * d + 1], x);
    }
    x = at::conv2d(x, p[head_kernel], p[head_shift], 1, p[head_kernel].size(2) / 2);
    if (variant == 1) x = at::pixel_shuffle(x, 2);
    return x.squeeze(1);
  }
};

namespace {
struct ReadyHook : torch::autograd::FunctionPostHook {
  ReadyHook(std::function<void(size_t)>* c, size_t i) : callback(c), index(i) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs, const torch::autograd::variable_list&) override {
    if (*callback) (*callback)(index);
    return outputs;
  }
  std::function<void(size_t)>* callback;
  size_t index;
};
}  // namespace

Network::Network(std::unique_ptr<State> s) : state_(std::move(s)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

base::Result<Network> Network::Create(const NetworkOptions& options) {
  auto s = std::make_unique<State>();
  s->options = options;
  s->Build();
  const auto floats = static_cast<size_t>(s->layout.buffer_floats());
  s->values = MakeBuffer(floats);
  s->gradients = MakeBuffer(floats + kGradientTail);
  s->layout.Initialise(options.seed, {s->values.get(), floats});
  for (const auto& info : s->layout.parameters()) {
    Tensor t = at::from_blob(s->values.get() + info.offset, info.shape, at::kFloat);
    t.requires_grad_(true);
    t.mutable_grad() = at::from_blob(s->gradients.get() + info.offset, info.shape, at::kFloat);
    auto node = torch::autograd::impl::grad_accumulator(t);
    node->add_post_hook(std::make_unique<ReadyHook>(&s->callback, s->p.size()));
    s->accumulators.push_back(std::move(node));
    s->p.push_back(std::move(t));
  }
  return Network(std::move(s));
}
const std::vector<ParameterInfo>& Network::parameters() const { return state_->layout.parameters(); }
int64_t Network::parameter_count() const { return state_->layout.parameter_count(); }
std::span<float> Network::values() { return {state_->values.get(), static_cast<size_t>(state_->layout.buffer_floats())}; }
std::span<float> Network::gradients() { return {state_->gradients.get(), static_cast<size_t>(state_->layout.buffer_floats() + kGradientTail)}; }
void Network::OnGradientReady(std::function<void(size_t)> c) { state_->callback = std::move(c); }

base::Result<double> Network::Forward(const Batch& b, double weight) {
  Tensor y = state_->Compute(b);
  Tensor t = at::from_blob(const_cast<float*>(b.targets), {b.samples, b.height, b.width}, at::kFloat);
  state_->loss = at::l1_loss(y, t).mul(weight * static_cast<double>(b.samples));
  return state_->loss.item<double>();
}
base::Status Network::Backward() {
  state_->loss.backward();
  state_->loss.reset();
  return {};
}
base::Status Network::Predict(const Batch& b, std::span<float> out) {
  c10::NoGradGuard guard;
  Tensor y = state_->Compute(b).contiguous();
  std::copy_n(y.data_ptr<float>(), out.size(), out.data());
  return {};
}

}  // namespace stepslack::model
