// Buffers that live in shared memory: one memory file an allocation, one stripe of it a
// rank, mapped as a whole by every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shm_segment.h"

namespace stepslack::comm {

class ShmMemory {
 public:
  explicit ShmMemory(const ShmSegment& segment) : segment_(segment) {}

  // Where `bytes` at `data` lie in this rank's stripe of an allocation, else kOutside.
  uint64_t Locate(const void* data, size_t bytes) const;
  // The address of `location` of `rank` in this process.
  std::byte* At(int rank, uint64_t location) const;

  // First half of a collective allocation, rank 0 only: makes the file for all stripes
  // and returns its descriptor; negative: errno of the refusal.
  int64_t Make(size_t bytes, bool want_huge);
  // Second half, every rank: takes the space of its own stripe (errno or 0), ...
  int Reserve(int64_t descriptor, size_t bytes, bool huge);
  // ... and maps all of them when every rank has; the new stripe of this rank, empty
  // with errno set when the address space cannot be had.
  std::span<std::byte> Map(size_t bytes);
  void Close();     // the file is no longer needed
  void DropLast();  // undoes Map: another rank could not

  // Whether the last file has huge pages (rank 0 only).
  bool huge() const { return huge_; }
  static std::string PageNote(bool huge);

 private:
  struct Allocation {
    Mapping mapping;
    size_t stripe;
  };
  size_t Stripe(size_t bytes) const;

  const ShmSegment& segment_;
  std::vector<Allocation> allocations_;
  int file_ = -1;
  bool huge_ = false;
};

}  // namespace stepslack::comm
