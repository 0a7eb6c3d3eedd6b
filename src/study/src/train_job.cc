#include "stepslack/study/train_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "stepslack/base/config.h"
#include "stepslack/base/file.h"

namespace stepslack::study {
namespace {

using base::ConfigTable;

constexpr int64_t kMostSamples = int64_t{1} << 40;  // as the worker allows
constexpr int64_t kMostBytes = int64_t{1} << 40;
constexpr double kHuge = 1e30;
constexpr double kDay = 86400;

// Paths in a job are meant from where the job lies, so that it can be moved with its
// data.
std::string Beside(const std::string& job, const std::string& path) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  const std::string folder = base::ParentFolder(job);
  return folder.empty() ? path : base::JoinPath(folder, path);
}

int ReadSmall(ConfigTable& table, std::string_view key, int fallback, int low,
              int high) {
  return static_cast<int>(table.Int(key, fallback, low, high));
}

uint64_t ReadSeed(ConfigTable& table, uint64_t fallback) {
  return static_cast<uint64_t>(
      table.Int("seed", static_cast<int64_t>(fallback), 0, INT64_MAX));
}

TrainJobData ReadData(ConfigTable& table, const std::string& file) {
  TrainJobData data;
  data.source = table.Choice("source", {}, {"embedded", "folder", "arrays"});
  if (data.source == "embedded") {
    data.seed = ReadSeed(table, 1);
    data.families = ReadSmall(table, "families", 64, 3, 100'000);
    data.variants = ReadSmall(table, "variants", 4, 1, 1000);
  } else if (data.source == "folder") {
    data.folder = Beside(file, table.String("folder"));
  } else {
    data.inputs = Beside(file, table.String("inputs"));
    data.targets = Beside(file, table.String("targets", ""));
    data.groups = Beside(file, table.String("groups", ""));
    return data;
  }
  data.tile = ReadSmall(table, "tile", 64, 16, 512);
  data.stride = ReadSmall(table, "stride", data.tile, 1, 512);
  data.downscale = ReadSmall(table, "downscale", 1, 1, 64);
  return data;
}

TrainJobSplit ReadSplit(ConfigTable& table, const std::string& file) {
  TrainJobSplit split;
  split.policy = table.Choice("policy", "by_group", {"by_group", "random", "file"});
  if (split.policy == "file") {
    split.file = Beside(file, table.String("file"));
    return split;
  }
  split.seed = ReadSeed(table, 1);
  split.validation_share = table.Double("validation_share", 0.1, 0.001, 0.8);
  split.test_share = table.Double("test_share", 0.1, 0, 0.8);
  if (split.validation_share + split.test_share > 0.9) {
    table.Reject("test_share", "test and validation leave less than 10 % to train",
                 "lower test_share or validation_share");
  }
  return split;
}

// Small ones; a unet takes its widths from base_channels.
std::vector<int> UsualWidths(const std::string& model) {
  if (model == "mlp") return {256, 256};
  if (model == "gnn") return {64, 64, 64};
  if (model == "fcn") return {32, 32, 32, 32};
  return {};
}

void ReadModel(ConfigTable& table, record::TrainPlan& plan) {
  plan.model = table.Choice("name", plan.model, {"unet", "fcn", "mlp", "gnn"});
  plan.base_channels = ReadSmall(table, "base_channels", plan.base_channels, 1, 256);
  plan.levels = ReadSmall(table, "levels", plan.levels, 1, 8);
  for (const int64_t width : table.Ints("hidden", 1, 65536)) {
    plan.hidden.push_back(static_cast<int>(width));
  }
  if (plan.hidden.empty()) plan.hidden = UsualWidths(plan.model);
  plan.stem = table.Choice("stem", plan.stem, {"shuffle", "plain"});
  plan.norm = table.Choice("norm", plan.norm, {"group", "batch", "sync_batch", "none"});
  plan.loss = table.Choice("loss", plan.loss, {"mae", "mse", "huber"});
  plan.precision = table.Choice("precision", plan.precision, {"float32", "bfloat16"});
}

void ReadOptimisation(ConfigTable& table, record::TrainPlan& plan) {
  plan.optimizer = table.Choice("optimizer", plan.optimizer, {"adamw", "sgd", "lamb"});
  plan.global_batch = table.Int("global_batch", plan.global_batch, 1, 1 << 20);
  plan.samples = table.Int("samples", plan.samples, 1, kMostSamples);
  plan.learning_rate = table.Double("learning_rate", plan.learning_rate, 0, kHuge);
  plan.weight_decay = table.Double("weight_decay", plan.weight_decay, 0, 1e6);
  plan.momentum = table.Double("momentum", plan.momentum, 0, 1);
  plan.schedule =
      table.Choice("schedule", plan.schedule, {"cosine", "linear", "constant"});
  plan.warmup_samples =
      table.Int("warmup_samples", std::min(plan.warmup_samples, plan.samples / 10), 0,
                kMostSamples);
  plan.learning_rate_scaling = table.Choice(
      "learning_rate_scaling", plan.learning_rate_scaling, {"none", "linear", "sqrt"});
  plan.reference_batch = table.Int("reference_batch", plan.reference_batch, 0, 1 << 20);
  if (plan.learning_rate_scaling != "none" && plan.reference_batch == 0) {
    table.Reject("learning_rate_scaling",
                 "scaling needs the batch that the learning rate was found with",
                 "set reference_batch");
  }
  if (plan.warmup_samples > plan.samples) {
    table.Reject("warmup_samples", "the warm-up is longer than the training",
                 "lower warmup_samples");
  }
  plan.clip_norm = table.Double("clip_norm", plan.clip_norm, 0, kHuge);
  plan.accumulation = ReadSmall(table, "accumulation", plan.accumulation, 1, 4096);
  plan.seed = ReadSeed(table, plan.seed);
  plan.augment = table.Bool("augment", plan.augment);
  plan.augment_turns = table.Bool("augment_turns", plan.augment_turns);
  plan.eval_every_samples = table.Int(
      "eval_every_samples", std::max<int64_t>(1, plan.samples / 6), 1, kMostSamples);
  plan.target_relative_mae = table.Double("target_relative_mae", 0, 0, 100);
  plan.predict_test = table.Bool("predict_test", plan.predict_test);
}

void ReadCommunication(ConfigTable& table, record::TrainPlan& plan) {
  plan.backend = table.Choice("backend", plan.backend,
                              {"auto", "shm", "gloo", "mpi", "hier", "nccl"});
  plan.first_bucket_bytes =
      table.Int("first_bucket_bytes", plan.first_bucket_bytes, 0, kMostBytes);
  plan.bucket_bytes = table.Int("bucket_bytes", plan.bucket_bytes, 0, kMostBytes);
  plan.overlap = table.Bool("overlap", plan.overlap);
  plan.step_overlap =
      table.Choice("step_overlap", plan.step_overlap, {"auto", "on", "off"});
  plan.all_reduce =
      table.Choice("all_reduce", plan.all_reduce,
                   {"auto", "engine", "ring", "halving_doubling", "doubling", "tree"});
  plan.tune_buckets = table.Bool("tune_buckets", plan.tune_buckets);
  plan.synchronise = table.Bool("synchronise", plan.synchronise);
  plan.timeout_seconds =
      table.Double("timeout_seconds", plan.timeout_seconds, 0.1, kDay);
  plan.compression = table.Choice("compression", plan.compression,
                                  {"none", "bfloat16", "topk", "powersgd"});
  plan.topk_share = table.Double("topk_share", plan.topk_share, 1e-6, 1);
  plan.powersgd_rank = ReadSmall(table, "powersgd_rank", plan.powersgd_rank, 1, 64);
  plan.link_latency_us = table.Double("link_latency_us", 0, 0, 1e7);
  plan.link_megabits = table.Double("link_megabits", 0, 0, 1e7);
  plan.link_loss = table.Double("link_loss", 0, 0, 0.99);
}

// The traced steps hold the first evaluation and checkpoint, where there is room.
int64_t UsualTraceStart(const record::TrainPlan& plan) {
  const int64_t evaluated =
      (plan.eval_every_samples + plan.global_batch - 1) / plan.global_batch;
  return std::max(plan.trace_first_step, evaluated - plan.trace_steps / 2);
}

void ReadRecords(ConfigTable& table, record::TrainPlan& plan) {
  plan.checkpoint_every_samples =
      table.Int("checkpoint_every_samples", plan.eval_every_samples, 0, kMostSamples);
  plan.keep_checkpoints =
      ReadSmall(table, "keep_checkpoints", plan.keep_checkpoints, 1, 1000);
  plan.async_checkpoint = table.Bool("async_checkpoint", plan.async_checkpoint);
  plan.trace_steps = table.Int("trace_steps", plan.trace_steps, 0, 10'000);
  plan.trace_first_step =
      table.Int("trace_first_step", UsualTraceStart(plan), 0, kMostSamples);
  plan.hash_every_steps =
      table.Int("hash_every_steps", plan.hash_every_steps, 0, kMostSamples);
  plan.export_torchscript = table.Bool("export_torchscript", plan.export_torchscript);
}

void ReadFault(ConfigTable& table, record::TrainPlan& plan) {
  plan.fault = table.Choice(
      "kind", "", {"", "nan_gradient", "skip_collective", "wrong_size", "wrong_dtype"});
  plan.fault_step = table.Int("step", plan.fault_step, 0, kMostSamples);
  plan.fault_rank = ReadSmall(table, "rank", plan.fault_rank, -1, 4095);
  plan.fault_sleep_ms = table.Double("sleep_ms", plan.fault_sleep_ms, 0, kDay * 1000);
}

}  // namespace

base::Result<TrainJob> ReadTrainJob(
    const std::string& path, const std::map<std::string, base::Json>& overrides) {
  SS_TRY(ConfigTable root, ConfigTable::Load(path));
  for (const auto& [key, value] : overrides) {
    SS_RETURN_IF_ERROR(root.Override(key, value));
  }
  TrainJob job;
  job.file = path;
  job.title = root.String("title", base::FileName(path));
  job.ranks = ReadSmall(root, "ranks", 1, 1, 1024);
  job.data = ReadData(root.Table("data"), path);
  job.split = ReadSplit(root.Table("split"), path);
  ReadModel(root.Table("model"), job.plan);
  ReadOptimisation(root.Table("train"), job.plan);
  ReadCommunication(root.Table("comm"), job.plan);
  ConfigTable& loader = root.Table("loader");
  job.plan.loader_threads =
      ReadSmall(loader, "threads", job.plan.loader_threads, 0, 64);
  job.plan.prefetch_batches =
      ReadSmall(loader, "prefetch_batches", job.plan.prefetch_batches, 1, 64);
  ReadRecords(root.Table("record"), job.plan);
  ReadFault(root.Table("fault"), job.plan);
  SS_RETURN_IF_ERROR(root.Finish());
  return job;
}

}  // namespace stepslack::study
