// Every collective against a naive one, for sizes around the borders of cache lines,
// blocks and copy windows.
#include "stepslack/comm/shm_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "shm_test_ranks.h"

namespace stepslack::comm {
namespace {

constexpr size_t kWindow = 8192;  // small, so that a few KB already need many pieces

ShmOptions SmallWindows() {
  ShmOptions options;
  options.staging_bytes = kWindow;
  options.timeout_seconds = 30;
  return options;
}

// Element i of rank r: exact in every dtype, and so are the sums of 8 ranks.
double ValueOf(size_t i, int rank) {
  return static_cast<double>((i * 7 + static_cast<size_t>(rank) * 3) % 16) - 8.0;
}

uint16_t BFloat16Of(float value) {  // exact values only
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16U);
}

void Put(void* data, size_t i, DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case DType::kFloat64:
      static_cast<double*>(data)[i] = value;
      return;
    case DType::kInt64:
      static_cast<int64_t*>(data)[i] = static_cast<int64_t>(value);
      return;
    case DType::kBFloat16:
      static_cast<uint16_t*>(data)[i] = BFloat16Of(static_cast<float>(value));
      return;
    case DType::kByte:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value + 8.0);
  }
}

std::vector<std::byte> Filled(size_t count, DType dtype,
                              const std::function<double(size_t)>& value) {
  std::vector<std::byte> data(count * SizeOf(dtype));
  for (size_t i = 0; i < count; ++i) Put(data.data(), i, dtype, value(i));
  return data;
}

double SumOfRanks(size_t i, int ranks) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum += ValueOf(i, r);
  return sum;
}

struct Memory {
  std::vector<std::byte> own;
  std::span<std::byte> data;
};

// `inside`: in shared memory, at an odd offset of whole elements.
Memory Place(Transport& transport, const std::vector<std::byte>& from, size_t element,
             bool inside) {
  Memory memory;
  if (inside) {
    memory.data = transport.AllocateShared(from.size() + 8 * element);
    EXPECT_FALSE(memory.data.empty()) << transport.memory_note();
    memory.data = memory.data.subspan(3 * element, from.size());
  } else {
    memory.own.resize(from.size());
    memory.data = memory.own;
  }
  if (!from.empty()) std::memcpy(memory.data.data(), from.data(), from.size());
  return memory;
}

constexpr DType kSummable[] = {DType::kFloat32, DType::kFloat64, DType::kBFloat16,
                               DType::kInt64};

void CheckAllReduce(Transport& transport, size_t count, DType dtype, bool inside) {
  const int rank = transport.rank();
  const int ranks = transport.world_size();
  Memory memory =
      Place(transport, Filled(count, dtype, [&](size_t i) { return ValueOf(i, rank); }),
            SizeOf(dtype), inside);
  ASSERT_TRUE(transport.AllReduceSum({memory.data.data(), count, dtype}).has_value());
  const auto expected =
      Filled(count, dtype, [&](size_t i) { return SumOfRanks(i, ranks); });
  EXPECT_TRUE(std::ranges::equal(memory.data, expected))
      << count << " of " << NameOf(dtype) << ", " << ranks << " ranks, " << inside;
}

TEST(ShmTransport, AllReduceIsTheSumForEverySizeTypeGroupAndPlace) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    OnShmRanks(ranks, SmallWindows(), [&](Transport& transport) {
      std::mt19937 random(17);  // the same sizes on all ranks
      for (const DType dtype : kSummable) {
        const size_t window = kWindow / SizeOf(dtype);
        const size_t sizes[] = {
            0, 1, 7, 33, window - 1, window, 3 * window + 5, random() % 20000};
        for (const size_t count : sizes) {
          CheckAllReduce(transport, count, dtype, false);
          CheckAllReduce(transport, count, dtype, true);
        }
      }
    });
  }
}

TEST(ShmTransport, RanksMayMixSharedAndOwnMemory) {
  for (const int ranks : {2, 4}) {
    OnShmRanks(ranks, SmallWindows(), [](Transport& transport) {
      std::span<std::byte> shared = transport.AllocateShared(40000);
      ASSERT_EQ(shared.size(), 40000U);
      std::vector<float> own(10000);
      auto* inside = reinterpret_cast<float*>(shared.data());
      float* data = transport.rank() == 0 ? inside : own.data();
      for (int round = 0; round < 3; ++round) {
        std::fill(data, data + 10000, static_cast<float>(transport.rank() + 1));
        ASSERT_TRUE(transport.AllReduceSum({data, 10000, DType::kFloat32}).has_value());
        const int n = transport.world_size();
        EXPECT_EQ(std::count(data, data + 10000, static_cast<float>(n * (n + 1) / 2)),
                  10000);
      }
    });
  }
}

// Values whose float sum depends on the order of addition.
std::vector<float> Rough(size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank));
  std::vector<float> data(count);
  for (float& value : data) {
    value = std::ldexp(static_cast<float>(random() % 1000) - 500.0F,
                       static_cast<int>(random() % 40) - 20);
  }
  return data;
}

TEST(ShmTransport, BitsDependNeitherOnBucketsNorOnMemoryNorOnArrival) {
  constexpr size_t kCount = 10007;
  for (const int ranks : {3, 4, 5}) {
    std::vector<float> expected(kCount);
    for (int r = 0; r < ranks; ++r) {
      const std::vector<float> part = Rough(kCount, r);
      for (size_t i = 0; i < kCount; ++i) {
        expected[i] = r == 0 ? part[i] : expected[i] + part[i];
      }
    }
    OnShmRanks(ranks, SmallWindows(), [&](Transport& transport) {
      std::mt19937 mine(static_cast<unsigned>(transport.rank()) + 99);
      for (const size_t bucket : {size_t{1000}, size_t{2711}, kCount}) {
        for (const bool inside : {false, true}) {
          const std::vector<float> data = Rough(kCount, transport.rank());
          const auto bytes = std::as_bytes(std::span(data));
          Memory memory =
              Place(transport, {bytes.begin(), bytes.end()}, sizeof(float), inside);
          for (size_t first = 0; first < kCount; first += bucket) {
            std::this_thread::sleep_for(std::chrono::microseconds(mine() % 300));
            const size_t length = std::min(bucket, kCount - first);
            ASSERT_TRUE(transport
                            .AllReduceSum({memory.data.data() + 4 * first, length,
                                           DType::kFloat32})
                            .has_value());
          }
          EXPECT_EQ(std::memcmp(memory.data.data(), expected.data(), 4 * kCount), 0)
              << ranks << " ranks, buckets of " << bucket << ", " << inside;
        }
      }
    });
  }
}

TEST(ShmTransport, BFloat16IsSummedInFloatAndRoundedOnceToNearestEven) {
  // 256 + 1 + 1: bfloat16 has 8 bits, so rounding after each addition would give 256
  // (257 lies half-way and 256 is even); rounded once it is 258.
  OnShmRanks(3, SmallWindows(), [](Transport& transport) {
    uint16_t value[2] = {BFloat16Of(transport.rank() == 0 ? 256.0F : 1.0F), 0};
    value[1] = transport.rank() == 0 ? 0x7fc0 : 0x3f80;  // not a number, 1
    ASSERT_TRUE(transport.AllReduceSum({value, 2, DType::kBFloat16}).has_value());
    EXPECT_EQ(value[0], BFloat16Of(258.0F));
    EXPECT_EQ(value[1] & 0x7fc0, 0x7fc0);
  });
}

void CheckBlocks(Transport& transport, size_t count, DType dtype, bool inside) {
  const int rank = transport.rank();
  const auto ranks = static_cast<size_t>(transport.world_size());
  const size_t element = SizeOf(dtype);
  const auto me = static_cast<size_t>(rank);
  Memory input =
      Place(transport,
            Filled(count * ranks, dtype, [&](size_t i) { return ValueOf(i, rank); }),
            element, inside);
  std::vector<std::byte> output(count * ranks * element);
  const ConstBuffer given{input.data.data(), count * ranks, dtype};

  ASSERT_TRUE(transport.AllToAll(given, {output.data(), count * ranks, dtype}));
  EXPECT_EQ(output, Filled(count * ranks, dtype, [&](size_t i) {
              return ValueOf(me * count + i % count, static_cast<int>(i / count));
            }));

  ASSERT_TRUE(transport.AllGather({input.data.data(), count, dtype},
                                  {output.data(), count * ranks, dtype}));
  EXPECT_EQ(output, Filled(count * ranks, dtype, [&](size_t i) {
              return ValueOf(i % count, static_cast<int>(i / count));
            }));

  if (dtype != DType::kByte) {
    output.resize(count * element);
    ASSERT_TRUE(transport.ReduceScatterSum(given, {output.data(), count, dtype}));
    EXPECT_EQ(output, Filled(count, dtype, [&](size_t i) {
                return SumOfRanks(me * count + i, transport.world_size());
              }));
  }
  const int root = transport.world_size() - 1;
  ASSERT_TRUE(
      transport.Broadcast({input.data.data(), count * ranks, dtype}, root).has_value());
  EXPECT_TRUE(std::ranges::equal(
      input.data,
      Filled(count * ranks, dtype, [&](size_t i) { return ValueOf(i, root); })));
}

TEST(ShmTransport, OtherCollectivesEqualTheNaiveOnes) {
  for (const int ranks : {1, 2, 3, 5}) {
    OnShmRanks(ranks, SmallWindows(), [&](Transport& transport) {
      for (const DType dtype :
           {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kByte}) {
        for (const size_t count : {size_t{0}, size_t{1}, size_t{31}, size_t{5003}}) {
          CheckBlocks(transport, count, dtype, false);
          CheckBlocks(transport, count, dtype, true);
        }
      }
      ASSERT_TRUE(transport.Barrier().has_value());
    });
  }
}

TEST(ShmTransport, AllToAllAndReduceScatterWorkInPlace) {
  OnShmRanks(3, SmallWindows(), [](Transport& transport) {
    constexpr size_t kCount = 4000;
    for (const bool inside : {false, true}) {
      Memory data =
          Place(transport,
                Filled(3 * kCount, DType::kFloat32,
                       [&](size_t i) { return ValueOf(i, transport.rank()); }),
                4, inside);
      ASSERT_TRUE(transport.AllToAll({data.data.data(), 3 * kCount, DType::kFloat32},
                                     {data.data.data(), 3 * kCount, DType::kFloat32}));
      const auto me = static_cast<size_t>(transport.rank());
      EXPECT_TRUE(std::ranges::equal(
          data.data, Filled(3 * kCount, DType::kFloat32, [&](size_t i) {
            return ValueOf(me * kCount + i % kCount, static_cast<int>(i / kCount));
          })));
    }
  });
}

TEST(ShmTransport, MessagesLongerThanTheRingArriveWhole) {
  OnShmRanks(3, SmallWindows(), [](Transport& transport) {
    const int next = (transport.rank() + 1) % 3;
    const int before = (transport.rank() + 2) % 3;
    for (const size_t count : {size_t{0}, size_t{5}, size_t{700'001}}) {
      std::vector<int64_t> mine(count, transport.rank());
      std::vector<int64_t> got(count, -1);
      // Rank 0 sends first; a ring of blocked senders would never end.
      if (transport.rank() == 0) {
        ASSERT_TRUE(transport.Send({mine.data(), count, DType::kInt64}, next));
        ASSERT_TRUE(transport.Receive({got.data(), count, DType::kInt64}, before));
      } else {
        ASSERT_TRUE(transport.Receive({got.data(), count, DType::kInt64}, before));
        ASSERT_TRUE(transport.Send({mine.data(), count, DType::kInt64}, next));
      }
      EXPECT_EQ(got, std::vector<int64_t>(count, before));
    }
  });
}

TEST(ShmTransport, SharedMemoryIsZeroAlignedAndRefusedByNameWhenTooLarge) {
  OnShmRanks(2, SmallWindows(), [](Transport& transport) {
    const std::span<std::byte> memory = transport.AllocateShared(5'000'001);
    ASSERT_EQ(memory.size(), 5'000'001U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0U);
    EXPECT_TRUE(
        std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{}; }));
    EXPECT_NE(transport.memory_note().find("shared memory file with"),
              std::string::npos);
    EXPECT_TRUE(transport.AllocateShared(size_t{1} << 46U).empty());
    EXPECT_EQ(transport.memory_note(),
              "rank 0 has no 70368744177664 bytes of shared memory: No space left on "
              "device");
    EXPECT_TRUE(transport.Barrier().has_value());  // the group lives on
  });
}

void ExpectDesync(const std::function<TransportStatus(Transport&)>& call,
                  const std::string& what) {
  OnShmRanks(3, SmallWindows(), [&](Transport& transport) {
    ASSERT_TRUE(transport.Barrier().has_value());
    const TransportStatus status = call(transport);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().kind, TransportFailure::Kind::kDesync);
    EXPECT_EQ(status.error().what, what);
    const TransportStatus later = transport.Barrier();
    ASSERT_FALSE(later.has_value());
    EXPECT_EQ(later.error().what, what);
  });
}

TEST(ShmTransport, DifferentCallsAreNamedOnAllRanksBeforeDataMove) {
  ExpectDesync(
      [](Transport& transport) -> TransportStatus {
        std::vector<float> data(2048, 5.0F);
        std::vector<float> all(3072);
        TransportStatus status =
            transport.rank() == 1
                ? transport.AllGather({data.data(), 1024, DType::kFloat32},
                                      {all.data(), 3072, DType::kFloat32})
                : transport.AllReduceSum({data.data(), 2048, DType::kFloat32});
        EXPECT_EQ(std::count(data.begin(), data.end(), 5.0F), 2048);
        EXPECT_EQ(std::count(all.begin(), all.end(), 0.0F), 3072);
        return status;
      },
      "rank 1 called all_gather (4096 bytes, Float) where rank 0 called all_reduce "
      "(8192 bytes, Float)");
  ExpectDesync(
      [](Transport& transport) {
        std::vector<double> data(10);
        const size_t count = transport.rank() == 2 ? 9 : 10;
        return transport.AllReduceSum({data.data(), count, DType::kFloat64});
      },
      "rank 2 called all_reduce (72 bytes, Double) where rank 0 called all_reduce "
      "(80 bytes, Double)");
  ExpectDesync(
      [](Transport& transport) {
        std::vector<double> data(10);
        const DType dtype = transport.rank() == 0 ? DType::kInt64 : DType::kFloat64;
        return transport.AllReduceSum({data.data(), 10, dtype});
      },
      "rank 1 called all_reduce (80 bytes, Double) where rank 0 called all_reduce "
      "(80 bytes, Long)");
  ExpectDesync(
      [](Transport& transport) {
        float value = 0;
        return transport.Broadcast({&value, 1, DType::kFloat32},
                                   transport.rank() == 1 ? 1 : 0);
      },
      "rank 1 called broadcast (4 bytes, Float, root 1) where rank 0 called broadcast "
      "(4 bytes, Float, root 0)");
}

TEST(ShmTransport, AMessageOfAnotherSizeIsRefusedBeforeItIsCopied) {
  OnShmRanks(2, SmallWindows(), [](Transport& transport) {
    std::vector<float> data(8, 3.0F);
    if (transport.rank() == 0) {
      ASSERT_TRUE(transport.Send({data.data(), 8, DType::kFloat32}, 1).has_value());
    } else {
      const auto status = transport.Receive({data.data(), 4, DType::kFloat32}, 0);
      ASSERT_FALSE(status.has_value());
      EXPECT_EQ(status.error().kind, TransportFailure::Kind::kDesync);
      EXPECT_EQ(status.error().what,
                "rank 0 called send (32 bytes, Float) where rank 1 called recv (16 "
                "bytes, Float)");
      EXPECT_EQ(data, std::vector<float>(8, 3.0F));
    }
  });
}

TEST(ShmTransport, ARankThatDoesNotComeOrLeavesIsNamed) {
  ShmOptions options = SmallWindows();
  options.timeout_seconds = 0.3;
  std::atomic<bool> done{false};
  OnShmRanks(3, options, [&](Transport& transport) {
    if (transport.rank() == 2) {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return;
    }
    const auto status = transport.Barrier();
    done = true;
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().kind, TransportFailure::Kind::kTimeout);
    EXPECT_NE(status.error().what.find("waited 300 ms for rank 2"), std::string::npos)
        << status.error().what;
  });
  OnShmRanks(2, SmallWindows(), [](Transport& transport) {
    if (transport.rank() == 1) return;
    const auto status = transport.Barrier();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().kind, TransportFailure::Kind::kPeerLost);
    EXPECT_EQ(status.error().what, "rank 1 has left the group");
  });
}

TEST(ShmTransport, RendezvousNamesTheMissingRankAndImpossibleRanksAreRefused) {
  ShmOptions options = SmallWindows();
  options.store_path = FreshShmStore();
  options.world_size = 2;
  options.timeout_seconds = 0.2;
  auto lonely = ConnectShm(options);
  ASSERT_FALSE(lonely.has_value());
  EXPECT_EQ(lonely.error().what, "rank 1 did not join in time");
  options.rank = 2;
  EXPECT_FALSE(ConnectShm(options).has_value());
  options.rank = 0;
  options.world_size = kMaxShmRanks + 1;
  EXPECT_FALSE(ConnectShm(options).has_value());
}

}  // namespace
}  // namespace stepslack::comm
