// Every operation of a transport against values worked out naively: rank r contributes
// r-dependent small integers, which every type here holds exactly.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

inline double ReadValue(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return *reinterpret_cast<const float*>(at);
    case DType::kFloat64:
      return *reinterpret_cast<const double*>(at);
    case DType::kInt64:
      return static_cast<double>(*reinterpret_cast<const int64_t*>(at));
    case DType::kBFloat16:
      return std::bit_cast<float>(uint32_t{*reinterpret_cast<const uint16_t*>(at)}
                                  << 16);
    case DType::kByte:
      break;
  }
  return static_cast<double>(*at);
}

inline void WriteValue(std::byte* at, DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
      return;
    case DType::kFloat64:
      *reinterpret_cast<double*>(at) = value;
      return;
    case DType::kInt64:
      *reinterpret_cast<int64_t*>(at) = static_cast<int64_t>(value);
      return;
    case DType::kBFloat16:
      *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(
          std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
      return;
    case DType::kByte:
      *at = static_cast<std::byte>(value);
      return;
  }
}

// Element i of what rank r holds: 0 to 15, so that sums over 8 ranks stay below 128.
inline double ValueOf(int rank, size_t i) {
  return static_cast<double>((static_cast<size_t>(rank) * 5 + i * 3) % 16);
}

struct Elements {
  std::vector<std::byte> bytes;
  DType dtype;
  Elements(size_t count, DType type) : bytes(count * SizeOf(type)), dtype(type) {}
  size_t count() const { return bytes.size() / SizeOf(dtype); }
  Buffer buffer() { return {bytes.data(), count(), dtype}; }
  ConstBuffer input() const { return {bytes.data(), count(), dtype}; }
  double operator[](size_t i) const {
    return ReadValue(bytes.data() + i * SizeOf(dtype), dtype);
  }
  void Set(size_t i, double value) {
    WriteValue(bytes.data() + i * SizeOf(dtype), dtype, value);
  }
  static Elements Of(int rank, size_t count, DType type) {
    Elements elements(count, type);
    for (size_t i = 0; i < count; ++i) elements.Set(i, ValueOf(rank, i));
    return elements;
  }
};

// "" when all is right, else what is wrong.
class OperationCheck {
 public:
  explicit OperationCheck(Transport& transport)
      : transport_(transport),
        rank_(transport.rank()),
        ranks_(static_cast<size_t>(transport.world_size())) {}

  std::string Run() {
    CheckSums();
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kByte}) {
      CheckMoves(dtype, 1001);
    }
    Done(transport_.Barrier(), "barrier");
    // Last: after a failure a group need not work any more.
    Elements bytes(4, DType::kByte);
    if (transport_.AllReduceSum(bytes.buffer()).has_value()) Say("bytes were summed");
    return problem_;
  }
  // Only the sums: two levels have no messages between any two ranks.
  std::string RunSums() {
    CheckSums();
    return problem_;
  }

 private:
  void CheckSums() {
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64}) {
      for (const size_t count : {size_t{1}, size_t{3}, size_t{1000}, size_t{70'001}}) {
        CheckAllReduce(dtype, count);
        CheckReduceScatter(dtype, count);
      }
    }
  }
  void Say(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }
  bool Done(const TransportStatus& status, const std::string& what) {
    if (!status.has_value()) Say(what + ": " + status.error().what);
    return status.has_value();
  }
  double Sum(size_t i) const {
    double sum = 0;
    for (size_t r = 0; r < ranks_; ++r) sum += ValueOf(static_cast<int>(r), i);
    return sum;
  }
  void Expect(double found, double wanted, const std::string& what, size_t i) {
    if (found == wanted) return;
    Say(what + " element " + std::to_string(i) + " is " + std::to_string(found) +
        ", not " + std::to_string(wanted));
  }

  void CheckAllReduce(DType dtype, size_t count) {
    const std::string what = "all_reduce " + std::string(NameOf(dtype));
    Elements data = Elements::Of(rank_, count, dtype);
    if (!Done(transport_.AllReduceSum(data.buffer()), what)) return;
    for (size_t i = 0; i < count; ++i) Expect(data[i], Sum(i), what, i);
  }
  void CheckReduceScatter(DType dtype, size_t block) {
    const std::string what = "reduce_scatter " + std::string(NameOf(dtype));
    const Elements input = Elements::Of(rank_, block * ranks_, dtype);
    const Elements before = input;
    Elements output(block, dtype);
    if (!Done(transport_.ReduceScatterSum(input.input(), output.buffer()), what))
      return;
    const size_t first = static_cast<size_t>(rank_) * block;
    for (size_t i = 0; i < block; ++i) Expect(output[i], Sum(first + i), what, i);
    if (input.bytes != before.bytes) Say(what + " changed its input");
  }
  void CheckMoves(DType dtype, size_t count) {
    const Elements mine = Elements::Of(rank_, count, dtype);
    Elements all(count * ranks_, dtype);
    if (!Done(transport_.AllGather(mine.input(), all.buffer()), "all_gather")) return;
    const int root = static_cast<int>(ranks_) - 1;
    Elements copy = mine;
    if (!Done(transport_.Broadcast(copy.buffer(), root), "broadcast")) return;
    // Block b of rank r holds the values of rank 3 r + b.
    Elements out(count * ranks_, dtype);
    for (size_t i = 0; i < out.count(); ++i) {
      out.Set(i, ValueOf(3 * rank_ + static_cast<int>(i / count), i % count));
    }
    Elements in(count * ranks_, dtype);
    if (!Done(transport_.AllToAll(out.input(), in.buffer()), "all_to_all")) return;
    for (size_t i = 0; i < all.count(); ++i) {
      const int from = static_cast<int>(i / count);
      Expect(all[i], ValueOf(from, i % count), "all_gather", i);
      Expect(in[i], ValueOf(3 * from + rank_, i % count), "all_to_all", i);
    }
    for (size_t i = 0; i < count; ++i) {
      Expect(copy[i], ValueOf(root, i), "broadcast", i);
    }
    CheckMessages(dtype, count);
  }
  // Each rank sends to the next one, even ranks first.
  void CheckMessages(DType dtype, size_t count) {
    if (ranks_ < 2) return;
    const int ranks = static_cast<int>(ranks_);
    const Elements mine = Elements::Of(rank_, count, dtype);
    Elements theirs(count, dtype);
    const auto send = [&] {
      Done(transport_.Send(mine.input(), (rank_ + 1) % ranks), "send");
    };
    const auto receive = [&] {
      Done(transport_.Receive(theirs.buffer(), (rank_ + ranks - 1) % ranks), "recv");
    };
    if (rank_ % 2 == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    for (size_t i = 0; i < count; ++i) {
      Expect(theirs[i], ValueOf((rank_ + ranks - 1) % ranks, i), "recv", i);
    }
  }

  Transport& transport_;
  int rank_;
  size_t ranks_;
  std::string problem_;
};

}  // namespace stepslack::comm
