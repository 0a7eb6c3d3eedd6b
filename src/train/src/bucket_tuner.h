// Chooses a bucket size by trying some in turn during the first steps of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::train {

// The candidates take turns step by step, so that a machine that slows down meanwhile
// wrongs none of them. A candidate costs the shortest wait of its turns, the first one
// (cold) left out, of the rank that waits longest.
class BucketTuner {
 public:
  static constexpr int kRounds = 4;

  // No candidates: nothing to tune.
  explicit BucketTuner(std::vector<int64_t> candidates);

  bool active() const { return turn_ < candidates_.size() * kRounds; }
  int64_t candidate() const { return candidates_[turn_ % candidates_.size()]; }
  // What this rank waited with the candidate; true when every turn is over.
  bool Record(int64_t wait_ns);
  void Stop() { candidates_.clear(); }

  // The best candidate and what each costs ("1048576: 2.10, ..."), the same on every
  // rank: a collective call.
  struct Choice {
    int64_t bytes = 0;
    std::string waits_ms;
  };
  base::Result<Choice> Agree(comm::Communicator& communicator) const;

 private:
  std::vector<int64_t> candidates_;
  std::vector<int64_t> shortest_ns_;
  size_t turn_ = 0;
};

}  // namespace stepslack::train
