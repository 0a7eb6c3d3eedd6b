// Gradient exchange for data parallelism: buckets are ranges of the flat gradient
// buffer, summed over ranks while the backward pass still computes earlier layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/parameter_layout.h"

namespace stepslack::train {

struct Bucket {
  int64_t begin = 0;  // floats, into the gradient buffer
  int64_t end = 0;
  std::vector<size_t> parameters;
};

// Buckets from the end of the buffer to its begin, which is the order in which
// gradients become ready. The first holds the `tail` floats behind the last parameter
// and is kept small so that the exchange starts early; a parameter is never cut. The
// layout follows from its arguments only: it is part of what makes a run reproducible.
std::vector<Bucket> PlanBuckets(std::span<const model::ParameterInfo> parameters,
                                int64_t buffer_floats, int64_t first_bucket_bytes,
                                int64_t bucket_bytes);

struct ReducerOptions {
  int64_t first_bucket_bytes = 64 << 10;
  int64_t bucket_bytes = 1 << 20;
  bool overlap = true;   // launch buckets as they become ready, else all in Finish
  bool exchange = true;  // false: no communication at all
};

class Reducer {
 public:
  // `communicator` and `gradients` must outlive the reducer.
  Reducer(const ReducerOptions& options,
          std::span<const model::ParameterInfo> parameters, std::span<float> gradients,
          comm::Communicator& communicator);

  // Before each backward pass.
  void Begin();
  // While true, backward passes only add to the gradient: nothing is launched. Set to
  // false by Begin, and to be set to false before Finish.
  void set_accumulating(bool accumulating) { accumulating_ = accumulating; }
  // The gradient of a parameter is complete. Buckets are launched in bucket order, so
  // every rank launches the same sequence whatever the order of these calls.
  void Ready(size_t parameter);
  // Launches what was not ready (a rank without samples), waits for all of it.
  base::Status Finish();

  int64_t bytes_per_step() const;  // exchanged by this rank
  size_t bucket_count() const { return buckets_.size(); }

 private:
  bool exchanging() const;
  void LaunchUpTo(size_t count);
  ReducerOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<size_t> pending_;    // by bucket: parameters that are not ready
  std::span<float> gradients_;
  comm::Communicator& communicator_;
  std::vector<comm::Work> launched_;
  bool accumulating_ = false;
};

}  // namespace stepslack::train
