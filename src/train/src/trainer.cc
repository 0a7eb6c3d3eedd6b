#include "trainer.h"

#include <fmt/format.h>

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
#include "stepslack/record/rank_facts.h"

namespace stepslack::train {
namespace {

using base::NowNs;

model::NetworkOptions NetworkOptionsOf(const record::TrainPlan& plan,
                                       const SampleSource& source,
                                       comm::Communicator& communicator) {
  model::NetworkOptions options;
  options.input_planes = source.planes();
  options.base_channels = plan.base_channels;
  options.levels = plan.levels;
  options.seed = plan.seed;
  // A loss a rank and the step mark travel with the gradients.
  options.gradient_tail = communicator.world_size() + 1;
  options.architecture = plan.model;
  options.hidden = plan.hidden;
  options.stem = plan.stem;
  options.norm = plan.norm;
  options.loss = plan.loss;
  options.precision = plan.precision;
  options.outputs = source.outputs();
  options.node_targets = source.targets_per_node();
  if (communicator.world_size() > 1 && plan.synchronise) {
    options.sum_over_ranks = [&communicator](std::span<double> values) {
      return communicator.AllReduceSum(values);
    };
  }
  return options;
}

// Gradients lie where the transport adds them up without a copy, if it has such memory.
base::Status ShareGradients(model::NetworkOptions& options,
                            comm::Communicator& communicator) {
  SS_TRY(const int64_t floats, model::Network::GradientFloats(options));
  SS_TRY(const std::span<std::byte> shared,
         communicator.AllocateShared(static_cast<size_t>(floats) * sizeof(float)));
  if (shared.empty()) return {};
  // Zero bytes are floats of value zero; the memory holds nothing else.
  options.gradient_memory = {reinterpret_cast<float*>(shared.data()),
                             static_cast<size_t>(floats)};
  return {};
}

ReducerOptions ReducerOptionsFor(const record::TrainPlan& plan,
                                 const comm::Communicator& communicator,
                                 const model::Network& network,
                                 comm::Communicator* express) {
  ReducerOptions options = ReducerOptionsOf(plan, communicator);
  for (const model::BlockInfo& block : network.blocks()) {
    options.block_starts.push_back(block.first_parameter);
  }
  options.express = express;
  return options;
}

// What a rank adds to the mark behind the losses: never 0, and small enough for exact
// sums of thousands of ranks in float32.
float StepMark(int64_t step) { return static_cast<float>(step % 1000 + 1); }

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
  const DeferredUpdate::Cost& before = clock.deferred;
  record.forward_ns =
      clock.forward_ns - clock.data_ns - before.wait_ns - before.update_ns;
  record.backward_ns = clock.backward_ns - clock.forward_ns;
  record.comm_wait_ns = clock.comm_ns - clock.backward_ns + before.wait_ns;
  record.optimizer_ns = clock.optimizer_ns - clock.comm_ns + before.update_ns;
}

base::Result<std::unique_ptr<Trainer>> Trainer::Create(
    const std::string& run_folder, const record::TrainPlan& plan,
    const comm::ConnectionFacts& connection, comm::Communicator& communicator) {
  SS_TRY(std::unique_ptr<SampleSource> source, OpenSampleSource(plan));
  model::NetworkOptions options = NetworkOptionsOf(plan, *source, communicator);
  SS_RETURN_IF_ERROR(ShareGradients(options, communicator));
  SS_TRY(model::Network network, model::Network::Create(options));
  SS_RETURN_IF_ERROR(network.CheckMapSize(source->height(), source->width()));
  std::unique_ptr<comm::Communicator> express;
  if (ReducerOptionsOf(plan, communicator).mode == ExchangeMode::kStep) {
    SS_TRY(express, communicator.Split(0, communicator.rank(), "express"));
  }
  std::unique_ptr<Trainer> trainer(new Trainer(run_folder, plan, connection,
                                               communicator, std::move(source),
                                               std::move(network), std::move(express)));
  SS_RETURN_IF_ERROR(trainer->StartOrResume());
  return trainer;
}

Trainer::Trainer(std::string run_folder, const record::TrainPlan& plan,
                 const comm::ConnectionFacts& connection,
                 comm::Communicator& communicator, std::unique_ptr<SampleSource> source,
                 model::Network network, std::unique_ptr<comm::Communicator> express)
    : run_folder_(std::move(run_folder)),
      plan_(plan),
      connection_(connection),
      communicator_(communicator),
      source_(std::move(source)),
      network_(std::move(network)),
      express_(std::move(express)),
      optimizer_(MakeOptimizer(plan, network_.parameters(), network_.values().size())),
      reducer_(ReducerOptionsFor(plan, communicator, network_, express_.get()),
               network_.parameters(), network_.values().size(), network_.gradients(),
               communicator),
      deferred_(reducer_, *optimizer_, network_),
      sampler_(plan.train_indices, plan.global_batch, plan.samples, plan.seed),
      tracer_(plan.trace_first_step, plan.trace_steps),
      ladder_(plan.hash_every_steps),
      checkpoints_({run_folder_, plan.keep_checkpoints, plan.async_checkpoint}) {
  network_.OnGradientReady([this](size_t parameter) { reducer_.Ready(parameter); });
  if (defers()) {
    network_.BeforeBlock([this](size_t block) { return deferred_.NeedBlock(block); });
  }
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
  status_.emplace(run_folder_, communicator_.rank() == 0, communicator_.world_size(),
                  cursor_.samples, plan_.samples);
  SS_RETURN_IF_ERROR(status_->Enter(record::RunState::kStarting));
  rank_facts_ = record::RankFacts();
  SS_RETURN_IF_ERROR(
      base::WriteFileAtomic(RankFile("host", "json"), rank_facts_.Dump() + "\n"));
  SS_TRY(metrics_,
         MetricsLog::Open(
             base::JoinPath(run_folder_, record::MetricsFileName(communicator_.rank())),
             cursor_.steps));
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
  options.parts = static_cast<size_t>(plan_.accumulation);
  return options;
}

std::vector<NamedArray> Trainer::State() {
  const std::vector<model::ParameterInfo>& layout = network_.parameters();
  std::vector<NamedArray> arrays;
  AddState("value", layout, network_.values(), arrays);
  if (!network_.statistics().empty()) {
    AddState("statistics", network_.statistics_layout(), network_.statistics(), arrays);
  }
  for (const StateView& view : optimizer_->state()) {
    AddState(view.name, layout, view.values, arrays);
  }
  for (const StateView& view : reducer_.state()) {
    AddState(view.name, layout, view.values, arrays);
  }
  return arrays;
}

base::Status Trainer::Restore(const FoundCheckpoint& found) {
  SS_TRY(cursor_,
         TakeCheckpoint(found.state, found.path, plan_, source_->Facts(), State()));
  optimizer_->set_steps(cursor_.steps);
  reducer_.AfterRestore();
  reducer_.set_tuned_bucket_bytes(cursor_.tuned_bucket_bytes);
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

// Between two traced steps: what lies outside would make the trace as long as the run,
// and all steps that are not in it would read as idle.
bool Trainer::InsideTrace() const {
  return tracer_.Covers(cursor_.steps) && tracer_.Covers(cursor_.steps + 1);
}

bool Trainer::Due(int64_t before, int64_t every) const {
  if (cursor_.samples >= plan_.samples) return true;
  return every > 0 && cursor_.samples / every > before / every;
}

base::Status Trainer::Run() {
  base::Status status = TrainToTheEnd();
  if (!status.has_value()) {
    KeepProgress(status.error());
    // A thread inside an engine that hangs can not be joined.
    if (!reducer_.Abandon()) (void)express_.release();
  }
  return status;
}

base::Status Trainer::TrainToTheEnd() {
  while (true) {
    const GlobalBatch batch = sampler_.BatchAfter(cursor_.samples);
    if (batch.indices.empty()) break;
    SS_RETURN_IF_ERROR(checkpoints_.Poll());
    status_->Checkpointed(checkpoints_.durable_step());
    const int64_t before = cursor_.samples;
    SS_RETURN_IF_ERROR(TrainStep(batch));
    if (Due(before, plan_.eval_every_samples)) SS_RETURN_IF_ERROR(EvaluateNow());
    if (Due(before, plan_.checkpoint_every_samples)) {
      SS_RETURN_IF_ERROR(CheckpointNow());
    }
  }
  SS_RETURN_IF_ERROR(FinishStep());
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
  if (traced) {
    // Those of an evaluation or a checkpoint between two traced steps are kept.
    if (!tracer_.Opens(step)) {
      tracer_.AddCollectives(communicator_.Records(traced_calls_), clock.start_ns);
    }
    traced_calls_ = communicator_.record_count();
    if (express_ != nullptr && tracer_.Opens(step)) {
      traced_express_calls_ = express_->record_count();
    }
    tracer_.Begin();
  }
  const CounterReading counted = counters_.Read();
  record::StepRecord record;
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
  record.learning_rate = LearningRate(ScheduleOf(plan_), cursor_.samples, batch_size);
  const bool deferred = defers() && !ladder_.Covers(step);
  if (deferred) {
    DeferUpdate(record.learning_rate);
  } else {
    SS_TRY(record.grad_norm, ApplyGradients(record.learning_rate));
  }
  clock.optimizer_ns = NowNs();
  if (traced) TraceStep(step, clock);

  cursor_.steps = step;
  cursor_.samples += batch_size;
  record.step = step;
  record.epoch = batch.epoch;
  record.samples_total = cursor_.samples;
  record.rank_samples = static_cast<int64_t>(share.size());
  FillTimes(clock, record);
  record.comm_bytes = reducer_.bytes_per_step();
  FillCounters(counted, counters_.Read(), record);
  record.sample_digest = SampleDigest(share);
  ladder_.MoveTo(record);
  record.step_ns = NowNs() - clock.start_ns;
  if (deferred) {
    unfinished_ = record;
  } else {
    SS_RETURN_IF_ERROR(metrics_->Append(record::ToJson(record)));
  }
  return status_->Stepped(record);
}

base::Status Trainer::ComputeGradients(const GlobalBatch& batch,
                                       std::span<const int64_t> share,
                                       StepClock& clock) {
  SS_TRY(const LoadedBatch* loaded, loader_->Next());
  SS_CHECK(loaded->global.indices == batch.indices);
  loaded_ = loaded;
  clock.data_ns = clock.forward_ns = NowNs();
  const bool hashed = ladder_.Covers(cursor_.steps + 1);
  exchanging_ = false;
  if (hashed) {
    SS_RETURN_IF_ERROR(FinishStep());
    ladder_.Samples(share);
    ladder_.Parameters(network_.values());
  }
  if (!deferred_.pending()) SS_RETURN_IF_ERROR(BeginExchange());
  // Summed over ranks and parts this is the mean over the global batch, however it is
  // split. A rank that exchanges nothing takes the mean over its own samples.
  const size_t divisor = plan_.synchronise ? batch.indices.size() : share.size();
  const size_t parts = loaded->batch.parts();
  for (size_t part = 0; part < parts; ++part) {
    const model::Batch samples = loaded->batch.Part(part);
    // Never the last, unless the share is empty. Batch statistics over ranks are a
    // collective: every rank computes every part.
    if (samples.samples == 0 && plan_.norm != "sync_batch") continue;
    // A hashed step exchanges nothing before the local gradient is whole.
    SS_RETURN_IF_ERROR(ComputePart(samples, 1.0 / static_cast<double>(divisor),
                                   part + 1 == parts && !hashed, clock));
  }
  SS_RETURN_IF_ERROR(BeginExchange());  // unless a part has
  clock.deferred = deferred_.TakeCost();
  // What hashing costs is not blamed on the communication.
  const auto gradient = network_.gradients().first(network_.values().size());
  if (hashed) ladder_.LocalGradient(gradient);
  clock.backward_ns = NowNs();
  reducer_.set_accumulating(false);
  const bool scalars_only = defers() && !hashed;
  SS_RETURN_IF_ERROR(scalars_only ? reducer_.FinishScalars() : reducer_.Finish());
  clock.comm_ns = NowNs();
  if (hashed) ladder_.ReducedGradient(gradient);
  return {};
}

base::Status Trainer::ComputePart(const model::Batch& part, double weight, bool last,
                                  StepClock& clock) {
  const int64_t start_ns = NowNs();
  SS_TRY(const double loss, network_.Forward(part, weight));
  SS_RETURN_IF_ERROR(BeginExchange());
  // In place before the backward pass, which sends it with the first bucket.
  const auto rank = static_cast<size_t>(communicator_.rank());
  network_.gradients()[network_.values().size() + rank] += static_cast<float>(loss);
  clock.forward_ns += NowNs() - start_ns;  // of all parts together
  reducer_.set_accumulating(!last);
  return network_.Backward();
}

// Once a step, when nothing of the step before is under way any more.
base::Status Trainer::BeginExchange() {
  if (exchanging_) return {};
  SS_RETURN_IF_ERROR(FinishStep());
  reducer_.Begin(cursor_.steps + 1);
  network_.gradients().back() = StepMark(cursor_.steps + 1);
  exchanging_ = true;
  return {};
}

base::Status Trainer::CheckStepMark() {
  // Collectives of equal shape in a wrong order would go through unnoticed, and the sum
  // would mix the gradients of two steps.
  const int ranks = plan_.synchronise ? communicator_.world_size() : 1;
  const int64_t step = cursor_.steps + 1;
  const float expected = StepMark(step) * static_cast<float>(ranks);
  const float found = network_.gradients().back();
  if (found == expected) return {};
  return base::Fail("TRAIN-0030", base::ExitCode::kEnvironment,
                    fmt::format("the ranks are not in the same step: the all_reduce of "
                                "the gradients brought a step mark of {}, not {}",
                                found, expected),
                    fmt::format("rank {}, step {}", communicator_.rank(), step),
                    "compare the flight records of the ranks: one of them left out or "
                    "repeated a collective");
}

base::Result<double> Trainer::GlobalLoss() {
  SS_RETURN_IF_ERROR(CheckStepMark());
  const std::span<const float> slots = network_.gradients().subspan(
      network_.values().size(), static_cast<size_t>(communicator_.world_size()));
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
  const double norm = reducer_.gradient_norm();
  // Of the sum over ranks, so every rank stops here in the same step.
  if (!std::isfinite(norm)) return tl::unexpected(NotFiniteGradient());
  const bool clip = plan_.clip_norm > 0 && norm > plan_.clip_norm;
  optimizer_->Step(network_.values(), own, learning_rate,
                   clip ? plan_.clip_norm / norm : 1.0);
  ClearScalars();
  return norm;
}

void Trainer::ClearScalars() {
  const std::span<float> losses =
      network_.gradients().subspan(network_.values().size());
  std::fill(losses.begin(), losses.end(), 0.0F);
}

base::Status Trainer::CheckNorm(double norm, int64_t step) const {
  if (std::isfinite(norm)) return {};
  // Of the sum over ranks, so every rank stops here in the same step. The update has
  // been made by now, so the step can not be computed again to see whose gradient it
  // was, as NotFiniteGradient does.
  return base::Fail(
      "TRAIN-0210", base::ExitCode::kFinding,
      "the gradient of " + reducer_.NotFiniteParameter() + " is not finite any more",
      "sum over all ranks, step " + std::to_string(step),
      "lower learning_rate; with step_overlap = \"off\" the rank is named");
}

void Trainer::DeferUpdate(double learning_rate) {
  ClearScalars();  // their bucket has come
  deferred_.Start(learning_rate);
}

base::Status Trainer::FinishStep() {
  if (!unfinished_) return {};
  SS_RETURN_IF_ERROR(deferred_.NeedAll());
  unfinished_->grad_norm = reducer_.gradient_norm();
  SS_RETURN_IF_ERROR(CheckNorm(unfinished_->grad_norm, unfinished_->step));
  SS_RETURN_IF_ERROR(metrics_->Append(record::ToJson(*unfinished_)));
  unfinished_.reset();
  return {};
}

void Trainer::TraceStep(int64_t step, const StepClock& clock) {
  tracer_.End(step, clock.start_ns, clock.optimizer_ns);
  tracer_.AddSpan("data", clock.begin_ns, clock.data_ns);
  tracer_.AddSpan("forward", clock.data_ns, clock.forward_ns);
  tracer_.AddSpan("backward", clock.forward_ns, clock.backward_ns);
  tracer_.AddSpan("comm_wait", clock.backward_ns, clock.comm_ns);
  tracer_.AddSpan("optimizer", clock.comm_ns, clock.optimizer_ns);
  tracer_.AddCollectives(communicator_.Records(traced_calls_), clock.data_ns);
  traced_calls_ = communicator_.record_count();
  if (express_ == nullptr) return;
  // Flows lead to the buckets of the first group.
  tracer_.AddCollectives(express_->Records(traced_express_calls_), INT64_MAX);
  traced_express_calls_ = express_->record_count();
}

double Trainer::TrainSeconds() const {
  if (first_step_ns_ == 0) return earlier_seconds_;
  return earlier_seconds_ + 1e-9 * static_cast<double>(NowNs() - first_step_ns_);
}

// Ranks see different samples, so their running statistics differ: the model's are
// their mean.
base::Status Trainer::AgreeOnStatistics() {
  const std::span<float> statistics = network_.statistics();
  if (statistics.empty() || communicator_.world_size() == 1 || !plan_.synchronise) {
    return {};
  }
  SS_RETURN_IF_ERROR(communicator_.AllReduceSum(statistics));
  const auto ranks = static_cast<float>(communicator_.world_size());
  for (float& value : statistics) value /= ranks;
  return {};
}

base::Status Trainer::EvaluateNow() {
  SS_RETURN_IF_ERROR(FinishStep());
  const int64_t start_ns = NowNs();
  SS_RETURN_IF_ERROR(AgreeOnStatistics());
  SS_RETURN_IF_ERROR(status_->Enter(record::RunState::kEvaluating));
  SS_TRY(const EvaluationResult result,
         Evaluate(plan_.validation_indices, *source_, network_, communicator_));
  const int64_t end_ns = NowNs();
  if (InsideTrace()) tracer_.AddSpan("eval", start_ns, end_ns);

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
  SS_RETURN_IF_ERROR(FinishStep());
  const int64_t start_ns = NowNs();
  SS_RETURN_IF_ERROR(status_->Enter(record::RunState::kCheckpointing));
  SS_RETURN_IF_ERROR(AgreeOnStatistics());
  SS_RETURN_IF_ERROR(metrics_->Flush());  // never behind the checkpoint
  const double cpu = earlier_cpu_seconds_ + ProcessCpuSeconds();
  SS_TRY(const std::vector<std::string> all,
         communicator_.AllGather(base::FormatDouble(cpu)));
  cursor_.rank_cpu_seconds.clear();
  for (const std::string& text : all) {
    cursor_.rank_cpu_seconds.push_back(std::strtod(text.c_str(), nullptr));
  }
  cursor_.train_seconds = TrainSeconds();
  cursor_.tuned_bucket_bytes = reducer_.tuned_bucket_bytes();
  SS_RETURN_IF_ERROR(reducer_.CollectResidual());
  SS_RETURN_IF_ERROR(SaveNow());
  if (InsideTrace()) tracer_.AddSpan("checkpoint", start_ns, NowNs());
  return {};
}

base::Status Trainer::SaveNow() {
  if (communicator_.rank() != 0) return {};
  return checkpoints_.Save(cursor_.steps,
                           CheckpointText(plan_, cursor_, source_->Facts()), State());
}

}  // namespace stepslack::train
