// Groups, point-to-point records, inline calls and the comparison of calls through the
// board, which works for every transport.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "shm_test_ranks.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {
namespace {

GroupFactory ShmGroups(const std::string& store) {
  return [store](const GroupRequest& request) -> base::Result<GroupParts> {
    ShmOptions options;
    options.rank = request.rank;
    options.world_size = static_cast<int>(request.members.size());
    options.store_path = store + request.suffix;
    options.timeout_seconds = 30;
    auto transport = ConnectShm(options);
    if (!transport.has_value()) {
      return base::Fail("TEST-0001", base::ExitCode::kEnvironment,
                        transport.error().what, "", "");
    }
    SS_TRY(auto board, ProgressBoard::Open(options.store_path + ".board", options.rank,
                                           options.world_size));
    std::remove((options.store_path + ".board").c_str());
    return GroupParts{std::move(*transport), std::move(board)};
  };
}

void OnCommunicators(int ranks, const std::function<void(Communicator&)>& body) {
  const std::string store = FreshShmStore();
  ShmOptions options;
  options.store_path = store;
  std::vector<std::jthread> threads;
  options.world_size = ranks;
  options.timeout_seconds = 30;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ShmOptions mine = options;
      mine.rank = rank;
      auto transport = ConnectShm(mine);
      ASSERT_TRUE(transport.has_value()) << transport.error().what;
      auto board = ProgressBoard::Open(store + ".board", rank, ranks);
      ASSERT_TRUE(board.has_value());
      Communicator communicator(std::move(*transport), 30, std::move(*board),
                                ShmGroups(store));
      body(communicator);
    });
  }
  threads.clear();
  std::remove((store + ".board").c_str());
}

TEST(CommunicatorGroups, AMeshOfTwoByTwoSumsAlongBothAxes) {
  OnCommunicators(4, [](Communicator& world) {
    // Rank = 2 * dp + tp.
    const int dp = world.rank() / 2;
    const int tp = world.rank() % 2;
    auto rows = world.Split(dp, tp, "tp");
    auto columns = world.Split(tp, -dp, "dp");  // reversed order
    ASSERT_TRUE(rows.has_value());
    ASSERT_TRUE(columns.has_value());
    EXPECT_EQ((*rows)->group(), "tp" + std::to_string(dp));
    EXPECT_EQ((*rows)->world_ranks(), (std::vector<int>{2 * dp, 2 * dp + 1}));
    EXPECT_EQ((*rows)->rank(), tp);
    EXPECT_EQ((*columns)->world_ranks(), (std::vector<int>{2 + tp, tp}));
    EXPECT_EQ((*columns)->rank(), 1 - dp);

    std::vector<int64_t> row = {world.rank()};
    std::vector<int64_t> column = {world.rank()};
    ASSERT_TRUE((*rows)->AllReduceSum(std::span(row)).has_value());
    ASSERT_TRUE((*columns)->AllReduceSum(std::span(column)).has_value());
    EXPECT_EQ(row[0], 4 * dp + 1);
    EXPECT_EQ(column[0], 2 * tp + 2);
    const auto records = (*rows)->Records();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].group, "tp" + std::to_string(dp));
    EXPECT_EQ(records[0].algorithm, "staged");
    EXPECT_EQ(records[0].dtype, "Long");
  });
}

TEST(CommunicatorGroups, ANegativeColorIsLeftOutAndOneRankIsAGroup) {
  OnCommunicators(3, [](Communicator& world) {
    auto group = world.Split(world.rank() == 2 ? -1 : world.rank(), 0, "pp");
    ASSERT_TRUE(group.has_value());
    if (world.rank() == 2) {
      EXPECT_EQ(*group, nullptr);
      return;
    }
    EXPECT_EQ((*group)->world_size(), 1);
    EXPECT_EQ((*group)->world_ranks(), std::vector<int>{world.rank()});
    std::vector<double> data = {2.5};
    EXPECT_TRUE((*group)->AllReduceSum(std::span(data)).has_value());
    EXPECT_EQ(data[0], 2.5);
  });
}

TEST(CommunicatorGroups, MessagesAreNumberedByPairAndDirection) {
  OnCommunicators(2, [](Communicator& world) {
    float value = 0;
    const ConstBuffer given{&value, 1, DType::kFloat32};
    const Buffer taken{&value, 1, DType::kFloat32};
    for (int i = 0; i < 2; ++i) {
      if (world.rank() == 0) {
        ASSERT_TRUE(world.Send(given, 1).has_value());
      } else {
        ASSERT_TRUE(world.Receive(taken, 0).has_value());
      }
    }
    ASSERT_TRUE(world.Barrier().has_value());
    const auto records = world.Records();
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[1].name, world.rank() == 0 ? "send" : "recv");
    EXPECT_EQ(records[1].seq, 2);
    EXPECT_EQ(records[1].peer, 1 - world.rank());
    EXPECT_EQ(records[2].name, "barrier");
    EXPECT_EQ(records[2].seq, 1);
  });
}

TEST(CommunicatorGroups,
     EveryOperationHasAnAsynchronousFormInOneOrderWithBlockingOnes) {
  OnCommunicators(2, [](Communicator& world) {
    const auto me = static_cast<int64_t>(world.rank());
    std::vector<int64_t> sum = {me};
    std::vector<int64_t> gathered(2);
    std::vector<int64_t> swapped(2);
    std::vector<int64_t> input = {10 * me, 10 * me + 1};
    int64_t block = 0;
    std::vector<Work> works;
    works.push_back(world.AllReduceSumAsync({sum.data(), 1, DType::kInt64}));
    works.push_back(world.AllGatherAsync({&me, 1, DType::kInt64},
                                         {gathered.data(), 2, DType::kInt64}));
    works.push_back(world.AllToAllAsync({input.data(), 2, DType::kInt64},
                                        {swapped.data(), 2, DType::kInt64}));
    works.push_back(world.ReduceScatterSumAsync({input.data(), 2, DType::kInt64},
                                                {&block, 1, DType::kInt64}));
    int64_t root = me + 7;
    ASSERT_TRUE(world.Broadcast(Buffer{&root, 1, DType::kInt64}, 1).has_value());
    for (Work& work : works) {
      EXPECT_TRUE(work.Done());  // the blocking call stood behind them
      ASSERT_TRUE(work.Wait().has_value());
    }
    EXPECT_EQ(sum[0], 1);
    EXPECT_EQ(gathered, (std::vector<int64_t>{0, 1}));
    EXPECT_EQ(swapped, (std::vector<int64_t>{me, 10 + me}));
    EXPECT_EQ(block, 10 + 2 * me);
    EXPECT_EQ(root, 8);
    const auto records = world.Records();
    ASSERT_EQ(records.size(), 5U);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(records[i].seq, static_cast<int64_t>(i) + 1);
    }
  });
}

TEST(CommunicatorGroups, SharedMemoryThatIsTooLargeIsANamedError) {
  OnCommunicators(2, [](Communicator& world) {
    EXPECT_EQ(world.AllocateShared(100).value().size(), 100U);
    const auto refused = world.AllocateShared(size_t{1} << 46U);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().id, "COMM-0011");
    EXPECT_TRUE(world.Barrier().has_value());
  });
}

TEST(CommunicatorGroups, GlooRanksCompareTheirCallsThroughTheBoard) {
  const std::string store = FreshShmStore();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto board = ProgressBoard::Open(store + ".board", rank, 2);
      ASSERT_TRUE(board.has_value());
      auto gloo = ConnectGloo({rank, 2, store, "lo", 3});
      ASSERT_TRUE(gloo.has_value()) << gloo.error().what;
      Communicator world(std::move(*gloo), 3, std::move(*board));
      ASSERT_TRUE(world.Barrier().has_value());
      std::vector<float> data(rank == 0 ? 6 : 5, 1.0F);
      const auto status = world.AllReduceSum(std::span(data));
      ASSERT_FALSE(status.has_value());
      EXPECT_EQ(status.error().id, "COMM-0010") << status.error().what;
      EXPECT_NE(status.error().what.find(
                    "rank 1 called all_reduce (20 bytes, Float) where rank 0 called "
                    "all_reduce (24 bytes, Float)"),
                std::string::npos)
          << status.error().what;
      const auto records = world.Records();
      EXPECT_TRUE(records.back().failed);
    });
  }
  threads.clear();
  std::remove(store.c_str());
  std::remove((store + ".board").c_str());
}

}  // namespace
}  // namespace stepslack::comm
