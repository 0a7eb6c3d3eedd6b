// A small shared file in which every rank of one host writes where it is, so that an
// error can name the rank that died or did not come, which the engine's message does
// not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/comm/call_shape.h"

namespace stepslack::comm {

class ProgressBoard {
 public:
  // Creates or opens `path`, sized for `world_size` ranks, and signs in as `rank`.
  // COMM-0006: the file can not be made.
  static base::Result<std::unique_ptr<ProgressBoard>> Open(const std::string& path,
                                                           int rank, int world_size);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // This rank starts collective number `seq`, from 1 and the same on all ranks. The
  // last calls are kept for comparison.
  void Entered(int64_t seq, const CallShape& shape);
  void Finished(int64_t seq);
  // This rank talks to one peer (kSend, kReceive); seq plays no part.
  void Talking(Operation operation, int peer);
  void Quiet();
  void Failed();  // this rank stops because of an error of its own

  // What the other ranks look like from here, as one clause for an error message: ranks
  // whose process has ended first, else ranks that are stopped or have not entered
  // `seq`. Waits up to `patience_ms` for a process that is just ending.
  std::string Suspects(int64_t seq, int patience_ms) const;
  // Whether another rank has entered `seq` with another call: "rank 1 called ... where
  // rank 0 called ...", "" when those who have come agree. Of two ranks that enter at
  // the same time at least one sees the other.
  std::string Mismatch(int64_t seq) const;
  // Ranks that never signed in, "" when all did.
  std::string Missing() const;

 private:
  struct Slot;
  ProgressBoard(Slot* slots, int rank, int world_size);
  std::string Ended() const;
  std::string Late(int64_t seq) const;
  Slot* slots_;  // mapped, world_size entries
  int rank_;
  int world_size_;
};

}  // namespace stepslack::comm
