#include "reducer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "norms.h"
#include "stepslack/base/context.h"

namespace stepslack::train {
namespace {

ExchangeFault FaultOf(const record::TrainPlan& plan, int rank) {
  if (plan.fault_rank != rank) return ExchangeFault::kNone;
  if (plan.fault == "nan_gradient") return ExchangeFault::kNanGradient;
  if (plan.fault == "skip_collective") return ExchangeFault::kSkipCollective;
  if (plan.fault == "wrong_size") return ExchangeFault::kWrongSize;
  if (plan.fault == "wrong_dtype") return ExchangeFault::kWrongDtype;
  return ExchangeFault::kNone;
}

CompressionOptions CompressionOf(const record::TrainPlan& plan) {
  CompressionOptions options;
  if (plan.compression == "bfloat16") options.method = CompressionMethod::kBfloat16;
  if (plan.compression == "topk") options.method = CompressionMethod::kTopK;
  if (plan.compression == "powersgd") options.method = CompressionMethod::kPowerSgd;
  options.topk_share = plan.topk_share;
  options.powersgd_rank = plan.powersgd_rank;
  options.seed = plan.seed;
  return options;
}

std::string_view NameOf(ExchangeMode mode) {
  switch (mode) {
    case ExchangeMode::kOverlap:
      return "overlap";
    case ExchangeMode::kStep:
      return "step";
    case ExchangeMode::kBlocking:
      return "blocking";
    case ExchangeMode::kNone:
      break;
  }
  return "none";
}

// What is needed first: this share of the gradient's bytes travels in a group of its
// own. A sixth is the finer half of a U-Net's encoder, and the first of six equal
// layers.
constexpr int64_t kExpressShare = 6;

// Updates may wait for the next forward pass where nothing needs all gradients at once.
bool MayDefer(const record::TrainPlan& plan, const comm::Communicator& communicator) {
  const std::string_view transport = communicator.transport_name();
  const bool by_bucket = plan.compression == "none" || plan.compression == "bfloat16";
  if (plan.step_overlap == "off" || !plan.overlap || plan.clip_norm > 0 ||
      plan.tune_buckets || !by_bucket || plan.norm == "sync_batch") {
    return false;
  }
  // The model of a link knows nothing of two groups that share it.
  return transport == "gloo" || (plan.step_overlap == "on" && transport == "gloo+link");
}

}  // namespace

ReducerOptions ReducerOptionsOf(const record::TrainPlan& plan,
                                const comm::Communicator& communicator) {
  ReducerOptions options;
  options.buckets = {plan.first_bucket_bytes, plan.bucket_bytes,
                     plan.first_bucket_bytes};
  const bool shares_cores = communicator.transport_name() == "shm";
  options.compression = CompressionOf(plan);
  if (MayDefer(plan, communicator)) options.mode = ExchangeMode::kStep;
  if (!plan.overlap || shares_cores) {
    options.mode = ExchangeMode::kBlocking;
  }
  if (!plan.synchronise || communicator.world_size() == 1) {
    options.mode = ExchangeMode::kNone;
  }
  options.tune_buckets = plan.tune_buckets;
  options.fault = FaultOf(plan, communicator.rank());
  options.fault_step = plan.fault_step;
  return options;
}

Reducer::Reducer(const ReducerOptions& options,
                 std::span<const model::ParameterInfo> parameters, size_t buffer_floats,
                 std::span<float> gradients, comm::Communicator& communicator)
    : options_(options),
      parameters_(parameters.begin(), parameters.end()),
      gradients_(gradients),
      communicator_(communicator),
      tuner_({}),
      bucket_of_(parameters.size()),
      squares_(parameters.size()) {
  if (communicator.world_size() == 1) options_.mode = ExchangeMode::kNone;
  const bool exchanges = options_.mode != ExchangeMode::kNone;
  if (exchanges) {
    compressor_ = MakeCompressor(options.compression, parameters_, buffer_floats);
  }
  if (compressor_ && !compressor_->by_range()) {
    options_.mode = ExchangeMode::kBlocking;
  }
  if (exchanges && !compressor_ && options.tune_buckets) {
    tuner_ = BucketTuner(Candidates());
  }
  SetLayout(overlaps() ? options_.buckets.bytes : buffer_bytes());
}

std::vector<Bucket> Reducer::BucketsOf(int64_t bucket_bytes) const {
  BucketLimits limits = options_.buckets;
  limits.bytes = bucket_bytes;
  if (options_.mode == ExchangeMode::kBlocking) {
    // Nothing hides the exchange, so there is no reason for small ends.
    limits.first_bytes = limits.last_bytes = bucket_bytes;
  }
  if (options_.mode == ExchangeMode::kStep) {
    return PlanBucketsByBlock(parameters_, static_cast<int64_t>(gradients_.size()),
                              limits, options_.block_starts);
  }
  return PlanBuckets(parameters_, static_cast<int64_t>(gradients_.size()), limits);
}

// Bucket sizes worth trying; those that give the same number of buckets are one.
std::vector<int64_t> Reducer::Candidates() const {
  std::vector<int64_t> candidates;
  size_t last_count = 0;
  for (int64_t bytes : {int64_t{256} << 10, int64_t{1} << 20, int64_t{4} << 20,
                        int64_t{16} << 20, buffer_bytes()}) {
    const size_t count = BucketsOf(bytes).size();
    if (count != last_count) candidates.push_back(bytes);
    last_count = count;
  }
  return candidates;
}

void Reducer::SetLayout(int64_t bucket_bytes) {
  buckets_ = BucketsOf(bucket_bytes);
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (size_t parameter : buckets_[bucket].parameters) bucket_of_[parameter] = bucket;
  }
}

void Reducer::set_tuned_bucket_bytes(int64_t bytes) {
  if (bytes == 0) return;
  tuner_.Stop();
  tuned_bucket_bytes_ = bytes;
  SetLayout(bytes);
}

void Reducer::Begin(int64_t step) {
  if (tuner_.active()) SetLayout(tuner_.candidate());
  launched_.clear();
  pending_.clear();
  for (const Bucket& bucket : buckets_) pending_.push_back(bucket.parameters.size());
  finished_.assign(buckets_.size(), false);
  ready_.assign(parameters_.size(), false);
  accumulating_ = false;
  faulty_ = options_.fault != ExchangeFault::kNone && step == options_.fault_step;
  bytes_ = 0;
}

void Reducer::Ready(size_t parameter) {
  if (accumulating_ || ready_[parameter]) return;
  ready_[parameter] = true;
  --pending_[bucket_of_[parameter]];
  if (!overlaps()) return;
  size_t complete = launched_.size();
  while (complete < buckets_.size() && pending_[complete] == 0) ++complete;
  LaunchUpTo(complete);
}

// Spoils what is about to be exchanged; empty: nothing is.
void Reducer::InjectFault(std::span<float>& data) {
  faulty_ = false;
  switch (options_.fault) {
    case ExchangeFault::kNanGradient:
      data[0] = std::numeric_limits<float>::quiet_NaN();
      break;
    case ExchangeFault::kSkipCollective:
      data = {};
      break;
    case ExchangeFault::kWrongSize:
      data = data.first(data.size() - 1);
      break;
    case ExchangeFault::kWrongDtype:
      // Its result is of no use to anybody: the others report the mismatch.
      scratch_.assign(data.begin(), data.end());
      (void)communicator_.AllReduceSum(std::span(scratch_));
      data = {};
      break;
    case ExchangeFault::kNone:
      break;
  }
}

std::span<float> Reducer::RangeOf(const Bucket& bucket) const {
  return gradients_.subspan(static_cast<size_t>(bucket.begin),
                            static_cast<size_t>(bucket.end - bucket.begin));
}

void Reducer::LaunchUpTo(size_t count) {
  while (launched_.size() < count) {
    const Bucket& bucket = buckets_[launched_.size()];
    std::span<float> data = RangeOf(bucket);
    comm::Communicator& channel = ChannelOf(bucket);
    if (faulty_) InjectFault(data);
    launched_.emplace_back();
    if (data.empty()) continue;
    if (compressor_) {
      launched_.back() = compressor_->Launch(gradients_, data, channel);
      bytes_ += compressor_->bytes();
    } else {
      launched_.back() = channel.AllReduceSumAsync(data);
      bytes_ += static_cast<int64_t>(data.size_bytes());
    }
  }
}

void Reducer::AddSquares(const Bucket& bucket) {
  for (size_t parameter : bucket.parameters) {
    const model::ParameterInfo& info = parameters_[parameter];
    squares_[parameter] = SumOfSquares(gradients_.subspan(
        static_cast<size_t>(info.offset), static_cast<size_t>(info.count)));
  }
}

// The norm of a bucket is computed while it is in the cache and the next one on its
// way.
base::Status Reducer::FinishLaunched() {
  LaunchUpTo(buckets_.size());
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    SS_RETURN_IF_ERROR(FinishBucket(bucket));
  }
  return {};
}

base::Status Reducer::FinishBucket(size_t bucket) {
  if (finished_[bucket]) return {};
  std::optional<comm::Work>& work = launched_[bucket];
  if (work.has_value()) SS_RETURN_IF_ERROR(work->Wait());
  if (work.has_value() && compressor_) {
    compressor_->Collect(gradients_, RangeOf(buckets_[bucket]));
  }
  AddSquares(buckets_[bucket]);
  finished_[bucket] = true;
  return {};
}

base::Status Reducer::FinishScalars() {
  LaunchUpTo(buckets_.size());
  return FinishBucket(0);
}

bool Reducer::Abandon() {
  bool ended = true;
  for (std::optional<comm::Work>& work : launched_) {
    if (!work.has_value()) continue;
    (void)work->Wait();
    ended = ended && work->Done();
  }
  return ended;
}

comm::Communicator& Reducer::ChannelOf(const Bucket& bucket) const {
  const int64_t end_bytes = bucket.end * static_cast<int64_t>(sizeof(float));
  const bool first_needed = end_bytes * kExpressShare <= buffer_bytes();
  return first_needed && options_.express != nullptr ? *options_.express
                                                     : communicator_;
}

// On the calling thread where the communicator can.
base::Status Reducer::ExchangeNow(const Bucket& bucket) {
  std::span<float> data = RangeOf(bucket);
  if (faulty_) InjectFault(data);
  if (data.empty() || options_.mode == ExchangeMode::kNone) return {};
  if (!compressor_) {
    bytes_ += static_cast<int64_t>(data.size_bytes());
    return communicator_.AllReduceSum(data);
  }
  SS_CHECK(buckets_.size() == 1);
  SS_RETURN_IF_ERROR(compressor_->Exchange(gradients_, communicator_));
  bytes_ += compressor_->bytes();
  return {};
}

base::Status Reducer::Exchange() {
  if (overlaps()) return FinishLaunched();
  for (const Bucket& bucket : buckets_) {
    SS_RETURN_IF_ERROR(ExchangeNow(bucket));
    AddSquares(bucket);
  }
  return {};
}

base::Status Reducer::Finish() {
  const int64_t start_ns = base::NowNs();
  SS_RETURN_IF_ERROR(Exchange());
  FinishNorm();
  return tuner_.active() ? TuneAfter(base::NowNs() - start_ns) : base::Status();
}

void Reducer::FinishNorm() {
  double total = 0;
  for (double square : squares_) total += square;
  norm_ = std::sqrt(total);
}

base::Status Reducer::TuneAfter(int64_t wait_ns) {
  if (!tuner_.Record(wait_ns)) return {};
  SS_TRY(const BucketTuner::Choice choice, tuner_.Agree(communicator_));
  set_tuned_bucket_bytes(choice.bytes);
  tuned_waits_ = choice.waits_ms;
  return {};
}

std::string Reducer::NotFiniteParameter() const {
  for (size_t parameter = 0; parameter < squares_.size(); ++parameter) {
    if (!std::isfinite(squares_[parameter])) return parameters_[parameter].name;
  }
  return "";
}

std::vector<StateView> Reducer::state() {
  return compressor_ ? compressor_->state() : std::vector<StateView>();
}

base::Status Reducer::CollectResidual() {
  if (!compressor_) return {};
  SS_RETURN_IF_ERROR(communicator_.AllReduceSum(compressor_->residual()));
  AfterRestore();
  return {};
}

void Reducer::AfterRestore() {
  if (!compressor_ || communicator_.rank() == 0) return;
  std::fill(compressor_->residual().begin(), compressor_->residual().end(), 0.0F);
}

void Reducer::Describe(std::map<std::string, std::string>& facts) const {
  facts["exchange"] = NameOf(options_.mode);
  facts["buckets"] = std::to_string(buckets_.size());
  facts["compression"] = compressor_ ? compressor_->name() : "none";
  if (tuned_bucket_bytes_ > 0) {
    facts["tuned_bucket_bytes"] = std::to_string(tuned_bucket_bytes_);
    facts["bucket_waits_ms"] =
        tuned_waits_.empty() ? "taken from the checkpoint" : tuned_waits_;
  }
}

}  // namespace stepslack::train
