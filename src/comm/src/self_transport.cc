#include <algorithm>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {
namespace {

class SelfTransport final : public Transport {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  std::string_view name() const override { return "self"; }
  TransportStatus AllReduceSum(std::span<float>) override { return {}; }
  TransportStatus AllReduceSum(std::span<double>) override { return {}; }
  TransportStatus Broadcast(std::span<std::byte>, int) override { return {}; }
  TransportStatus AllGather(std::span<const std::byte> mine,
                            std::span<std::byte> all) override {
    std::copy(mine.begin(), mine.end(), all.begin());
    return {};
  }
  TransportStatus Barrier() override { return {}; }
};

}  // namespace

std::unique_ptr<Transport> MakeSelfTransport() {
  return std::make_unique<SelfTransport>();
}

}  // namespace stepslack::comm
