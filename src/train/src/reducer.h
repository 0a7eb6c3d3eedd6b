// Gradient exchange for data parallelism: buckets of the flat gradient buffer, summed
// over ranks, while the backward pass still computes earlier layers where that pays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bucket_layout.h"
#include "bucket_tuner.h"
#include "compression.h"
#include "state_view.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/parameter_layout.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

enum class ExchangeMode {
  kOverlap,   // buckets are launched from the hooks of the backward pass
  kStep,      // the same, and awaited bucket by bucket in the next forward pass
  kBlocking,  // after it; one collective unless bucket sizes are tuned
  kNone       // no communication: every rank keeps its own gradient
};

// What a rank does wrong at one step, for tests of how the others notice.
enum class ExchangeFault {
  kNone,
  kNanGradient,     // a value of the first bucket is no number
  kSkipCollective,  // the first bucket is not exchanged
  kWrongSize,       // it is exchanged with one element less
  kWrongDtype       // it is exchanged in double
};

struct ReducerOptions {
  BucketLimits buckets;
  ExchangeMode mode = ExchangeMode::kOverlap;
  bool tune_buckets = false;
  CompressionOptions compression;  // top-k and PowerSGD are always blocking
  ExchangeFault fault = ExchangeFault::kNone;
  int64_t fault_step = 0;
  // kStep: the first parameter of each block of the network, and a second group of the
  // same ranks for what the next forward pass needs first, so that it does not queue
  // behind the rest (null: it does). The link is shared; the order within each group
  // stays the same on all ranks.
  std::vector<size_t> block_starts;
  comm::Communicator* express = nullptr;  // not owned
};

// The options of a plan that CheckPlan accepts, on this rank. Overlap is not used with
// ranks that share the cores of one host by memory: the exchange then burns the core
// that it would hide behind, and one blocking exchange costs less.
ReducerOptions ReducerOptionsOf(const record::TrainPlan& plan,
                                const comm::Communicator& communicator);

class Reducer {
 public:
  // `communicator` and `gradients` must outlive the reducer; `gradients` is longer than
  // the parameter buffer (`buffer_floats`) by scalars that are summed as they are.
  Reducer(const ReducerOptions& options,
          std::span<const model::ParameterInfo> parameters, size_t buffer_floats,
          std::span<float> gradients, comm::Communicator& communicator);

  // Before the first backward pass of step `step`, counted from 1.
  void Begin(int64_t step);
  // While true, backward passes only add to the gradient: nothing is launched. Set
  // to false by Begin, and to be set to false before the last pass of a step.
  void set_accumulating(bool accumulating) { accumulating_ = accumulating; }
  // The gradient of a parameter is complete. Buckets are launched in bucket order, so
  // every rank launches the same sequence whatever the order of these calls.
  void Ready(size_t parameter);
  // Launches what was not ready (a rank without samples, a parameter that this rank did
  // not use), waits for all of it. Afterwards the gradient is the sum over ranks.
  base::Status Finish();

  // kStep, instead of Finish: launches the rest and waits for the bucket with the
  // scalars alone (the first).
  base::Status FinishScalars();
  // Waits for one bucket, once; its gradients are then sums over ranks.
  base::Status FinishBucket(size_t bucket);
  // After the last FinishBucket: finds the norm.
  void FinishNorm();
  // Before the gradient buffer goes while buckets may be under way, after an error:
  // waits for what was launched, whatever becomes of it. False: an engine hangs.
  bool Abandon();
  const Bucket& bucket(size_t index) const { return buckets_[index]; }

  // Of the last finished step. The norm is that of the summed gradient, and the sum of
  // its squares runs over parameters in layout order whatever the buckets.
  double gradient_norm() const { return norm_; }
  std::string NotFiniteParameter() const;            // its name, "" when all are finite
  int64_t bytes_per_step() const { return bytes_; }  // handed over by this rank
  size_t bucket_count() const { return buckets_.size(); }
  ExchangeMode mode() const { return options_.mode; }

  // Checkpoints. The error that compression has not sent yet differs between ranks;
  // CollectResidual, a collective call, moves all of it to rank 0, whose state is then
  // complete at any world size. AfterRestore clears it on the other ranks, which have
  // read the file of rank 0.
  std::vector<StateView> state();
  base::Status CollectResidual();
  void AfterRestore();
  // The bucket size that tuning chose, 0 before that; setting it ends tuning. A layout
  // changes the last bits of a sum of three ranks or more, so a resumed run needs it.
  int64_t tuned_bucket_bytes() const { return tuned_bucket_bytes_; }
  void set_tuned_bucket_bytes(int64_t bytes);

  // Facts for the run's summary: exchange, buckets, compression (a change of what is
  // trained) and, with tuning, tuned_bucket_bytes and bucket_waits_ms.
  void Describe(std::map<std::string, std::string>& facts) const;

 private:
  int64_t buffer_bytes() const { return static_cast<int64_t>(gradients_.size_bytes()); }
  std::vector<Bucket> BucketsOf(int64_t bucket_bytes) const;
  std::vector<int64_t> Candidates() const;
  void SetLayout(int64_t bucket_bytes);
  void InjectFault(std::span<float>& data);
  std::span<float> RangeOf(const Bucket& bucket) const;
  void LaunchUpTo(size_t count);
  base::Status Exchange();
  base::Status ExchangeNow(const Bucket& bucket);
  base::Status FinishLaunched();
  bool overlaps() const {
    return options_.mode == ExchangeMode::kOverlap ||
           options_.mode == ExchangeMode::kStep;
  }
  comm::Communicator& ChannelOf(const Bucket& bucket) const;
  void AddSquares(const Bucket& bucket);
  base::Status TuneAfter(int64_t wait_ns);

  ReducerOptions options_;
  std::vector<model::ParameterInfo> parameters_;
  std::span<float> gradients_;
  comm::Communicator& communicator_;
  std::unique_ptr<Compressor> compressor_;  // null: float32 all-reduce
  BucketTuner tuner_;
  int64_t tuned_bucket_bytes_ = 0;
  std::string tuned_waits_;

  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<size_t> pending_;    // by bucket: parameters that are not ready
  std::vector<bool> ready_;        // by parameter
  std::vector<std::optional<comm::Work>> launched_;  // empty: left out by a fault
  std::vector<bool> finished_;                       // by bucket
  bool accumulating_ = false;
  bool faulty_ = false;          // the fault of this step is still to come
  std::vector<double> scratch_;  // of the dtype fault

  std::vector<double> squares_;  // by parameter
  double norm_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace stepslack::train
