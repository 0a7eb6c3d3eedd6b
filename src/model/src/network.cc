// The door between plain memory and tensors.
#include "stepslack/model/network.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>

#include "message_passing.h"
#include "network_state.h"
#include "options_check.h"

namespace stepslack::model {
namespace {

using at::Tensor;
using base::ExitCode;

// Runs `body`; an exception of the tensor library becomes an Error here and goes no
// further.
template <typename Body>
base::Status Guarded(Body&& body) {
  try {
    body();
    return {};
  } catch (const RankSumFailure& failure) {
    return tl::unexpected(failure.error());
  } catch (const std::exception& error) {
    return base::Fail("MODEL-0003", ExitCode::kInternal,
                      "the tensor library refused an operation: " + FirstLine(error),
                      "network", "report this with the plan that caused it");
  }
}

std::vector<Block> BuildBlocks(const NetworkOptions& options, ParameterStore& store) {
  if (options.architecture == "fcn") return BuildFcn(options, store);
  if (options.architecture == "mlp") return BuildMlp(options, store);
  if (options.architecture == "gnn") return BuildGnn(options, store);
  return BuildUnet(options, store);
}

// The view is only read; from_blob takes no const pointer.
Tensor ReadView(const float* values, at::IntArrayRef shape) {
  if (values == nullptr) return at::zeros(shape, at::kFloat);
  return at::from_blob(const_cast<float*>(values), shape, at::kFloat);
}

Activation ToActivation(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  Activation activation{dense.sizes().vec(), {}};
  const float* values = dense.data_ptr<float>();
  activation.values.assign(values, values + dense.numel());
  return activation;
}

Tensor FromActivation(const Activation& activation) {
  Tensor tensor = at::zeros(activation.shape, at::kFloat);
  SS_CHECK(tensor.numel() == static_cast<int64_t>(activation.values.size()));
  std::copy(activation.values.begin(), activation.values.end(),
            tensor.data_ptr<float>());
  return tensor;
}

base::Status WrongBlocks(size_t first, size_t end, size_t count, size_t entering) {
  return base::Fail("MODEL-0014", ExitCode::kInternal,
                    fmt::format("blocks {} to {} of {} with {} activations", first, end,
                                count, entering),
                    "network", "block 0 takes none, every other at least one");
}

}  // namespace

std::string FirstLine(const std::exception& error) {
  const std::string_view text(error.what());
  return std::string(text.substr(0, text.find('\n')));
}

Network::State::State(const NetworkOptions& network_options)
    : options(network_options),
      loss_kind(LossKindOf(options.loss)),
      of_maps(options.architecture == "unet" || options.architecture == "fcn"),
      of_graphs(options.architecture == "gnn"),
      blocks(BuildBlocks(options, store)) {
  const bool shuffled = options.architecture == "unet" && options.stem == "shuffle";
  if (options.winograd && of_maps && !shuffled && options.precision == "float32") {
    convolutions = ConvolutionEngine::Create();
  }
  for (const Block& block : blocks) {
    block_infos.push_back({block.name, block.first_parameter, block.parameter_end});
  }
}

Pass Network::State::MakePass(const Batch& batch, bool training) {
  Pass pass{store, options.sum_over_ranks};
  pass.training = training;
  pass.bfloat16 = options.precision == "bfloat16";
  pass.convolutions = convolutions.get();
  const int64_t planes = options.input_planes;
  if (of_graphs) {
    pass.graph = TensorsOf(batch.graph, batch.samples);
    pass.x = ReadView(batch.inputs, {batch.graph.nodes, planes});
  } else if (of_maps) {
    pass.x = ReadView(batch.inputs, {batch.samples, planes, batch.height, batch.width});
  } else {
    pass.x = ReadView(batch.inputs, {batch.samples, planes});
  }
  return pass;
}

base::Status Network::State::CheckBatch(const Batch& batch) const {
  const bool sized = batch.samples >= 0 &&
                     (of_graphs || batch.samples == 0 || batch.inputs != nullptr) &&
                     (!of_maps || (batch.height > 0 && batch.width > 0));
  if (!sized) {
    return base::Fail("MODEL-0013", ExitCode::kInternal,
                      fmt::format("a batch of {} samples of {} x {} without data",
                                  batch.samples, batch.height, batch.width),
                      "network", "give inputs, and the size of maps at least");
  }
  return of_graphs ? CheckGraph(batch.graph, batch.samples) : base::Status{};
}

Tensor Network::State::LossOf(const Tensor& output, const Batch& batch,
                              double weight) const {
  if (batch.samples == 0) return output.sum();  // zero, with a graph behind it
  if (of_graphs && options.node_targets) {
    // The error of a graph is the mean over its nodes, whatever batch it is in.
    std::vector<double> nodes(static_cast<size_t>(batch.samples), 0.0);
    const auto graph_of = [&](int64_t node) {
      return batch.graph.graph_of_node == nullptr
                 ? size_t{0}
                 : static_cast<size_t>(batch.graph.graph_of_node[node]);
    };
    Tensor weights = at::zeros({batch.graph.nodes}, at::kFloat);
    for (int64_t i = 0; i < batch.graph.nodes; ++i) nodes[graph_of(i)] += 1.0;
    for (int64_t i = 0; i < batch.graph.nodes; ++i) {
      weights.data_ptr<float>()[i] = static_cast<float>(weight / nodes[graph_of(i)]);
    }
    return WeightedRowLoss(loss_kind, output, ReadView(batch.targets, output.sizes()),
                           weights);
  }
  const double scale = weight * static_cast<double>(batch.samples);
  return MeanLoss(loss_kind, output, ReadView(batch.targets, output.sizes()))
      .mul(scale);
}

Network::Network(std::unique_ptr<State> state) : state_(std::move(state)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

base::Result<Network> Network::Create(const NetworkOptions& options) {
  SS_TRY(const int64_t floats, GradientFloats(options));
  SS_RETURN_IF_ERROR(CheckGradientMemory(options, floats));
  auto state = std::make_unique<State>(options);
  SS_RETURN_IF_ERROR(Guarded([&] {
    state->store.Bind(options.seed, options.gradient_tail, options.gradient_memory);
  }));
  return Network(std::move(state));
}

base::Result<int64_t> Network::GradientFloats(const NetworkOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  ParameterStore store;
  BuildBlocks(options, store);
  SS_RETURN_IF_ERROR(CheckSize(store.layout.buffer_floats()));
  return store.layout.buffer_floats() + options.gradient_tail;
}

const std::vector<ParameterInfo>& Network::parameters() const {
  return state_->store.layout.parameters();
}

int64_t Network::parameter_count() const {
  return state_->store.layout.parameter_count();
}

const std::vector<BlockInfo>& Network::blocks() const { return state_->block_infos; }

std::span<float> Network::values() { return state_->store.flat_values(); }

std::span<float> Network::gradients() { return state_->store.flat_gradients(); }

std::span<float> Network::statistics() { return state_->store.flat_statistics(); }

const std::vector<ParameterInfo>& Network::statistics_layout() const {
  return state_->store.statistics_layout.parameters();
}

void Network::ClearGradients() { state_->store.ClearGradients(); }

base::Status Network::CheckMapSize(int64_t height, int64_t width) const {
  const NetworkOptions& options = state_->options;
  const bool unet = options.architecture == "unet";
  const int64_t multiple = unet ? int64_t{1} << (options.levels - 1) : 1;
  if (height > 0 && width > 0 && height % multiple == 0 && width % multiple == 0) {
    return {};
  }
  return base::Fail("MODEL-0001", ExitCode::kInput,
                    "maps of " + std::to_string(height) + " x " +
                        std::to_string(width) + " are no multiple of " +
                        std::to_string(multiple),
                    "network of " + std::to_string(options.levels) + " levels",
                    "cut tiles of another size, or lower levels");
}

void Network::OnGradientReady(std::function<void(size_t)> callback) {
  state_->store.OnReady(std::move(callback));
}

void Network::BeforeBlock(std::function<base::Status(size_t)> callback) {
  state_->before_block = std::move(callback);
}

base::Result<double> Network::Forward(const Batch& batch, double weight) {
  SS_RETURN_IF_ERROR(state_->CheckBatch(batch));
  double loss = 0;
  SS_RETURN_IF_ERROR(Guarded([&] {
    Pass pass = state_->MakePass(batch, true);
    for (size_t block = 0; block < state_->blocks.size(); ++block) {
      if (state_->before_block) {
        base::Status ready = state_->before_block(block);
        if (!ready) throw RankSumFailure(std::move(ready.error()));
      }
      state_->blocks[block].forward(pass);
    }
    state_->loss = state_->LossOf(pass.x, batch, weight);
    loss = state_->loss.item<double>();
  }));
  return loss;
}

base::Status Network::Backward() {
  return Guarded([&] {
    state_->loss.backward();
    state_->loss.reset();
    state_->store.SettleGradients();
  });
}

base::Status Network::Predict(const Batch& batch, std::span<float> predictions) {
  SS_RETURN_IF_ERROR(state_->CheckBatch(batch));
  return Guarded([&] {
    const c10::NoGradGuard no_gradients;
    Pass pass = state_->MakePass(batch, false);
    for (const Block& block : state_->blocks) block.forward(pass);
    const Tensor output = pass.x.contiguous();
    SS_CHECK(output.numel() == static_cast<int64_t>(predictions.size()));
    std::copy_n(output.data_ptr<float>(), predictions.size(), predictions.data());
  });
}

base::Result<std::vector<Activation>> Network::RunBlocks(
    size_t first, size_t end, const Batch& batch,
    const std::vector<Activation>& entering) const {
  const size_t count = state_->blocks.size();
  if (first > end || end > count || (first == 0) != entering.empty()) {
    SS_RETURN_IF_ERROR(WrongBlocks(first, end, count, entering.size()));
  }
  SS_RETURN_IF_ERROR(state_->CheckBatch(batch));
  std::vector<Activation> leaving;
  SS_RETURN_IF_ERROR(Guarded([&] {
    const c10::NoGradGuard no_gradients;
    Pass pass = state_->MakePass(batch, false);
    if (!entering.empty()) pass.x = FromActivation(entering.front());
    for (size_t i = 1; i < entering.size(); ++i) {
      pass.skips.push_back(FromActivation(entering[i]));
    }
    for (size_t i = first; i < end; ++i) state_->blocks[i].forward(pass);
    leaving.push_back(ToActivation(pass.x));
    for (const Tensor& skip : pass.skips) leaving.push_back(ToActivation(skip));
  }));
  return leaving;
}

}  // namespace stepslack::model
