// Ranks as threads: the logic of order, recording and errors needs no second process.
#include "stepslack/comm/communicator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "stepslack/base/context.h"
#include "stepslack/comm/connect.h"

namespace stepslack::comm {
namespace {

std::string FreshStore() {
  static std::atomic<int> counter{0};
  return testing::TempDir() + "comm_store_" + std::to_string(::getpid()) + "_" +
         std::to_string(counter++);
}

// Runs body(communicator) on `ranks` threads, each its own Gloo group member.
void OnRanks(int ranks, double timeout_seconds,
             const std::function<void(Communicator&)>& body) {
  const std::string store = FreshStore();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ConnectOptions options;
      options.backend = "gloo";
      options.timeout_seconds = timeout_seconds;
      auto communicator = Connect({rank, ranks, store, "lo"}, options);
      ASSERT_TRUE(communicator.has_value()) << Describe(communicator.error());
      body(**communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::remove(store.c_str());
  std::remove((store + ".board").c_str());
}

TEST(Communicator, SumsFloatsAndDoublesOverRanks) {
  OnRanks(3, 20, [](Communicator& communicator) {
    const auto rank = static_cast<float>(communicator.rank());
    std::vector<float> floats = {1.0F, rank, 10.0F * rank};
    ASSERT_TRUE(communicator.AllReduceSum(std::span(floats)).has_value());
    EXPECT_EQ(floats, (std::vector<float>{3.0F, 3.0F, 30.0F}));
    // 2^53 + 1 needs all bits of a double: a float sum would lose it.
    std::vector<double> doubles = {communicator.rank() == 0 ? 9007199254740992.0 : 0.5};
    ASSERT_TRUE(communicator.AllReduceSum(std::span(doubles)).has_value());
    EXPECT_NEAR(doubles[0], 9007199254740993.0, 1.0);
    EXPECT_EQ(communicator.transport_name(), "gloo");
  });
}

TEST(Communicator, RunsManyAsynchronousCollectivesInTheOrderOfTheCalls) {
  OnRanks(2, 20, [](Communicator& communicator) {
    std::vector<std::vector<float>> buckets(20);
    std::vector<Work> works;
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].assign(100 + i, static_cast<float>(i));
      works.push_back(communicator.AllReduceSumAsync(std::span(buckets[i])));
    }
    for (Work& work : works) ASSERT_TRUE(work.Wait().has_value());
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_EQ(buckets[i].front(), 2.0F * static_cast<float>(i));
      EXPECT_EQ(buckets[i].back(), 2.0F * static_cast<float>(i));
    }
    const auto records = communicator.Records();
    ASSERT_EQ(records.size(), buckets.size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].seq, static_cast<int64_t>(i) + 1);
      EXPECT_EQ(records[i].name, "all_reduce");
      EXPECT_EQ(records[i].bytes, static_cast<int64_t>(4 * (100 + i)));
      EXPECT_LE(records[i].queued_ns, records[i].start_ns);
      EXPECT_LE(records[i].start_ns, records[i].end_ns);
      if (i > 0) {
        EXPECT_LE(records[i - 1].end_ns, records[i].start_ns);
      }
    }
    EXPECT_EQ(communicator.record_count(), 20);
    const auto last = communicator.Records(18);
    ASSERT_EQ(last.size(), 2U);
    EXPECT_EQ(last.front().seq, 19);
    EXPECT_TRUE(communicator.Records(20).empty());
    EXPECT_TRUE(communicator.Pending().empty());
  });
}

TEST(Communicator, GathersTextsOfDifferentLengthInRankOrder) {
  OnRanks(3, 20, [](Communicator& communicator) {
    const std::string mine(static_cast<size_t>(communicator.rank()) * 2, 'x');
    const auto all = communicator.AllGather(mine);
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(*all, (std::vector<std::string>{"", "xx", "xxxx"}));
    const auto none = communicator.AllGather("");
    ASSERT_TRUE(none.has_value());
    EXPECT_EQ(*none, std::vector<std::string>(3));
  });
}

TEST(Communicator, BroadcastCopiesTheRootAndBarrierReturns) {
  OnRanks(2, 20, [](Communicator& communicator) {
    std::vector<int32_t> data = {communicator.rank(), 7 * communicator.rank()};
    ASSERT_TRUE(
        communicator.Broadcast(std::as_writable_bytes(std::span(data)), 1).has_value());
    EXPECT_EQ(data, (std::vector<int32_t>{1, 7}));
    EXPECT_TRUE(communicator.Barrier().has_value());
  });
}

TEST(Communicator, OneRankNeedsNoEngine) {
  auto communicator = Connect({}, 1);
  ASSERT_TRUE(communicator.has_value());
  std::vector<float> data = {5.0F};
  EXPECT_TRUE((*communicator)->AllReduceSum(std::span(data)).has_value());
  EXPECT_EQ(data[0], 5.0F);
  EXPECT_EQ((*communicator)->AllGather("abc").value(), std::vector<std::string>{"abc"});
  EXPECT_EQ((*communicator)->transport_name(), "self");
}

TEST(Communicator, NamesTheRankThatDoesNotComeWithinTheTimeOut) {
  OnRanks(2, 1.0, [](Communicator& communicator) {
    ASSERT_TRUE(communicator.Barrier().has_value());
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      return;
    }
    std::vector<float> data(8);
    const int64_t start = base::NowNs();
    const auto status = communicator.AllReduceSum(std::span(data));
    EXPECT_LT(base::NowNs() - start, int64_t{8'000'000'000});
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().id, "COMM-0003") << status.error().what;
    EXPECT_EQ(status.error().where, "rank 0");
    const std::string& what = status.error().what;
    EXPECT_NE(what.find("all_reduce seq 2 (32 bytes)"), std::string::npos) << what;
    EXPECT_NE(what.find("rank 1 has not come, its last one is seq 1"),
              std::string::npos)
        << what;
    // The group is broken: later calls say so at once.
    const auto again = communicator.Barrier();
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().what, what);
  });
}

TEST(Communicator, RendezvousNamesTheRankThatWasNeverStarted) {
  const std::string store = FreshStore();
  const auto communicator = Connect({0, 2, store, "lo"}, 1.0);
  ASSERT_FALSE(communicator.has_value());
  EXPECT_EQ(communicator.error().id, "COMM-0004");
  EXPECT_EQ(communicator.error().exit_code, base::ExitCode::kEnvironment);
  EXPECT_NE(communicator.error().what.find("rank 1 was never started"),
            std::string::npos)
      << communicator.error().what;
}

TEST(Communicator, UnusableStoreFolderIsAnError) {
  const auto communicator = Connect({0, 2, "/proc/no/such/store", "lo"}, 1.0);
  ASSERT_FALSE(communicator.has_value());
  EXPECT_EQ(communicator.error().id, "COMM-0006");
}

}  // namespace
}  // namespace stepslack::comm
