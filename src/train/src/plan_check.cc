#include "plan_check.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace stepslack::train {
namespace {

// The first value that is out of its range.
class RangeCheck {
 public:
  template <typename T>
  void Between(const char* key, T value, T low, T high) {
    if (value >= low && value <= high) return;  // a NaN is refused
    Complain(fmt::format("{} is {}, allowed is {} to {}", key, value, low, high));
  }
  void Require(bool holds, std::string what) {
    if (!holds) Complain(std::move(what));
  }
  base::Status Finish() const {
    if (first_.empty()) return {};
    return base::Fail("TRAIN-0002", base::ExitCode::kUsage, first_, "plan.json",
                      "correct the plan");
  }

 private:
  void Complain(std::string what) {
    if (first_.empty()) first_ = std::move(what);
  }
  std::string first_;
};

constexpr int64_t kMany = int64_t{1} << 40;

}  // namespace

base::Status CheckPlan(const record::TrainPlan& plan) {
  RangeCheck check;
  check.Require(plan.model == "unet", "model is '" + plan.model + "', known is 'unet'");
  check.Require(!plan.train_indices.empty(), "there are no training samples");
  check.Require(!plan.validation_indices.empty(), "there are no validation samples");
  check.Require(plan.categorical_channels.size() == plan.category_counts.size(),
                "categorical_channels and category_counts differ in length");
  check.Between<int64_t>("global_batch", plan.global_batch, 1, 1 << 20);
  check.Between<int64_t>("samples", plan.samples, 1, kMany);
  check.Between("learning_rate", plan.learning_rate, 0.0, 1e30);
  check.Between("weight_decay", plan.weight_decay, 0.0, 1e6);
  check.Between<int64_t>("warmup_samples", plan.warmup_samples, 0, kMany);
  check.Between("clip_norm", plan.clip_norm, 0.0, 1e30);
  check.Between<int64_t>("eval_every_samples", plan.eval_every_samples, 1, kMany);
  check.Between<int64_t>("first_bucket_bytes", plan.first_bucket_bytes, 0, kMany);
  check.Between<int64_t>("bucket_bytes", plan.bucket_bytes, 0, kMany);
  check.Between("timeout_seconds", plan.timeout_seconds, 0.1, 86400.0);
  check.Between<int64_t>("checkpoint_every_samples", plan.checkpoint_every_samples, 0,
                         kMany);
  check.Between<int64_t>("trace_first_step", plan.trace_first_step, 0, kMany);
  check.Between<int64_t>("trace_steps", plan.trace_steps, 0, 10'000);
  check.Between<int64_t>("hash_every_steps", plan.hash_every_steps, 0, kMany);
  check.Between("fault_sleep_ms", plan.fault_sleep_ms, 0.0, 86400.0 * 1000.0);
  return check.Finish();
}

}  // namespace stepslack::train
