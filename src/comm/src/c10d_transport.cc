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

  TransportStatus AllReduceSum(std::span<float> data) override {
    return Reduce(data.data(), data.size(), at::kFloat);
  }
  TransportStatus AllReduceSum(std::span<double> data) override {
    return Reduce(data.data(), data.size(), at::kDouble);
  }
  TransportStatus Broadcast(std::span<std::byte> data, int root) override {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data.data(), data.size(), at::kByte)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(tensors, options)->wait();
    });
  }
  TransportStatus AllGather(std::span<const std::byte> mine,
                            std::span<std::byte> all) override {
    return Guarded([&] {
      // c10d takes no const views; the engine only reads this one.
      std::vector<at::Tensor> inputs = {
          View(const_cast<std::byte*>(mine.data()), mine.size(), at::kByte)};
      std::vector<std::vector<at::Tensor>> outputs(1);
      for (size_t at = 0; at < all.size(); at += mine.size()) {
        outputs[0].push_back(View(all.data() + at, mine.size(), at::kByte));
      }
      group_->allgather(outputs, inputs)->wait();
    });
  }
  TransportStatus Barrier() override {
    return Guarded([&] { group_->barrier()->wait(); });
  }

 private:
  static at::Tensor View(void* data, size_t count, at::ScalarType type) {
    return at::from_blob(data, {static_cast<int64_t>(count)}, type);
  }
  TransportStatus Reduce(void* data, size_t count, at::ScalarType type) {
    return Guarded([&] {
      std::vector<at::Tensor> tensors = {View(data, count, type)};
      group_->allreduce(tensors)->wait();
    });
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
