// The update of a step in parts, each when the next forward pass needs its parameters:
// what is still on its way then hides behind that pass (the idea of ByteScheduler, Peng
// et al., SOSP 2019, without its negotiation of order). Every parameter gets the same
// gradient and the same arithmetic as in a whole update, so no bit differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimizer.h"
#include "reducer.h"
#include "stepslack/base/result.h"
#include "stepslack/model/network.h"

namespace stepslack::train {

class DeferredUpdate {
 public:
  // All must outlive this.
  DeferredUpdate(Reducer& reducer, Optimizer& optimizer, model::Network& network)
      : reducer_(reducer), optimizer_(optimizer), network_(network) {}

  // After Reducer::FinishScalars.
  void Start(double learning_rate);
  bool pending() const { return left_ > 0; }
  // Waits for the buckets of a block and updates its parameters; nothing to do when
  // they are up to date.
  base::Status NeedBlock(size_t block);
  // All that is left. The reducer has its norm when nothing is pending any more.
  base::Status NeedAll();

  struct Cost {
    int64_t wait_ns = 0;
    int64_t update_ns = 0;
  };
  Cost TakeCost();  // since the last call

 private:
  base::Status NeedBucket(size_t bucket);

  Reducer& reducer_;
  Optimizer& optimizer_;
  model::Network& network_;
  double learning_rate_ = 0;
  std::vector<bool> updated_;  // by bucket
  size_t left_ = 0;            // buckets
  Cost cost_;
};

}  // namespace stepslack::train
