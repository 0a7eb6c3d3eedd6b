// Adapter to c10d's Gloo process group, the one file of this module that sees LibTorch.
// Only calls whose spelling is the same in LibTorch 1.13 and 2.x are used.
#include <chrono>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {
namespace {

std::string FirstLine(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Gloo tells its kinds of failure apart by text only.
TransportFailure Translate(const std::exception& error) {
  TransportFailure failure;
  failure.what = FirstLine(error.what());
  if (Contains(failure.what, "imed out") || Contains(failure.what, "imeout")) {
    failure.kind = TransportFailure::Kind::kTimeout;
  } else if (Contains(failure.what, "onnection") || Contains(failure.what, "peer") ||
             Contains(failure.what, "Broken pipe") || Contains(failure.what, "ocket")) {
    failure.kind = TransportFailure::Kind::kPeerLost;
  }
  return failure;
}

class C10dTransport final : public Transport {
 public:
  explicit C10dTransport(c10::intrusive_ptr<c10d::ProcessGroupGloo> group)
      : group_(std::move(group)) {}

  int rank() const override { return group_->getRank(); }
  int world_size() const override { return group_->getSize(); }
  std::string_view name() const override { return "gloo"; }

  std::string_view algorithm() const override { return "engine"; }

  TransportStatus AllReduceSum(Buffer data) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data)};
      group_->allreduce(tensors)->wait();
    });
  }
  // The engine's Gloo has no reduce-scatter: a sum of everything, of which one block is
  // kept.
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(input).clone()};
      group_->allreduce(tensors)->wait();
      const auto count = static_cast<int64_t>(output.count);
      View(output).copy_(tensors[0].narrow(0, rank() * count, count));
    });
  }
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override {
    return Guarded([&] {
      std::vector<at::Tensor> inputs = {View(mine)};
      std::vector<std::vector<at::Tensor>> outputs = {
          View(all).chunk(static_cast<int64_t>(world_size()))};
      group_->allgather(outputs, inputs)->wait();
    });
  }
  TransportStatus Broadcast(Buffer data, int root) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(tensors, options)->wait();
    });
  }
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override {
    return Guarded([&] {
      at::Tensor to = View(output);
      at::Tensor from = View(input);
      std::vector<int64_t> even;
      group_->alltoall_base(to, from, even, even)->wait();
    });
  }
  TransportStatus Send(ConstBuffer data, int peer) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data)};
      group_->send(tensors, peer, 0)->wait();
    });
  }
  TransportStatus Receive(Buffer data, int peer) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data)};
      group_->recv(tensors, peer, 0)->wait();
    });
  }
  TransportStatus Barrier() override {
    return Guarded([&] { group_->barrier()->wait(); });
  }

 private:
  static at::ScalarType TypeOf(DType dtype) {
    switch (dtype) {
      case DType::kFloat32:
        return at::kFloat;
      case DType::kFloat64:
        return at::kDouble;
      case DType::kBFloat16:
        return at::kBFloat16;
      case DType::kInt64:
        return at::kLong;
      case DType::kByte:
        break;
    }
    return at::kByte;
  }
  static at::Tensor View(Buffer data) {
    return at::from_blob(data.data, {static_cast<int64_t>(data.count)},
                         TypeOf(data.dtype));
  }
  // c10d takes no const views; the engine only reads these.
  static at::Tensor View(ConstBuffer data) {
    return View(Buffer{const_cast<void*>(data.data), data.count, data.dtype});
  }
  template <typename Body>
  TransportStatus Guarded(Body&& body) {
    try {
      body();
      return {};
    } catch (const std::exception& error) {
      return tl::unexpected(Translate(error));
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

tl::expected<std::unique_ptr<Transport>, TransportFailure> ConnectGloo(
    const GlooOptions& options) {
  try {
    const auto timeout = std::chrono::milliseconds(
        static_cast<int64_t>(options.timeout_seconds * 1000.0));
    auto store =
        c10::make_intrusive<c10d::FileStore>(options.store_path, options.world_size);
    store->setTimeout(timeout);
    auto group_options = c10d::ProcessGroupGloo::Options::create(timeout);
    group_options->threads = 1;  // our communication thread keeps the order anyway
    group_options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForInterface(options.interface));
    return std::make_unique<C10dTransport>(c10::make_intrusive<c10d::ProcessGroupGloo>(
        store, options.rank, options.world_size, group_options));
  } catch (const std::exception& error) {
    return tl::unexpected(Translate(error));
  }
}

}  // namespace stepslack::comm
