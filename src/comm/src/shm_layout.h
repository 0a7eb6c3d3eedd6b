// What lies where in the memory that the ranks of one host share. Only atomics and
// plain values: it is mapped at different addresses and outlives any one process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "stepslack/comm/call_shape.h"

namespace stepslack::comm {

// A counter that one rank raises and others wait for; compared modulo 2^32.
struct Word {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;  // those in the kernel, who need a wake-up call
};

// One cache line: the call and the word that announces it travel together.
struct alignas(64) Post {
  Word arrived;  // sequence number of the collective
  CallShape shape;
  uint64_t location;  // where the data lie in shared memory, or kOutside
};
static_assert(sizeof(Post) == 64 && std::is_trivially_copyable_v<CallShape>);

constexpr uint64_t kOutside = ~uint64_t{0};      // in a copy window
constexpr uint64_t kNothing = ~uint64_t{0} - 1;  // this rank only looks

// A rank is at most one collective ahead of another, so two posts by parity suffice.
struct alignas(128) RankSlot {
  std::array<Post, 2> posts;
  alignas(64) Word step;  // every further meeting point inside collectives
  alignas(64) std::atomic<int64_t> pid;
  std::atomic<uint32_t> left;                   // went in good order
  std::array<std::atomic<int32_t>, 2> results;  // errno of both halves of an allocation
  std::array<uint64_t, 16> cores;               // those that it may run on
};

// One direction between two ranks; byte counters modulo 2^32.
struct Channel {
  alignas(64) Word written;
  alignas(64) Word taken;
};

struct alignas(128) SegmentHeader {
  std::atomic<uint64_t> magic;  // last to be written by rank 0
  uint64_t nonce;
  uint64_t job;
  uint32_t ranks;
  uint64_t window_bytes;          // of one of the two copy windows of a rank
  uint64_t ring_bytes;            // of one channel
  std::atomic<uint32_t> ready;    // 1: all are here, 2: rank 0 gave up waiting
  std::atomic<uint32_t> crowded;  // fewer cores than ranks
  std::atomic<uint32_t> broken;   // 0, 1: being written, 2: the next two are valid
  std::atomic<uint32_t> broken_kind;
  std::array<char, 480> broken_what;
};

}  // namespace stepslack::comm
