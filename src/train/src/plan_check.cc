#include "plan_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
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
  void OneOf(const char* key, std::string_view value,
             std::initializer_list<std::string_view> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    Complain(
        fmt::format("{} is '{}', allowed: {}", key, value, fmt::join(allowed, ", ")));
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

// Ranges of the widths are the network's own to check.
void CheckModel(const record::TrainPlan& plan, RangeCheck& check) {
  check.OneOf("model", plan.model, {"unet", "fcn", "mlp", "gnn"});
  check.OneOf("stem", plan.stem, {"shuffle", "plain"});
  check.OneOf("norm", plan.norm, {"group", "batch", "sync_batch", "none"});
  check.OneOf("loss", plan.loss, {"mae", "mse", "huber"});
  check.OneOf("precision", plan.precision, {"float32", "bfloat16"});
}

void CheckOptimisation(const record::TrainPlan& plan, RangeCheck& check) {
  check.OneOf("optimizer", plan.optimizer, {"adamw", "sgd", "lamb"});
  check.Between("momentum", plan.momentum, 0.0, 1.0);
  check.OneOf("schedule", plan.schedule, {"cosine", "linear", "constant"});
  check.OneOf("learning_rate_scaling", plan.learning_rate_scaling,
              {"none", "linear", "sqrt"});
  check.Between<int64_t>("reference_batch", plan.reference_batch, 0, 1 << 20);
  check.Between("accumulation", plan.accumulation, 1, 1 << 20);
}

void CheckExchange(const record::TrainPlan& plan, RangeCheck& check) {
  check.OneOf("backend", plan.backend,
              {"auto", "self", "shm", "gloo", "mpi", "hier", "nccl"});
  check.OneOf("all_reduce", plan.all_reduce,
              {"auto", "engine", "ring", "halving_doubling", "doubling", "tree"});
  check.OneOf("step_overlap", plan.step_overlap, {"auto", "on", "off"});
  const bool on = plan.step_overlap == "on";
  check.Require(!on || plan.overlap, "step_overlap needs overlap");
  check.Require(
      !on || plan.clip_norm == 0,
      "step_overlap needs clip_norm 0: the norm of all gradients is known only "
      "when the last one has come");
  check.Require(!on || plan.norm != "sync_batch",
                "step_overlap and norm sync_batch "
                "exclude each other");
  check.Require(!on || !plan.tune_buckets, "step_overlap has no buckets to tune");
  check.Require(!on || plan.compression == "none" || plan.compression == "bfloat16",
                "step_overlap needs compression none or bfloat16");
  check.Between("link_latency_us", plan.link_latency_us, 0.0, 1e7);
  check.Between("link_megabits", plan.link_megabits, 0.0, 1e7);
  check.Between("link_loss", plan.link_loss, 0.0, 0.99);
  check.OneOf("compression", plan.compression,
              {"none", "bfloat16", "topk", "powersgd"});
  check.Between("topk_share", plan.topk_share, 1e-9, 1.0);
  check.Between("powersgd_rank", plan.powersgd_rank, 1, 256);
  const bool plain = plan.compression == "none";
  check.Require(plain || !plan.tune_buckets,
                "tune_buckets has nothing to tune with compression");
  check.OneOf("fault", plan.fault,
              {"", "nan_gradient", "skip_collective", "wrong_size", "wrong_dtype"});
  check.Require(plain || !plan.fault.starts_with("wrong_"),
                "fault " + plan.fault + " needs compression none");
  check.Between<int64_t>("fault_step", plan.fault_step, 0, kMany);
}

}  // namespace

base::Status CheckPlan(const record::TrainPlan& plan) {
  RangeCheck check;
  CheckModel(plan, check);
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
  check.Between("loader_threads", plan.loader_threads, 0, 64);
  check.Between("prefetch_batches", plan.prefetch_batches, 1, 64);
  check.Between("keep_checkpoints", plan.keep_checkpoints, 1, 1000);
  check.Between<int64_t>("trace_first_step", plan.trace_first_step, 0, kMany);
  check.Between<int64_t>("trace_steps", plan.trace_steps, 0, 10'000);
  CheckOptimisation(plan, check);
  CheckExchange(plan, check);
  check.Between<int64_t>("hash_every_steps", plan.hash_every_steps, 0, kMany);
  check.Between("fault_sleep_ms", plan.fault_sleep_ms, 0.0, 86400.0 * 1000.0);
  return check.Finish();
}

}  // namespace stepslack::train
