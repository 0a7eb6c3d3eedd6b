// What a trainer leaves behind once the last sample is consumed.
#include <algorithm>
#include <utility>

#include "evaluation.h"
#include "process_usage.h"
#include "schedule.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"
#include "stepslack/model/runtime.h"
#include "stepslack/record/array_file.h"
#include "trainer.h"

namespace stepslack::train {

std::string Trainer::RankFile(const char* stem, const char* extension) const {
  return base::JoinPath(run_folder_, std::string(stem) + ".rank" +
                                         std::to_string(communicator_.rank()) + "." +
                                         extension);
}

std::string Trainer::ParametersDigest() {
  // Parameter bytes only: alignment gaps of the buffer are not parameters.
  base::Sha256 digest;
  const std::span<const float> values = network_.values();
  for (const model::ParameterInfo& info : network_.parameters()) {
    const auto part = values.subspan(static_cast<size_t>(info.offset),
                                     static_cast<size_t>(info.count));
    digest.Update(part.data(), part.size_bytes());
  }
  return digest.Finish();
}

base::Status Trainer::Finish() {
  SS_RETURN_IF_ERROR(checkpoints_.Finish());  // nothing is done before it is durable
  status_->Checkpointed(checkpoints_.durable_step());
  record::RunSummary summary;
  if (plan_.predict_test && !plan_.test_indices.empty()) {
    SS_RETURN_IF_ERROR(Predict(summary));
  }
  if (plan_.trace_steps > 0) {
    record::TraceHeader header;
    header.rank = communicator_.rank();
    header.world_size = communicator_.world_size();
    header.backend = communicator_.transport_name();
    header.base_time_ns = trace_base_ns_;
    SS_RETURN_IF_ERROR(tracer_.Write(RankFile("trace", "json.gz"), header));
  }
  SS_RETURN_IF_ERROR(metrics_->Flush());
  SS_RETURN_IF_ERROR(GatherRanks(summary));
  FillSummary(summary);
  if (communicator_.rank() != 0) return {};
  if (plan_.export_torchscript) SS_RETURN_IF_ERROR(ExportModel());
  // Before run.json, which tells that everything is there.
  SS_RETURN_IF_ERROR(status_->Enter(record::RunState::kDone));
  return base::WriteFileAtomic(base::JoinPath(run_folder_, "run.json"),
                               record::ToJson(summary).Dump() + "\n");
}

// The network, and beside it how its inputs are made and its outputs are read.
base::Status Trainer::ExportModel() {
  SS_TRY(const std::string script, network_.ExportTorchScript());
  const std::string path = base::JoinPath(run_folder_, "model.torchscript.pt");
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(path, script));
  base::Json encoding;
  encoding.Set("schema", "stepslack.model_encoding/1");
  encoding.Set("model", plan_.model);
  encoding.Set("input_planes", source_->planes());
  encoding.Set("outputs", source_->outputs());
  encoding.Set("encoding", source_->Facts());
  return base::WriteFileAtomic(base::JoinPath(run_folder_, "model.encoding.json"),
                               encoding.Dump() + "\n");
}

void Trainer::KeepProgress(const base::Error& error) {
  (void)metrics_->Flush();
  if (communicator_.rank() != 0) return;
  record::RunSummary summary;
  FillSummary(summary);
  summary.status = "failed";
  summary.failure = base::Describe(error);
  (void)status_->Fail(summary.failure);
  (void)base::WriteFileAtomic(base::JoinPath(run_folder_, "run.json"),
                              record::ToJson(summary).Dump() + "\n");
}

base::Status Trainer::Predict(record::RunSummary& summary) {
  SS_TRY(std::vector<float> predictions,
         PredictAll(plan_.test_indices, *source_, network_, communicator_));
  if (communicator_.rank() != 0) return {};
  const auto count = static_cast<int64_t>(plan_.test_indices.size());
  summary.predictions_sha256 =
      base::Sha256Of({reinterpret_cast<const char*>(predictions.data()),
                      predictions.size() * sizeof(float)});
  std::map<std::string, record::FloatArray> arrays;
  arrays["prediction"].shape = source_->PredictionShape(plan_.test_indices);
  arrays["prediction"].values = std::move(predictions);
  arrays["index"].shape = {count};
  for (int64_t index : plan_.test_indices) {
    arrays["index"].values.push_back(static_cast<float>(index));
  }
  SS_RETURN_IF_ERROR(
      record::WriteNpz(base::JoinPath(run_folder_, "predictions.npz"), arrays));
  // The other ranks wait in the next collective without using their core.
  SS_TRY(const Latency latency, MeasureLatency(plan_.test_indices, *source_, network_));
  summary.inference_seconds_per_map = latency.wall_seconds;
  summary.inference_cpu_seconds_per_map = latency.cpu_seconds;
  return {};
}

base::Status Trainer::GatherRanks(record::RunSummary& summary) {
  const std::string digest = ParametersDigest();
  base::Json mine;
  mine.Set("cpu_seconds", earlier_cpu_seconds_ + ProcessCpuSeconds());
  mine.Set("parameters_sha256", digest);
  mine.Set("hardware_tag", rank_facts_["hardware_tag"]);
  mine.Set("runtime_tag", rank_facts_["runtime_tag"]);
  SS_TRY(const std::vector<std::string> all, communicator_.AllGather(mine.Dump(-1)));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    SS_TRY(const base::Json json, base::ParseJson(all[rank], "gathered facts"));
    const double cpu = json["cpu_seconds"].AsDouble();
    summary.rank_cpu_seconds.push_back(cpu);
    summary.cpu_seconds += cpu;
    summary.hardware_tags.push_back(json["hardware_tag"].AsString());
    summary.runtime_tags.push_back(json["runtime_tag"].AsString());
    if (plan_.synchronise && json["parameters_sha256"].AsString() != digest) {
      return base::Fail("TRAIN-0022", base::ExitCode::kIntegrity,
                        "the ranks end with different parameters",
                        "rank " + std::to_string(communicator_.rank()) + " and rank " +
                            std::to_string(rank),
                        "run again; if it happens twice, suspect memory or the network "
                        "of one host");
    }
  }
  summary.parameters_sha256 = digest;
  return {};
}

void Trainer::FillSummary(record::RunSummary& summary) const {
  summary.status = "done";
  summary.host = rank_facts_;
  summary.world_size = communicator_.world_size();
  summary.parameters = network_.parameter_count();
  summary.steps = cursor_.steps;
  summary.samples = cursor_.samples;
  summary.startup_seconds = startup_seconds_;
  summary.train_seconds = cursor_.train_seconds;
  summary.target_reached = cursor_.target.reached;
  summary.seconds_to_target = cursor_.target.seconds_to;
  summary.seconds_before_target = cursor_.target.seconds_before;
  summary.samples_to_target = cursor_.target.samples_to;
  summary.restarts = cursor_.restarts;
  summary.runtime = model::RuntimeFacts();
  summary.runtime["transport"] = communicator_.transport_name();
  summary.runtime["topology"] = connection_.topology;
  summary.runtime["transport_reason"] = connection_.reason;
  summary.runtime["rendezvous"] = connection_.store;
  summary.runtime["interface"] = connection_.interface;
  summary.runtime["launcher"] = connection_.launcher;
  summary.runtime["cores_allowed"] = std::to_string(base::UsableCores());
  const bool full_size =
      plan_.model == "fcn" || (plan_.model == "unet" && plan_.stem == "plain");
  summary.runtime["convolution"] =
      full_size && plan_.precision == "float32" ? "winograd where it fits" : "direct";
  summary.runtime["optimizer"] = optimizer_->name();
  summary.runtime["peak_learning_rate"] = base::FormatDouble(ScheduleOf(plan_).peak);
  reducer_.Describe(summary.runtime);
  summary.runtime["input_planes"] = std::to_string(source_->planes());
  FillDataFacts(summary);
  FillTags(summary);
}

void Trainer::FillTags(record::RunSummary& summary) const {
  record::TrainPlan model = plan_;
  for (auto* indices :
       {&model.train_indices, &model.validation_indices, &model.test_indices}) {
    indices->clear();
  }
  summary.config = record::ToJson(model);
  // What is left is the model: where and what the data are has a tag of its own, and
  // loader, records and time-outs change nothing that is trained.
  model.inputs_path.clear();
  model.targets_path.clear();
  model.dataset_sha256.clear();
  summary.tags["model"] =
      base::Sha256Of(PlanDigest(model) + " " + std::to_string(summary.parameters));
  summary.tags["dataset"] = plan_.dataset_sha256.empty()
                                ? base::Sha256Of(source_->Facts().Dump(-1))
                                : plan_.dataset_sha256;
  summary.tags["runtime"] = rank_facts_["runtime_tag"].AsString();
  summary.tags["hardware"] = rank_facts_["hardware_tag"].AsString();
}

void Trainer::FillDataFacts(record::RunSummary& summary) const {
  const LoaderStats& loader = loader_->stats();
  const CheckpointCost& cost = checkpoints_.cost();
  const auto batches = static_cast<double>(std::max<int64_t>(1, loader.batches));
  auto& facts = summary.runtime;
  facts["loader_threads"] = std::to_string(loader.threads);
  facts["loader_batches"] = std::to_string(loader.batches);
  facts["loader_waits"] = std::to_string(loader.waits);
  facts["loader_wait_seconds"] =
      base::FormatDouble(1e-9 * static_cast<double>(loader.wait_ns));
  facts["loader_longest_wait_seconds"] =
      base::FormatDouble(1e-9 * static_cast<double>(loader.longest_ns));
  facts["loader_mean_queue"] =
      base::FormatDouble(static_cast<double>(loader.ready) / batches);
  facts["checkpoints_saved"] = std::to_string(cost.saves);
  facts["checkpoints_skipped"] = std::to_string(skipped_checkpoints_);
  facts["checkpoint_copy_seconds"] = base::FormatDouble(cost.copy_seconds);
  facts["checkpoint_wait_seconds"] = base::FormatDouble(cost.wait_seconds);
  facts["checkpoint_write_seconds"] = base::FormatDouble(cost.write_seconds);
  facts["checkpoint_write_cpu_seconds"] = base::FormatDouble(cost.write_cpu_seconds);
}

}  // namespace stepslack::train
