#include "stepslack/train/worker.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "plan_check.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/comm/connect.h"
#include "stepslack/comm/flight_recorder.h"
#include "stepslack/model/runtime.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/run_status.h"
#include "stepslack/record/train_plan.h"
#include "trainer.h"

namespace stepslack::train {
namespace {

base::Result<record::TrainPlan> ReadPlan(const std::string& run_folder) {
  const std::string path = base::JoinPath(run_folder, "plan.json");
  SS_TRY(const std::string text, base::ReadFile(path));
  SS_TRY(const base::Json json, base::ParseJson(text, path));
  SS_TRY(record::TrainPlan plan, record::TrainPlanFromJson(json, path));
  SS_RETURN_IF_ERROR(CheckPlan(plan));
  return plan;
}

// The result of an earlier attempt must not be taken for the result of this one.
base::Status RemoveOldSummary(const std::string& run_folder) {
  const std::string path = base::JoinPath(run_folder, "run.json");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::Fail(
        "TRAIN-0014", base::ExitCode::kEnvironment,
        std::string("cannot remove the old result: ") + std::strerror(errno), path,
        "check permissions of the folder");
  }
  return {};
}

// Best effort: the error itself goes to the caller.
void WriteFailure(const std::string& run_folder, const base::Error& error,
                  int world_size) {
  record::RunSummary summary;
  summary.status = "failed";
  summary.failure = base::Describe(error);
  summary.world_size = world_size;
  (void)base::WriteFileAtomic(base::JoinPath(run_folder, "run.json"),
                              record::ToJson(summary).Dump() + "\n");
  record::MarkRunFailed(run_folder, summary.failure, world_size);
}

comm::ConnectOptions ConnectOptionsOf(const std::string& run_folder,
                                      const record::TrainPlan& plan) {
  comm::ConnectOptions options;
  options.backend = plan.backend;
  options.timeout_seconds = plan.timeout_seconds;
  options.link.latency_us = plan.link_latency_us;
  options.link.megabits = plan.link_megabits;
  options.link.loss = plan.link_loss;
  options.link.seed = plan.seed;
  options.all_reduce = plan.all_reduce;
  options.message_bytes = plan.bucket_bytes;
  // A run lies in ROOM/.stepslack/runs/ID; `bench comm` keeps its table in .stepslack.
  options.cost_table = base::JoinPath(
      base::ParentFolder(base::ParentFolder(run_folder)), "comm_table.json");
  return options;
}

// Best effort: which collective each rank is in, when it gives up or is asked.
void DumpFlightRecord(const std::string& run_folder, const record::TrainPlan& plan,
                      const comm::Communicator& communicator) {
  comm::FlightFacts facts;
  facts.rank = communicator.rank();
  facts.world_size = communicator.world_size();
  facts.transport = communicator.transport_name();
  facts.timeout_seconds = plan.timeout_seconds;
  const std::string path =
      base::JoinPath(run_folder, comm::FlightFileName(communicator.rank()));
  (void)comm::WriteFlightRecord(path, communicator.Records(), communicator.Pending(),
                                facts);
}

base::Status TrainOn(const std::string& run_folder, const record::TrainPlan& plan,
                     const comm::ConnectionFacts& connection,
                     comm::Communicator& communicator) {
  SS_TRY(auto trainer, Trainer::Create(run_folder, plan, connection, communicator));
  SS_RETURN_IF_ERROR(trainer->Run());
  return communicator.Barrier();  // nobody leaves while another still needs it
}

}  // namespace

base::Status RunWorker(const std::string& run_folder) {
  SS_TRY(const record::RankEnvironment environment, record::ReadRankEnvironment());
  SS_TRY(const record::TrainPlan plan, ReadPlan(run_folder));
  if (environment.rank == 0) SS_RETURN_IF_ERROR(RemoveOldSummary(run_folder));
  model::ConfigureRuntime();
  comm::ConnectionFacts connection;
  SS_TRY(auto communicator,
         comm::Connect(environment, ConnectOptionsOf(run_folder, plan), &connection));
  // kill -USR1: what is this rank waiting for?
  const comm::DumpOnSignal on_signal(
      [&] { DumpFlightRecord(run_folder, plan, *communicator); });
  base::Status status = TrainOn(run_folder, plan, connection, *communicator);
  if (!status.has_value()) {
    communicator->MarkFailed();
    DumpFlightRecord(run_folder, plan, *communicator);
    // A trainer that had begun has said more than is known here.
    if (environment.rank == 0 &&
        !base::PathExists(base::JoinPath(run_folder, "run.json"))) {
      WriteFailure(run_folder, status.error(), environment.world_size);
    }
    // Left behind on purpose: its thread may be stuck inside the engine, and joining it
    // would turn an error into a hang. The process ends right after.
    (void)communicator.release();
  }
  return status;
}

}  // namespace stepslack::train
