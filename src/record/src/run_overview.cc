#include "stepslack/record/run_overview.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

constexpr double kEndingSeconds = 3;

using base::JoinPath;
using base::Json;

std::optional<Json> ReadJson(const std::string& path) {
  const auto text = base::ReadFile(path);
  if (!text) return {};
  auto json = base::ParseJson(*text, path);
  if (!json) return {};
  return std::move(*json);
}

std::optional<TrainPlan> ReadPlan(const std::string& folder) {
  const std::string path = JoinPath(folder, "plan.json");
  const auto json = ReadJson(path);
  if (!json) return {};
  auto plan = TrainPlanFromJson(*json, path);
  if (!plan) return {};
  return std::move(*plan);
}

// Ranks that left metrics, when nothing else tells how many there were.
int CountMetricFiles(const std::string& folder) {
  const auto names = base::ListFolder(folder);
  if (!names) return 0;
  return static_cast<int>(
      std::count_if(names->begin(), names->end(), [](const std::string& name) {
        return name.starts_with("metrics.") && name.ends_with(".jsonl");
      }));
}

// run.json is written last: what it says holds.
void Conclude(const RunSummary& summary, RunStatus& status) {
  status.state = summary.status == "done" ? RunState::kDone : RunState::kFailed;
  status.error = summary.failure;
  status.world_size = summary.world_size;
  if (summary.status != "done") return;
  status.step = summary.steps;
  status.samples = summary.samples;
}

// Without a status, the metrics tell how far the run came.
void TakeProgress(const RunRecord& run, RunStatus& status) {
  if (run.steps.empty() || run.steps.front().empty()) return;
  const StepRecord& last = run.steps.front().back();
  if (last.step < status.step) return;
  status.step = last.step;
  status.samples = last.samples_total;
  status.loss = last.loss;
  if (status.state == RunState::kStarting) status.state = RunState::kRunning;
}

void FindSlowest(RunOverview& overview) {
  double sum = 0;
  double most = 0;
  int counted = 0;
  int slowest = -1;
  for (size_t rank = 0; rank < overview.ranks.size(); ++rank) {
    const RankMeans& means = overview.ranks[rank];
    if (means.steps == 0) continue;
    const double own = means.step - means.comm_wait;
    sum += own;
    ++counted;
    if (slowest >= 0 && own <= most) continue;
    most = own;
    slowest = static_cast<int>(rank);
  }
  if (counted < 2 || sum <= most) return;
  overview.slowest_rank = slowest;
  overview.slowest_factor = most / ((sum - most) / (counted - 1));
}

Json PlanInShort(const TrainPlan& plan) {
  Json json;
  json.Set("model", plan.model);
  json.Set("loss", plan.loss);
  json.Set("precision", plan.precision);
  json.Set("optimizer", plan.optimizer);
  json.Set("learning_rate", plan.learning_rate);
  json.Set("schedule", plan.schedule);
  json.Set("global_batch", plan.global_batch);
  json.Set("accumulation", plan.accumulation);
  json.Set("samples", plan.samples);
  json.Set("seed", plan.seed);
  json.Set("backend", plan.backend);
  json.Set("overlap", plan.overlap);
  json.Set("synchronise", plan.synchronise);
  json.Set("compression", plan.compression);
  json.Set("target_relative_mae", plan.target_relative_mae);
  return json;
}

Json Known(double seconds) { return seconds < 0 ? Json() : Json(seconds); }

Json ToJson(const RankMeans& means, size_t rank) {
  Json json;
  json.Set("rank", static_cast<int64_t>(rank));
  json.Set("steps", means.steps);
  json.Set("step_seconds", means.step);
  json.Set("data_seconds", means.data);
  json.Set("forward_seconds", means.forward);
  json.Set("backward_seconds", means.backward);
  json.Set("comm_wait_seconds", means.comm_wait);
  json.Set("optimizer_seconds", means.optimizer);
  json.Set("other_seconds", means.other);
  json.Set("cpu_seconds", means.cpu);
  json.Set("minor_faults", means.minor_faults);
  json.Set("major_faults", means.major_faults);
  json.Set("run_queue_seconds", Known(means.run_queue));
  json.Set("throttled_seconds", Known(means.throttled));
  return json;
}

}  // namespace

bool RunOverview::Ended() const {
  return status.state == RunState::kDone || status.state == RunState::kFailed;
}

RankMeans MeansOf(const std::vector<StepRecord>& steps) {
  RankMeans means;
  const size_t first = steps.size() > 2 ? 1 : 0;
  means.steps = static_cast<int64_t>(steps.size() - first);
  if (means.steps == 0) return means;
  const double share = 1.0 / static_cast<double>(means.steps);
  const double seconds = 1e-9 * share;
  means.run_queue = means.throttled = 0;
  bool queue_told = true;
  bool quota_told = true;
  for (size_t i = first; i < steps.size(); ++i) {
    const StepRecord& step = steps[i];
    means.step += seconds * static_cast<double>(step.step_ns);
    means.data += seconds * static_cast<double>(step.data_ns);
    means.forward += seconds * static_cast<double>(step.forward_ns);
    means.backward += seconds * static_cast<double>(step.backward_ns);
    means.comm_wait += seconds * static_cast<double>(step.comm_wait_ns);
    means.optimizer += seconds * static_cast<double>(step.optimizer_ns);
    means.cpu += share * step.cpu_seconds;
    means.minor_faults += share * static_cast<double>(step.minor_faults);
    means.major_faults += share * static_cast<double>(step.major_faults);
    means.run_queue += seconds * static_cast<double>(step.run_queue_ns);
    means.throttled += seconds * static_cast<double>(step.throttled_ns);
    queue_told = queue_told && step.run_queue_ns >= 0;
    quota_told = quota_told && step.throttled_ns >= 0;
  }
  means.other = means.step - means.data - means.forward - means.backward -
                means.comm_wait - means.optimizer;
  if (!queue_told) means.run_queue = -1;
  if (!quota_told) means.throttled = -1;
  return means;
}

base::Result<RunOverview> ReadRunOverview(const std::string& folder,
                                          int64_t now_unix_ms) {
  RunOverview overview;
  overview.folder = folder;
  overview.plan = ReadPlan(folder);
  const auto status = ReadRunStatus(folder);
  if (auto summary = ReadRunSummary(folder)) overview.summary = std::move(*summary);
  const int files = CountMetricFiles(folder);
  if (!overview.plan && !status && !overview.summary && files == 0) {
    return base::Fail("REC-0022", base::ExitCode::kInput, "no run is in this folder",
                      folder, "give the folder that holds plan.json and run.json");
  }
  if (status) overview.status = *status;
  if (!status) overview.status.world_size = std::max(files, 1);
  if (overview.summary) Conclude(*overview.summary, overview.status);
  if (overview.plan) overview.status.total_samples = overview.plan->samples;
  SS_TRY(RunRecord run, ReadRunMetrics(folder, overview.status.world_size));
  TakeProgress(run, overview.status);
  for (const auto& steps : run.steps) overview.ranks.push_back(MeansOf(steps));
  if (!run.evals.empty()) overview.last_eval = run.evals.back();
  overview.skipped_lines = run.skipped_lines;
  FindSlowest(overview);
  if (overview.summary) overview.host = overview.summary->host;
  if (overview.host.is_null()) {
    overview.host = ReadJson(JoinPath(folder, "host.rank0.json")).value_or(Json());
  }
  if (!overview.Ended() && overview.status.updated_unix_ms > 0) {
    const int64_t age = now_unix_ms - overview.status.updated_unix_ms;
    overview.silent_seconds = std::max(0.0, 1e-3 * static_cast<double>(age));
    // A second and more after its last word, so that a run that just ends is not
    // blamed.
    const auto process = static_cast<pid_t>(overview.status.process);
    overview.process_gone = process > 0 && overview.silent_seconds > kEndingSeconds &&
                            ::kill(process, 0) != 0 && errno == ESRCH;
  }
  return overview;
}

Json ToJson(const RunOverview& overview) {
  Json json;
  json.Set("schema", "stepslack.run_overview/1");
  json.Set("folder", overview.folder);
  Json status = ToJson(overview.status);
  json.Set("status", std::move(status));
  json.Set("process_gone", overview.process_gone);
  json.Set("silent_seconds", Known(overview.silent_seconds));
  json.Set("plan", overview.plan ? PlanInShort(*overview.plan) : Json());
  json.Set("summary", overview.summary ? ToJson(*overview.summary) : Json());
  json.Set("last_evaluation",
           overview.last_eval ? ToJson(*overview.last_eval) : Json());
  Json ranks{Json::Array{}};
  for (size_t rank = 0; rank < overview.ranks.size(); ++rank) {
    ranks.Append(ToJson(overview.ranks[rank], rank));
  }
  json.Set("ranks", std::move(ranks));
  Json slowest;
  if (overview.slowest_rank >= 0) {
    slowest.Set("rank", overview.slowest_rank);
    slowest.Set("factor", overview.slowest_factor);
  }
  json.Set("slowest", std::move(slowest));
  json.Set("host", overview.host);
  json.Set("skipped_lines", overview.skipped_lines);
  return json;
}

}  // namespace stepslack::record
