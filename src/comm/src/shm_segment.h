// The shared segment of one group: how ranks find it, where its parts lie, and how a
// rank waits for another with a time-out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "shm_layout.h"
#include "stepslack/comm/shm_transport.h"
#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// A mapping, unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  // Read-write and shared; empty with errno set when it cannot be had.
  static Mapping Of(int file, size_t bytes, bool populate);
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

class ShmSegment {
 public:
  // Rank 0 makes the segment, the others look for it; returns when all have come.
  static tl::expected<std::unique_ptr<ShmSegment>, TransportFailure> Join(
      const ShmOptions& options);
  ~ShmSegment();
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  size_t window_bytes() const { return header_->window_bytes; }
  size_t ring_bytes() const { return header_->ring_bytes; }
  bool oversubscribed() const { return oversubscribed_; }
  RankSlot& slot(int rank) const { return slots_[rank]; }
  RankSlot& mine() const { return slots_[rank_]; }
  std::byte* window(int rank, size_t parity) const;
  Channel& channel(int from, int to) const;
  std::byte* ring(int from, int to) const;

  // Sets `word` and wakes those who sleep on it.
  static void Raise(Word& word, uint32_t value);
  // Returns when `word` of `peer` has reached `target`. Fails when that takes longer
  // than the time-out, the peer's process has ended or left, or the group is broken.
  TransportStatus Await(Word& word, uint32_t target, int peer) const;

  // Marks the group as unusable, wakes nobody but is seen by all within a moment, and
  // returns the failure (the first one, when another rank was quicker).
  tl::unexpected<TransportFailure> Break(TransportFailure failure) const;
  // Success unless a rank has called Break.
  TransportStatus CheckWhole() const;

 private:
  ShmSegment() = default;
  TransportStatus Lead(const ShmOptions& options);
  TransportStatus Follow(const ShmOptions& options);
  TransportStatus TryFollow(const ShmOptions& options, const std::string& text,
                            int64_t deadline_ns, bool* joined);
  TransportStatus AwaitAll(int64_t deadline_ns);
  bool Bind(Mapping mapping);
  void SignIn();
  bool FewerCoresThanRanks() const;
  TransportStatus AwaitSlowly(Word& word, uint32_t target, int peer) const;
  std::string StoppedRanks() const;
  TransportStatus CheckPeer(Word& word, uint32_t target, int peer) const;

  Mapping mapping_;
  SegmentHeader* header_ = nullptr;
  RankSlot* slots_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
  double timeout_seconds_ = 60;
  bool oversubscribed_ = false;
};

// An anonymous memory file; -1 with errno set when it cannot be made. `huge` asks for
// reserved 2 MB pages.
int MakeMemoryFile(size_t bytes, bool huge);
// Opens descriptor `file` of process `pid`; -1 with errno set.
int OpenMemoryFileOf(int64_t pid, int file);
// Bytes that may be taken without pressing other processes out of memory.
uint64_t AvailableMemory();

}  // namespace stepslack::comm
