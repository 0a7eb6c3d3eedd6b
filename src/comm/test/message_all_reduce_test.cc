// Our all-reduce over Gloo's messages: ranks are threads.
#include "message_all_reduce.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "every_operation.h"
#include "stepslack/base/random.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {
namespace {

using Body = std::function<void(Transport&)>;

GlooOptions Options(int rank, int ranks, const std::string& store) {
  GlooOptions options;
  options.rank = rank;
  options.world_size = ranks;
  options.store_path = store;
  options.timeout_seconds = 20;
  return options;
}

void OnGlooRanks(int ranks, const std::string& algorithm, const Body& body,
                 double timeout_seconds = 20) {
  static std::atomic<int> counter{0};
  const std::string store = testing::TempDir() + "message_store_" +
                            std::to_string(::getpid()) + "_" +
                            std::to_string(counter++);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        GlooOptions options = Options(rank, ranks, store);
        options.timeout_seconds = timeout_seconds;
        options.all_reduce = rank == 0 ? algorithm : "ring";  // rank 0's counts
        auto transport = ConnectGloo(options);
        ASSERT_TRUE(transport.has_value()) << transport.error().what;
        body(**transport);
      });
    }
  }
  std::remove(store.c_str());
}

const std::vector<std::string> kAlgorithms = {"ring", "halving_doubling", "doubling",
                                              "tree"};

// Small whole numbers, of which every type holds every sum; sizes around chunks and
// blocks, and fewer elements than ranks.
void SumEverything(Transport& transport, const std::string& algorithm) {
  const int ranks = transport.world_size();
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kBFloat16}) {
    for (const size_t count : {1U, 3U, 1000U, 70'001U}) {
      Elements mine(count, dtype);
      for (size_t i = 0; i < count; ++i) {
        WriteValue(mine.bytes.data() + i * SizeOf(dtype), dtype,
                   ValueOf(transport.rank(), i));
      }
      const auto status = transport.AllReduceSum({mine.bytes.data(), count, dtype});
      ASSERT_TRUE(status.has_value()) << status.error().what;
      EXPECT_EQ(transport.algorithm(), algorithm);
      for (size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (int rank = 0; rank < ranks; ++rank) sum += ValueOf(rank, i);
        ASSERT_EQ(ReadValue(mine.bytes.data() + i * SizeOf(dtype), dtype), sum)
            << algorithm << " " << ranks << " ranks, element " << i << " of " << count;
      }
    }
  }
}

TEST(MessageAllReduce, EqualsTheSumForTwoToEightRanksAllTypesAndOddSizes) {
  for (const std::string& algorithm : kAlgorithms) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
      OnGlooRanks(ranks, algorithm,
                  [&](Transport& transport) { SumEverything(transport, algorithm); });
    }
  }
}

// Values whose sum depends on the order in which they are added.
std::vector<float> Noise(int rank, size_t count) {
  base::Random random(static_cast<uint64_t>(rank) + 1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

// The sum on every rank, done in pieces of so many elements.
std::vector<std::vector<float>> SumsOf(int ranks, const std::string& algorithm,
                                       size_t piece) {
  constexpr size_t kCount = 5003;
  std::vector<std::vector<float>> sums(static_cast<size_t>(ranks));
  OnGlooRanks(ranks, algorithm, [&](Transport& transport) {
    std::vector<float> mine = Noise(transport.rank(), kCount);
    for (size_t at = 0; at < kCount; at += piece) {
      const size_t count = std::min(piece, kCount - at);
      const auto status =
          transport.AllReduceSum({mine.data() + at, count, DType::kFloat32});
      ASSERT_TRUE(status.has_value()) << status.error().what;
    }
    sums[static_cast<size_t>(transport.rank())] = mine;
  });
  return sums;
}

TEST(MessageAllReduce, LeavesTheSameBitsOnEveryRank) {
  for (const std::string& algorithm : kAlgorithms) {
    for (const int ranks : {3, 4, 6}) {
      const auto sums = SumsOf(ranks, algorithm, 5003);
      for (const auto& other : sums) EXPECT_EQ(other, sums[0]) << algorithm << ranks;
    }
  }
}

TEST(MessageAllReduce, PiecesAndTheChoiceOfDoublingChangeNoBit) {
  for (const int ranks : {4, 5}) {
    const auto whole = SumsOf(ranks, "halving_doubling", 5003);
    EXPECT_EQ(SumsOf(ranks, "halving_doubling", 617), whole);
    EXPECT_EQ(SumsOf(ranks, "doubling", 5003), whole);
    EXPECT_EQ(SumsOf(ranks, "0:doubling,4000:halving_doubling", 1200), whole);
  }
}

TEST(MessageAllReduce, ARankThatDoesNotComeIsATimeOutThatNamesIt) {
  OnGlooRanks(
      2, "doubling",
      [](Transport& transport) {
        if (transport.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          return;
        }
        std::vector<float> values(100'000);
        const auto status =
            transport.AllReduceSum({values.data(), values.size(), DType::kFloat32});
        ASSERT_FALSE(status.has_value());
        EXPECT_EQ(status.error().kind, TransportFailure::Kind::kTimeout);
        EXPECT_NE(status.error().what.find("rank 1"), std::string::npos);
      },
      0.5);
}

TEST(MessageAllReduce, CallsOfDifferentSizesNeverMix) {
  std::atomic<int> failed{0};
  OnGlooRanks(
      2, "ring",
      [&](Transport& transport) {
        std::vector<float> values(transport.rank() == 0 ? 1000 : 999, 1.0F);
        const auto status =
            transport.AllReduceSum({values.data(), values.size(), DType::kFloat32});
        if (!status.has_value()) ++failed;
      },
      0.5);
  EXPECT_EQ(failed, 2);
}

TEST(MessageAllReduce, AnUnknownAlgorithmIsRefusedByAllRanks) {
  GlooOptions options = Options(
      0, 1, testing::TempDir() + "message_store_unknown" + std::to_string(::getpid()));
  options.all_reduce = "star";
  const auto transport = ConnectGloo(options);
  ASSERT_FALSE(transport.has_value());
  EXPECT_EQ(transport.error().what, "no such all-reduce algorithm");
}

}  // namespace
}  // namespace stepslack::comm
