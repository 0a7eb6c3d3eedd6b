#include "stepslack/comm/link_model.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "shm_test_ranks.h"
#include "stepslack/base/context.h"

namespace stepslack::comm {
namespace {

TEST(LinkModel, AddsLatencyAndBandwidthOfEveryStep) {
  LinkModelOptions options;
  options.latency_us = 100;
  options.megabits = 8;  // one byte takes one microsecond
  // Ring of 4: 6 messages of 250 bytes, each 100 + 250 us.
  EXPECT_NEAR(ModelledSeconds(options, AllReducePlan(4, 1000), 0), 6 * 350e-6, 1e-12);
  EXPECT_NEAR(ModelledSeconds(options, BlocksPlan(4, 1000), 0), 3 * 1100e-6, 1e-12);
  // 5 ranks need 3 rounds of a tree.
  EXPECT_NEAR(ModelledSeconds(options, TreePlan(5, 1000), 0), 3 * 1100e-6, 1e-12);
  // Two of the six messages were lost and sent again.
  EXPECT_NEAR(ModelledSeconds(options, AllReducePlan(4, 1000), 2), 8 * 350e-6, 1e-12);
  options.megabits = 0;
  EXPECT_NEAR(ModelledSeconds(options, AllReducePlan(2, 1000), 0), 200e-6, 1e-12);
}

TEST(LinkModel, ACollectiveTakesAtLeastTheModelledTime) {
  OnShmRanks(2, {}, [](Transport& inner) {
    // A view on the transport of this rank: the decorator owns what it decorates.
    class Borrowed final : public Transport {
     public:
      explicit Borrowed(Transport& lent) : lent_(lent) {}
      int rank() const override { return lent_.rank(); }
      int world_size() const override { return lent_.world_size(); }
      std::string_view name() const override { return lent_.name(); }
      std::string_view algorithm() const override { return lent_.algorithm(); }
      TransportStatus AllReduceSum(Buffer data) override {
        return lent_.AllReduceSum(data);
      }
      TransportStatus ReduceScatterSum(ConstBuffer a, Buffer b) override {
        return lent_.ReduceScatterSum(a, b);
      }
      TransportStatus AllGather(ConstBuffer a, Buffer b) override {
        return lent_.AllGather(a, b);
      }
      TransportStatus Broadcast(Buffer a, int root) override {
        return lent_.Broadcast(a, root);
      }
      TransportStatus AllToAll(ConstBuffer a, Buffer b) override {
        return lent_.AllToAll(a, b);
      }
      TransportStatus Send(ConstBuffer a, int peer) override {
        return lent_.Send(a, peer);
      }
      TransportStatus Receive(Buffer a, int peer) override {
        return lent_.Receive(a, peer);
      }
      TransportStatus Barrier() override { return lent_.Barrier(); }

     private:
      Transport& lent_;
    };
    LinkModelOptions options;
    options.latency_us = 5000;
    options.megabits = 80;  // 10 bytes a microsecond
    const auto link = WithLinkModel(std::make_unique<Borrowed>(inner), options);
    EXPECT_EQ(link->name(), "shm+link");
    std::vector<float> data(25'000, 1.0F);  // 100 kB: two messages of 5 + 5 ms
    const int64_t start = base::NowNs();
    ASSERT_TRUE(link->AllReduceSum({data.data(), data.size(), DType::kFloat32}));
    EXPECT_GE(base::NowNs() - start, int64_t{20'000'000});
    EXPECT_EQ(data[7], 2.0F);
    // Every message is lost once: twice the time.
    options.loss = 1.0;
    const auto lossy = WithLinkModel(std::make_unique<Borrowed>(inner), options);
    const int64_t again = base::NowNs();
    ASSERT_TRUE(lossy->AllReduceSum({data.data(), data.size(), DType::kFloat32}));
    EXPECT_GE(base::NowNs() - again, int64_t{40'000'000});
    // 80 s of modelled time and a time-out of 10 ms.
    options.megabits = 0.01;
    options.timeout_seconds = 0.01;
    const auto slow = WithLinkModel(std::make_unique<Borrowed>(inner), options);
    const auto late = slow->Broadcast({data.data(), data.size(), DType::kFloat32}, 0);
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().kind, TransportFailure::Kind::kTimeout);
  });
}

TEST(LinkModel, PausesAreNeverTooShort) {
  for (const double seconds : {0.0, 20e-6, 150e-6, 3e-3}) {
    const int64_t start = base::NowNs();
    PauseFor(seconds);
    EXPECT_GE(base::NowNs() - start, static_cast<int64_t>(seconds * 1e9));
  }
}

}  // namespace
}  // namespace stepslack::comm
