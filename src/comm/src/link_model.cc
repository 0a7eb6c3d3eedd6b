#include "stepslack/comm/link_model.h"

#include <time.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

// A sleeping thread wakes this late at times; the rest is waited out awake.
constexpr int64_t kSpinNs = 80'000;

int CeilLog2(int ranks) {
  int steps = 0;
  while ((1 << steps) < ranks) ++steps;
  return steps;
}

class LinkTransport final : public Transport {
 public:
  LinkTransport(std::unique_ptr<Transport> inner, const LinkModelOptions& options)
      : inner_(std::move(inner)),
        options_(options),
        name_(std::string(inner_->name()) + "+link"),
        random_(options.seed) {}

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::string_view name() const override { return name_; }
  std::string_view algorithm() const override { return inner_->algorithm(); }

  TransportStatus AllReduceSum(Buffer data) override {
    return Then(inner_->AllReduceSum(data), AllReducePlan(world_size(), data.bytes()));
  }
  TransportStatus ReduceScatterSum(ConstBuffer input, Buffer output) override {
    return Then(inner_->ReduceScatterSum(input, output),
                BlocksPlan(world_size(), output.bytes()));
  }
  TransportStatus AllGather(ConstBuffer mine, Buffer all) override {
    return Then(inner_->AllGather(mine, all), BlocksPlan(world_size(), mine.bytes()));
  }
  TransportStatus Broadcast(Buffer data, int root) override {
    return Then(inner_->Broadcast(data, root), TreePlan(world_size(), data.bytes()));
  }
  TransportStatus AllToAll(ConstBuffer input, Buffer output) override {
    const auto ranks = static_cast<size_t>(world_size());
    return Then(inner_->AllToAll(input, output),
                BlocksPlan(world_size(), output.bytes() / ranks));
  }
  TransportStatus Send(ConstBuffer data, int peer) override {
    return Then(inner_->Send(data, peer), {1, static_cast<double>(data.bytes())});
  }
  TransportStatus Receive(Buffer data, int peer) override {
    return Then(inner_->Receive(data, peer), {1, static_cast<double>(data.bytes())});
  }
  TransportStatus Barrier() override {
    return Then(inner_->Barrier(), TreePlan(world_size(), 0));
  }
  std::span<std::byte> AllocateShared(size_t bytes) override {
    return inner_->AllocateShared(bytes);
  }
  std::string memory_note() const override { return inner_->memory_note(); }
  bool checks_agreement() const override { return inner_->checks_agreement(); }
  bool keeps_timeouts() const override { return inner_->keeps_timeouts(); }

 private:
  TransportStatus Then(TransportStatus status, const MessagePlan& plan) {
    if (!status.has_value()) return status;
    int resent = 0;
    if (options_.loss > 0) {
      std::bernoulli_distribution lost(options_.loss);
      for (int i = 0; i < plan.messages; ++i) resent += lost(random_) ? 1 : 0;
    }
    const double seconds = ModelledSeconds(options_, plan, resent);
    PauseFor(std::min(seconds, options_.timeout_seconds));
    if (seconds <= options_.timeout_seconds) return {};
    return tl::unexpected(TransportFailure{
        TransportFailure::Kind::kTimeout,
        "timed out: the modelled link needs " + std::to_string(seconds) + " s"});
  }

  std::unique_ptr<Transport> inner_;
  LinkModelOptions options_;
  std::string name_;
  std::mt19937_64 random_;
};

}  // namespace

MessagePlan AllReducePlan(int ranks, size_t bytes) {
  return {2 * (ranks - 1), static_cast<double>(bytes) / ranks};
}

MessagePlan BlocksPlan(int ranks, size_t bytes) {
  return {ranks - 1, static_cast<double>(bytes)};
}

MessagePlan TreePlan(int ranks, size_t bytes) {
  return {CeilLog2(ranks), static_cast<double>(bytes)};
}

double ModelledSeconds(const LinkModelOptions& options, const MessagePlan& plan,
                       int resent) {
  double one = options.latency_us * 1e-6;
  if (options.megabits > 0) one += plan.bytes_each * 8e-6 / options.megabits;
  return (plan.messages + resent) * one;
}

void PauseFor(double seconds) {
  const int64_t until = base::NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (true) {
    const int64_t left = until - base::NowNs();
    if (left <= 0) return;
    if (left <= kSpinNs) continue;
    const int64_t nap = left - kSpinNs;
    const timespec pause = {nap / 1'000'000'000, nap % 1'000'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

std::unique_ptr<Transport> WithLinkModel(std::unique_ptr<Transport> inner,
                                         const LinkModelOptions& options) {
  return std::make_unique<LinkTransport>(std::move(inner), options);
}

}  // namespace stepslack::comm
