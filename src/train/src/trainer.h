// Trains one plan on one rank: the loop, its records, and what it leaves behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint.h"
#include "checkpoint_folder.h"
#include "checkpoint_writer.h"
#include "deferred_update.h"
#include "hash_ladder.h"
#include "loader.h"
#include "metrics_log.h"
#include "optimizer.h"
#include "reducer.h"
#include "sample_source.h"
#include "sampler.h"
#include "status_file.h"
#include "step_counters.h"
#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/comm/connect.h"
#include "stepslack/model/network.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/train_plan.h"
#include "tracer.h"

namespace stepslack::train {

class Trainer {
 public:
  // Reads the data, builds the network and restores the newest checkpoint of the folder
  // if there is one. `plan` and `communicator` must outlive the trainer. Every rank
  // must call this, and Run, with the same plan. Errors: those of the parts.
  static base::Result<std::unique_ptr<Trainer>> Create(
      const std::string& run_folder, const record::TrainPlan& plan,
      const comm::ConnectionFacts& connection, comm::Communicator& communicator);

  // Trains to plan.samples, then writes predictions, trace and run.json. Errors:
  // TRAIN-0020 a loss and TRAIN-0021 a gradient is not finite, TRAIN-0030 the ranks are
  // not in the same step, TRAIN-0022 the ranks end with different parameters.
  base::Status Run();

 private:
  Trainer(std::string run_folder, const record::TrainPlan& plan,
          const comm::ConnectionFacts& connection, comm::Communicator& communicator,
          std::unique_ptr<SampleSource> source, model::Network network,
          std::unique_ptr<comm::Communicator> express);

  // Moments at which the phases of a step end.
  struct StepClock {
    int64_t start_ns = 0, begin_ns = 0;  // a test fault lies between the two
    int64_t data_ns = 0, forward_ns = 0, backward_ns = 0, comm_ns = 0, optimizer_ns = 0;
    // Of the step before, inside the forward pass.
    DeferredUpdate::Cost deferred;
  };

  static void FillTimes(const StepClock& clock, record::StepRecord& record);
  base::Status StartOrResume();
  base::Status Restore(const FoundCheckpoint& found);
  std::vector<NamedArray> State();
  base::Status TrainStep(const GlobalBatch& batch);
  base::Status ComputeGradients(const GlobalBatch& batch,
                                std::span<const int64_t> share, StepClock& clock);
  // Forward and backward pass of one part of this rank's share.
  base::Status ComputePart(const model::Batch& part, double weight, bool last,
                           StepClock& clock);
  LoaderOptions LoaderOptionsOf() const;
  base::Status CheckStepMark();
  base::Result<double> GlobalLoss();
  base::Result<double> ApplyGradients(double learning_rate);
  // Exchange mode `step`: leaves the update to the next forward pass. The record waits
  // for its gradient norm until FinishStep, which everything that reads parameters or
  // gradients calls before.
  void DeferUpdate(double learning_rate);
  base::Status FinishStep();
  base::Status CheckNorm(double norm, int64_t step) const;
  bool defers() const { return reducer_.mode() == ExchangeMode::kStep; }
  base::Status BeginExchange();
  void ClearScalars();
  void TraceStep(int64_t step, const StepClock& clock);
  base::Status AgreeOnStatistics();
  base::Status EvaluateNow();
  base::Status CheckpointNow();
  base::Status SaveNow();
  std::vector<StateView> StateViews();  // of optimizer and gradient exchange
  bool Due(int64_t before, int64_t every) const;
  bool InsideTrace() const;
  double TrainSeconds() const;

  base::Status TrainToTheEnd();

  // not_finite.cc
  base::Error NotFiniteGradient();
  std::string OwnNotFiniteParameter();

  // trainer_finish.cc
  // What a run that ends with an error leaves: best effort, the error goes on.
  base::Status ExportModel();
  void KeepProgress(const base::Error& error);
  base::Status Finish();
  base::Status Predict(record::RunSummary& summary);
  base::Status GatherRanks(record::RunSummary& summary);
  void FillSummary(record::RunSummary& summary) const;
  void FillTags(record::RunSummary& summary) const;
  void FillDataFacts(record::RunSummary& summary) const;
  std::string ParametersDigest();
  std::string RankFile(const char* stem, const char* extension) const;

  std::string run_folder_;
  const record::TrainPlan& plan_;
  comm::ConnectionFacts connection_;
  comm::Communicator& communicator_;
  std::unique_ptr<SampleSource> source_;
  model::Network network_;
  std::unique_ptr<comm::Communicator> express_;  // mode `step`; else null
  std::unique_ptr<Optimizer> optimizer_;
  Reducer reducer_;
  DeferredUpdate deferred_;
  std::optional<record::StepRecord> unfinished_;  // of the last step, without its norm
  bool exchanging_ = false;  // the reducer has begun with the step that is computed
  Sampler sampler_;
  Tracer tracer_;
  StepCounters counters_;
  HashLadder ladder_;
  base::Json rank_facts_;
  std::optional<StatusFile> status_;
  std::optional<MetricsLog> metrics_;

  TrainCursor cursor_;
  double earlier_seconds_ = 0;      // of training, in attempts before this process
  double earlier_cpu_seconds_ = 0;  // of this rank, likewise
  int64_t first_step_ns_ = 0;       // 0: no step yet in this process
  double startup_seconds_ = 0;
  int64_t traced_express_calls_ = 0;
  int64_t traced_calls_ = 0;   // of the communicator, up to the last traced step
  int64_t trace_base_ns_ = 0;  // the same on every rank

  int skipped_checkpoints_ = 0;  // damaged ones
  CheckpointWriter checkpoints_;
  const LoadedBatch* loaded_ = nullptr;  // of the step that is computed
  std::optional<Loader> loader_;         // last: its threads read the source
};

}  // namespace stepslack::train
