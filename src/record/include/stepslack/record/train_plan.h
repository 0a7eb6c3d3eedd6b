// The plan of one training run, written by whoever starts it (`study`, or a user) and
// read by every rank of the worker. Schema "stepslack.train_plan/1", JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::record {

struct TrainPlan {
  // Data: float32 .npy files, inputs [n, channels, height, width], targets
  // [n, height, width] in mV; index lists refer to n. Channel 0 is the current map,
  // whose per-sample mean scales the target (the drop is linear in the current).
  std::string inputs_path;
  std::string targets_path;
  std::string dataset_sha256;  // of content and division: the dataset tag; "": unknown
  std::vector<int64_t> train_indices;
  std::vector<int64_t> validation_indices;  // watched while training
  std::vector<int64_t> test_indices;        // predicted once, at the end; may name
                                            // validation ones, never train ones
  std::vector<int> categorical_channels;    // one-hot encoded with these...
  std::vector<int> category_counts;         // ...numbers of classes
  bool augment = true;                      // flips of both axes: 4 versions of a map
  // Quarter turns as well: 8 versions. Sound only where both directions of the grid
  // conduct alike; standard-cell rails do not.
  bool augment_turns = false;

  // Model.
  std::string model = "unet";  // unet, fcn: maps; mlp: tables; gnn: netlist graphs
  int base_channels = 16;
  int levels = 5;                // maps must be multiples of 2^(levels - 1)
  std::vector<int> hidden;       // mlp and gnn: widths of the hidden layers
  std::string stem = "shuffle";  // unet: shuffle (2 x 2 pixels to channels) or plain
  std::string norm = "group";    // group, batch, sync_batch or none
  std::string loss = "mae";      // mae, mse or huber
  std::string precision = "float32";  // or bfloat16: compute, the state stays float32

  // Optimisation; schedule positions are counted in samples, never in steps.
  int64_t global_batch = 8;  // split over ranks; need not divide evenly
  int64_t samples = 3000;    // training samples consumed in all
  double learning_rate = 2e-3;
  double weight_decay = 1e-4;
  int64_t warmup_samples = 300;
  double clip_norm = 1.0;  // global gradient norm; 0: off
  uint64_t seed = 1;
  std::string optimizer = "adamw";  // adamw, sgd or lamb
  double momentum = 0.9;            // sgd
  std::string schedule = "cosine";  // after the warm-up: cosine, linear or constant
  // The learning rate holds for `reference_batch` samples; another global batch scales
  // it by "linear" or "sqrt" of the ratio; "none" takes it as it stands.
  std::string learning_rate_scaling = "none";
  int64_t reference_batch = 0;  // 0: the global batch itself
  // The global batch is computed in this many parts with one gradient exchange.
  int accumulation = 1;

  // Evaluation and target. Metric: relative MAE = sum |error| / sum |target|
  // (validation).
  int64_t eval_every_samples = 500;
  double target_relative_mae = 0.3;  // <= 0: no target
  bool predict_test = true;

  // Communication.
  int64_t first_bucket_bytes = 64 << 10;
  int64_t bucket_bytes = 1 << 20;
  bool overlap = true;  // all-reduce launched from autograd hooks
  // Gradients are awaited in the next forward pass, block by block: auto, on or off.
  std::string step_overlap = "auto";
  std::string backend = "auto";  // auto, shm, gloo, mpi, hier or nccl
  // Of sums over gloo: auto, engine (Gloo's own), ring, halving_doubling, doubling,
  // tree.
  std::string all_reduce = "auto";
  // Of exchanged gradients, with error feedback: none, bfloat16, topk or powersgd.
  std::string compression = "none";
  double topk_share = 0.01;     // of the elements, topk
  int powersgd_rank = 2;        // powersgd
  bool tune_buckets = false;    // measures bucket sizes in the first steps
  double link_latency_us = 0;   // link model, added to every collective; 0: none
  double link_megabits = 0;     // bandwidth of the modelled link; 0: not modelled
  double link_loss = 0;         // share of messages sent twice
  double timeout_seconds = 60;  // every collective; also rendezvous
  bool synchronise = true;      // false: no gradient exchange (the no-comm yardstick)

  // Loader.
  int loader_threads = 1;  // 0: samples are prepared in the training thread
  int prefetch_batches = 2;

  // Record keeping.
  int keep_checkpoints = 2;
  bool async_checkpoint = true;
  int64_t hash_every_steps = 0;             // parameter and gradient hashes; 0: never
  bool export_torchscript = false;          // model.torchscript.pt at the end
  int64_t checkpoint_every_samples = 1500;  // 0: only at the end
  int64_t trace_first_step = 5;
  int64_t trace_steps = 20;  // 0: no trace

  // Faults for tests: rank `fault_rank` sleeps `fault_sleep_ms` before each step, or
  // does `fault` at step `fault_step`: nan_gradient, skip_collective, wrong_size,
  // wrong_dtype.
  std::string fault;
  int64_t fault_step = 0;
  int fault_rank = -1;
  double fault_sleep_ms = 0;
};

base::Json ToJson(const TrainPlan& plan);
// Unknown keys and wrong types are refused: REC-0003.
base::Result<TrainPlan> TrainPlanFromJson(const base::Json& json,
                                          std::string_view name);

}  // namespace stepslack::record
