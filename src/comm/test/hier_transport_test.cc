// Two "hosts" on one machine: a shared-memory group each, Gloo between the leaders. The
// ranks are dealt out unevenly and crosswise, so that mixed-up numbers show.
#include "stepslack/comm/hier_transport.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "shm_test_ranks.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {
namespace {

void OnHosts(const std::vector<std::vector<int>>& ranks_by_host, size_t chunk_bytes,
             const std::function<void(Transport&)>& body) {
  const std::string store = FreshShmStore();
  std::vector<std::jthread> threads;
  for (size_t host = 0; host < ranks_by_host.size(); ++host) {
    const std::vector<int>& ranks = ranks_by_host[host];
    for (size_t local = 0; local < ranks.size(); ++local) {
      threads.emplace_back([&, host, local] {
        ShmOptions options;
        options.rank = static_cast<int>(local);
        options.world_size = static_cast<int>(ranks.size());
        options.store_path = store + "." + std::to_string(host);
        options.timeout_seconds = 30;
        auto inside = ConnectShm(options);
        ASSERT_TRUE(inside.has_value()) << inside.error().what;
        std::unique_ptr<Transport> leaders;
        if (local == 0) {
          auto gloo = ConnectGloo({static_cast<int>(host),
                                   static_cast<int>(ranks_by_host.size()),
                                   store + ".leaders", "lo", 30});
          ASSERT_TRUE(gloo.has_value()) << gloo.error().what;
          leaders = std::move(*gloo);
        }
        auto transport = MakeHier({ranks[local], ranks_by_host, chunk_bytes},
                                  std::move(*inside), std::move(leaders));
        body(*transport);
      });
    }
  }
  threads.clear();
  std::remove((store + ".leaders").c_str());
}

TEST(HierTransport, AllReduceIsTheSumOverHostsForManyChunks) {
  OnHosts({{0, 1}, {2, 3}}, 4096, [](Transport& transport) {
    EXPECT_EQ(transport.name(), "hier");
    EXPECT_EQ(transport.world_size(), 4);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{1024}, size_t{50'001}}) {
      std::vector<float> data(count);
      for (size_t i = 0; i < count; ++i) {
        data[i] = static_cast<float>(i % 100) * static_cast<float>(transport.rank());
      }
      ASSERT_TRUE(
          transport.AllReduceSum({data.data(), count, DType::kFloat32}).has_value());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(data[i], 6.0F * static_cast<float>(i % 100)) << i;
      }
    }
  });
}

TEST(HierTransport, BFloat16IsRoundedOnceThroughBothLevels) {
  // 256 on rank 0, 1 on the three others: 259, which lies half-way between 258 and 260
  // and goes to 260 (even). Rounded inside each host: 257 -> 256, 2, in all 258.
  OnHosts({{0, 1}, {2, 3}}, 4096, [](Transport& transport) {
    uint16_t value = transport.rank() == 0 ? 0x4380 : 0x3f80;
    ASSERT_TRUE(transport.AllReduceSum({&value, 1, DType::kBFloat16}).has_value());
    EXPECT_EQ(value, 0x4382);  // 260
  });
}

TEST(HierTransport, OtherCollectivesKeepTheOrderOfTheRanks) {
  OnHosts({{3, 1, 0}, {2, 4}}, 4096, [](Transport& transport) {
    const int64_t me = transport.rank();
    std::vector<int64_t> mine = {me, 10 * me};
    std::vector<int64_t> all(10);
    ASSERT_TRUE(transport.AllGather({mine.data(), 2, DType::kInt64},
                                    {all.data(), 10, DType::kInt64}));
    EXPECT_EQ(all, (std::vector<int64_t>{0, 0, 1, 10, 2, 20, 3, 30, 4, 40}));

    std::vector<int64_t> input(5);
    for (size_t to = 0; to < 5; ++to) input[to] = 100 * me + static_cast<int64_t>(to);
    std::vector<int64_t> output(5);
    ASSERT_TRUE(transport.AllToAll({input.data(), 5, DType::kInt64},
                                   {output.data(), 5, DType::kInt64}));
    EXPECT_EQ(output,
              (std::vector<int64_t>{me, 100 + me, 200 + me, 300 + me, 400 + me}));

    int64_t block = 0;
    ASSERT_TRUE(transport.ReduceScatterSum({input.data(), 5, DType::kInt64},
                                           {&block, 1, DType::kInt64}));
    EXPECT_EQ(block, 1000 + 5 * me);

    for (const int root : {0, 4}) {
      std::vector<int64_t> data = {me, me};
      ASSERT_TRUE(transport.Broadcast({data.data(), 2, DType::kInt64}, root));
      EXPECT_EQ(data, (std::vector<int64_t>{root, root}));
    }
    EXPECT_TRUE(transport.Barrier().has_value());
  });
}

TEST(HierTransport, MessagesGoInsideAHostAndBetweenLeadersAndNowhereElse) {
  OnHosts({{0, 1}, {2, 3}}, 4096, [](Transport& transport) {
    int64_t value = transport.rank();
    const Buffer data{&value, 1, DType::kInt64};
    const ConstBuffer given{&value, 1, DType::kInt64};
    switch (transport.rank()) {
      case 0:
        ASSERT_TRUE(transport.Send(given, 2).has_value());
        break;
      case 1: {
        const auto status = transport.Send(given, 2);
        ASSERT_FALSE(status.has_value());
        EXPECT_EQ(status.error().what,
                  "there is no direct way from rank 1 to rank 2: only leaders talk to "
                  "other hosts");
        break;
      }
      case 2:
        ASSERT_TRUE(transport.Receive(data, 0).has_value());
        EXPECT_EQ(value, 0);
        ASSERT_TRUE(transport.Send(given, 3).has_value());
        break;
      default:
        ASSERT_TRUE(transport.Receive(data, 2).has_value());
        EXPECT_EQ(value, 0);
    }
    EXPECT_TRUE(transport.Barrier().has_value());
  });
}

}  // namespace
}  // namespace stepslack::comm
