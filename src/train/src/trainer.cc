#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "evaluation.h"
#include "process_usage.h"
#include "schedule.h"
#include "stepslack/base/context.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

using base::NowNs;

model::NetworkOptions NetworkOptionsOf(const record::TrainPlan& plan, int planes,
                                       int world_size) {
  model::NetworkOptions options;
  options.input_planes = planes;
  options.base_channels = plan.base_channels;
  options.levels = plan.levels;
  options.seed = plan.seed;
  options.gradient_tail = world_size;  // one loss a rank travels with the gradients
  return options;
}

AdamWOptions AdamWOptionsOf(const record::TrainPlan& plan) {
  AdamWOptions options;
  options.weight_decay = plan.weight_decay;
  return options;
}

ReducerOptions ReducerOptionsOf(const record::TrainPlan& plan) {
  return {plan.first_bucket_bytes, plan.bucket_bytes, plan.overlap, plan.synchronise};
}

// Short fingerprint of the samples of one batch on one rank.
std::string SampleDigest(std::span<const int64_t> indices) {
  base::Sha256 digest;
  digest.Update(indices.data(), indices.size_bytes());
  return digest.Finish().substr(0, 16);
}

}  // namespace

void Trainer::FillTimes(const StepClock& clock, record::StepRecord& record) {
  record.start_ns = clock.start_ns;
  record.data_ns = clock.data_ns - clock.begin_ns;
  record.forward_ns = clock.forward_ns - clock.data_ns;
  record.backward_ns = clock.backward_ns - clock.forward_ns;
  record.comm_wait_ns = clock.comm_ns - clock.backward_ns;
  record.optimizer_ns = clock.optimizer_ns - clock.comm_ns;
}

base::Result<std::unique_ptr<Trainer>> Trainer::Create(
    const std::string& run_folder, const record::TrainPlan& plan,
    comm::Communicator& communicator) {
  SS_TRY(std::unique_ptr<SampleSource> source, OpenSampleSource(plan));
  const model::NetworkOptions options =
      NetworkOptionsOf(plan, source->planes(), communicator.world_size());
  SS_TRY(model::Network network, model::Network::Create(options));
  SS_RETURN_IF_ERROR(network.CheckMapSize(source->height(), source->width()));
  std::unique_ptr<Trainer> trainer(new Trainer(run_folder, plan, communicator,
                                               std::move(source), std::move(network)));
  SS_RETURN_IF_ERROR(trainer->StartOrResume());
  return trainer;
}

Trainer::Trainer(std::string run_folder, const record::TrainPlan& plan,
                 comm::Communicator& communicator, std::unique_ptr<SampleSource> source,
                 model::Network network)
    : run_folder_(std::move(run_folder)),
      plan_(plan),
      communicator_(communicator),
      source_(std::move(source)),
      network_(std::move(network)),
      optimizer_(AdamWOptionsOf(plan), network_.parameters(), network_.values().size()),
      reducer_(ReducerOptionsOf(plan), network_.parameters(), network_.gradients(),
               communicator),
      sampler_(plan.train_indices, plan.global_batch, plan.samples, plan.seed),
      tracer_(plan.trace_first_step, plan.trace_steps),
      checkpoints_({run_folder_, plan.keep_checkpoints, plan.async_checkpoint}) {
  network_.OnGradientReady([this](size_t parameter) { reducer_.Ready(parameter); });
}

base::Status Trainer::StartOrResume() {
  SS_TRY(const auto found, FindCheckpoint(run_folder_, communicator_));
  if (found.has_value()) {
    SS_RETURN_IF_ERROR(Restore(*found));
  } else {
    SS_RETURN_IF_ERROR(
        communicator_.Broadcast(std::as_writable_bytes(network_.values()), 0));
  }
  loader_.emplace(*source_, sampler_, LoaderOptionsOf());
  trace_base_ns_ = NowNs();
  SS_RETURN_IF_ERROR(communicator_.Broadcast(
      std::as_writable_bytes(std::span(&trace_base_ns_, 1)), 0));
  SS_TRY(metrics_, MetricsLog::Open(RankFile("metrics", "jsonl"), cursor_.steps));
  return {};
}

LoaderOptions Trainer::LoaderOptionsOf() const {
  LoaderOptions options;
  options.threads = plan_.loader_threads;
  options.prefetch = plan_.prefetch_batches;
  options.rank = communicator_.rank();
  options.world_size = communicator_.world_size();
  options.transforms = plan_.augment ? source_->Transforms(plan_.augment_turns) : 1;
  options.done = cursor_.samples;
  return options;
}

std::vector<NamedArray> Trainer::State() {
  const std::vector<model::ParameterInfo>& layout = network_.parameters();
  std::vector<NamedArray> arrays;
  AddState("value", layout, network_.values(), arrays);
  AddState("optimizer.moment1", layout, optimizer_.first_moment(), arrays);
  AddState("optimizer.moment2", layout, optimizer_.second_moment(), arrays);
  return arrays;
}

base::Status Trainer::Restore(const FoundCheckpoint& found) {
  SS_TRY(cursor_,
         TakeCheckpoint(found.state, found.path, plan_, source_->Facts(), State()));
  optimizer_.set_steps(cursor_.steps);
  skipped_checkpoints_ = found.skipped;
  ++cursor_.restarts;
  earlier_seconds_ = cursor_.train_seconds;
  const auto rank = static_cast<size_t>(communicator_.rank());
  const std::vector<double>& cpu = cursor_.rank_cpu_seconds;
  if (rank < cpu.size()) earlier_cpu_seconds_ = cpu[rank];
  // With fewer ranks than before, rank 0 keeps the account of those that are gone.
  const auto ranks = static_cast<size_t>(communicator_.world_size());
  for (size_t gone = ranks; rank == 0 && gone < cpu.size(); ++gone) {
    earlier_cpu_seconds_ += cpu[gone];
  }
  return SaveNow();  // so that this restart is counted even if it comes to nothing
}

bool Trainer::Due(int64_t before, int64_t every) const {
  if (cursor_.samples >= plan_.samples) return true;
  return every > 0 && cursor_.samples / every > before / every;
}

base::Status Trainer::Run() {
  while (true) {
    const GlobalBatch batch = sampler_.BatchAfter(cursor_.samples);
    if (batch.indices.empty()) break;
    SS_RETURN_IF_ERROR(checkpoints_.Poll());
    const int64_t before = cursor_.samples;
    SS_RETURN_IF_ERROR(TrainStep(batch));
    if (Due(before, plan_.eval_every_samples)) SS_RETURN_IF_ERROR(EvaluateNow());
    if (Due(before, plan_.checkpoint_every_samples)) {
      SS_RETURN_IF_ERROR(CheckpointNow());
    }
  }
  return Finish();
}

base::Status Trainer::TrainStep(const GlobalBatch& batch) {
  StepClock clock;
  clock.start_ns = NowNs();
  if (first_step_ns_ == 0) {
    first_step_ns_ = clock.start_ns;
    startup_seconds_ = SecondsSinceProcessStart();
  }
  const int64_t step = cursor_.steps + 1;
  const bool traced = tracer_.Covers(step);
  std::optional<model::OpTrace> ops;
  if (traced) {
    communicator_.TakeRecords();  // those before the window
    ops.emplace(tracer_.ops_left());
  }
  record::StepRecord record;
  record.minor_faults = -MinorFaults();
  record.cpu_seconds = -ProcessCpuSeconds();
  if (plan_.fault_rank == communicator_.rank() && plan_.fault_sleep_ms > 0) {
    std::this_thread::sleep_for(
        std::chrono::duration<double, std::milli>(plan_.fault_sleep_ms));
  }
  clock.begin_ns = NowNs();

  const std::vector<int64_t> share =
      RankShare(batch.indices, communicator_.rank(), communicator_.world_size());
  SS_RETURN_IF_ERROR(ComputeGradients(batch, share, clock));
  SS_TRY(record.loss, GlobalLoss());
  const auto batch_size = static_cast<int64_t>(batch.indices.size());
  record.learning_rate =
      LearningRate({plan_.learning_rate, plan_.warmup_samples, plan_.samples},
                   cursor_.samples, batch_size);
  SS_TRY(record.grad_norm, ApplyGradients(record.learning_rate));
  clock.optimizer_ns = NowNs();
  if (ops.has_value()) {
    ops->Stop();
    tracer_.AddOps(ops->events(), ops->dropped());
    TraceStep(step, clock);
  }

  cursor_.steps = step;
  cursor_.samples += batch_size;
  record.step = step;
  record.epoch = batch.epoch;
  record.samples_total = cursor_.samples;
  record.rank_samples = static_cast<int64_t>(share.size());
  FillTimes(clock, record);
  record.comm_bytes = reducer_.bytes_per_step();
  record.minor_faults += MinorFaults();
  record.cpu_seconds += ProcessCpuSeconds();
  record.sample_digest = SampleDigest(share);
  record.step_ns = NowNs() - clock.start_ns;
  return metrics_->Append(record::ToJson(record));
}

base::Status Trainer::ComputeGradients(const GlobalBatch& batch,
                                       std::span<const int64_t> share,
                                       StepClock& clock) {
  SS_TRY(const LoadedBatch* loaded, loader_->Next());
  SS_CHECK(loaded->global.indices == batch.indices);
  clock.data_ns = NowNs();
  reducer_.Begin();
  if (!share.empty()) {
    // Summed over ranks this is the mean over the global batch, however it is split. A
    // rank that exchanges nothing takes the mean over its own samples.
    const size_t divisor = plan_.synchronise ? batch.indices.size() : share.size();
    SS_TRY(const double loss,
           network_.Forward(loaded->batch.Part(0), 1.0 / static_cast<double>(divisor)));
    const std::span<float> gradients = network_.gradients();
    const size_t slot =
        network_.values().size() + static_cast<size_t>(communicator_.rank());
    gradients[slot] = static_cast<float>(loss);
    clock.forward_ns = NowNs();
    SS_RETURN_IF_ERROR(network_.Backward());
  } else {
    clock.forward_ns = clock.data_ns;
  }
  clock.backward_ns = NowNs();
  SS_RETURN_IF_ERROR(reducer_.Finish());
  clock.comm_ns = NowNs();
  return {};
}

base::Result<double> Trainer::GlobalLoss() {
  const std::span<const float> slots =
      network_.gradients().subspan(network_.values().size());
  double loss = 0;
  for (size_t rank = 0; rank < slots.size(); ++rank) {
    if (!std::isfinite(slots[rank])) {
      return base::Fail("TRAIN-0020", base::ExitCode::kFinding,
                        "the loss is not finite any more",
                        "rank " + std::to_string(rank) + ", step " +
                            std::to_string(cursor_.steps + 1),
                        "lower learning_rate, raise warmup_samples, or set clip_norm");
    }
    loss += static_cast<double>(slots[rank]);
  }
  return loss;
}

base::Result<double> Trainer::ApplyGradients(double learning_rate) {
  const std::span<float> gradients = network_.gradients();
  const std::span<float> own = gradients.first(network_.values().size());
  const double norm = GlobalNorm(own);
  if (!std::isfinite(norm)) {
    return base::Fail("TRAIN-0021", base::ExitCode::kFinding,
                      "the gradient is not finite any more",
                      "rank " + std::to_string(communicator_.rank()) + ", step " +
                          std::to_string(cursor_.steps + 1),
                      "lower learning_rate or set clip_norm");
  }
  const bool clip = plan_.clip_norm > 0 && norm > plan_.clip_norm;
  optimizer_.Step(network_.values(), own, learning_rate,
                  clip ? plan_.clip_norm / norm : 1.0);
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  return norm;
}

void Trainer::TraceStep(int64_t step, const StepClock& clock) {
  tracer_.AddSpan("ProfilerStep#" + std::to_string(step), clock.start_ns,
                  clock.optimizer_ns);
  tracer_.AddSpan("data", clock.begin_ns, clock.data_ns);
  tracer_.AddSpan("forward", clock.data_ns, clock.forward_ns);
  tracer_.AddSpan("backward", clock.forward_ns, clock.backward_ns);
  tracer_.AddSpan("comm_wait", clock.backward_ns, clock.comm_ns);
  tracer_.AddSpan("optimizer", clock.comm_ns, clock.optimizer_ns);
  tracer_.AddCollectives(communicator_.TakeRecords(), communicator_.transport_name(),
                         communicator_.world_size());
}

double Trainer::TrainSeconds() const {
  if (first_step_ns_ == 0) return earlier_seconds_;
  return earlier_seconds_ + 1e-9 * static_cast<double>(NowNs() - first_step_ns_);
}

base::Status Trainer::EvaluateNow() {
  const int64_t start_ns = NowNs();
  SS_TRY(const EvaluationResult result,
         Evaluate(plan_.validation_indices, *source_, network_, communicator_));
  const int64_t end_ns = NowNs();
  if (plan_.trace_steps > 0) tracer_.AddSpan("eval", start_ns, end_ns);

  record::EvalRecord record;
  record.step = cursor_.steps;
  record.samples_total = cursor_.samples;
  record.train_seconds = TrainSeconds();
  record.eval_seconds = 1e-9 * static_cast<double>(end_ns - start_ns);
  record.loss = result.loss;
  record.relative_mae = result.relative_mae;
  record.mae_mv = result.mae;
  TargetWatch& target = cursor_.target;
  if (!target.reached && plan_.target_relative_mae > 0 &&
      result.relative_mae <= plan_.target_relative_mae) {
    target.reached = true;
    target.seconds_to = record.train_seconds;
    target.seconds_before = target.last_eval_seconds;
    target.samples_to = cursor_.samples;
  }
  target.last_eval_seconds = record.train_seconds;
  if (communicator_.rank() == 0) {
    SS_RETURN_IF_ERROR(metrics_->Append(record::ToJson(record)));
  }
  return metrics_->Flush();
}

base::Status Trainer::CheckpointNow() {
  const int64_t start_ns = NowNs();
  SS_RETURN_IF_ERROR(metrics_->Flush());  // never behind the checkpoint
  const double cpu = earlier_cpu_seconds_ + ProcessCpuSeconds();
  SS_TRY(const std::vector<std::string> all,
         communicator_.AllGather(base::FormatDouble(cpu)));
  cursor_.rank_cpu_seconds.clear();
  for (const std::string& text : all) {
    cursor_.rank_cpu_seconds.push_back(std::strtod(text.c_str(), nullptr));
  }
  cursor_.train_seconds = TrainSeconds();
  SS_RETURN_IF_ERROR(SaveNow());
  if (plan_.trace_steps > 0) tracer_.AddSpan("checkpoint", start_ns, NowNs());
  return {};
}

base::Status Trainer::SaveNow() {
  if (communicator_.rank() != 0) return {};
  return checkpoints_.Save(cursor_.steps,
                           CheckpointText(plan_, cursor_, source_->Facts()), State());
}

}  // namespace stepslack::train
