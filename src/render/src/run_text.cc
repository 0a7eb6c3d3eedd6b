#include "stepslack/render/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "display_text.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "text_table.h"

namespace stepslack::render {
namespace {

using record::RankMeans;
using record::RunOverview;
using record::RunState;

constexpr size_t kWidth = 100;
constexpr size_t kLabel = 12;
constexpr size_t kMostRanks = 32;
constexpr size_t kMostLines = 6;

class Page {
 public:
  void Line(std::string_view text) { out_.append(text).append("\n"); }
  // "  label       text", wrapped under itself; nothing for an empty text.
  void Item(std::string_view label, std::string_view text) {
    if (text.empty()) return;
    const auto lines = WrapColumns(OneLine(text), kWidth - kLabel - 4, kMostLines);
    for (size_t i = 0; i < lines.size(); ++i) {
      Line(fmt::format("  {:<{}}  {}", i == 0 ? label : "", kLabel, lines[i]));
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string StateText(const RunOverview& run, bool colour) {
  const RunState state = run.status.state;
  std::string text(ToString(state));
  std::string_view paint = "";
  if (state == RunState::kDone) paint = "\x1b[32m";
  if (state == RunState::kFailed) paint = "\x1b[31m";
  if (run.process_gone) {
    paint = "\x1b[31m";
    text += ", but its process is gone: it was killed, or runs on another host";
  } else if (run.Silent()) {
    paint = "\x1b[33m";
    text += fmt::format(", but nothing was heard of it for {}: perhaps it was killed",
                        base::HumanDuration(run.silent_seconds));
  }
  return colour && !paint.empty() ? fmt::format("{}{}\x1b[0m", paint, text) : text;
}

std::string PlanText(const record::TrainPlan& plan) {
  std::string text =
      fmt::format("{} with {} loss in {}; {} at {}, {}; batch {}", plan.model,
                  plan.loss, plan.precision, plan.optimizer,
                  base::Human(plan.learning_rate), plan.schedule, plan.global_batch);
  if (plan.accumulation > 1) text += fmt::format(" in {} parts", plan.accumulation);
  text += fmt::format("; {} samples, seed {}; backend {}", plan.samples, plan.seed,
                      plan.backend);
  if (!plan.synchronise) text += ", no gradient exchange";
  if (plan.synchronise && !plan.overlap) text += ", no overlap";
  if (plan.compression != "none") text += ", compression " + plan.compression;
  return text;
}

// The unit of maps is known; that of a user's table or graphs is not.
std::string EvaluationText(const record::EvalRecord& eval, bool maps) {
  return fmt::format("step {}: relative MAE {}, MAE {}{}, loss {}; took {}", eval.step,
                     base::Human(eval.relative_mae), base::Human(eval.mae_mv),
                     maps ? " mV" : "", base::Human(eval.loss),
                     base::HumanDuration(eval.eval_seconds));
}

std::string ResultText(const record::RunSummary& summary) {
  if (summary.status != "done") return "";
  std::string text =
      fmt::format("{} parameters, {} steps in {}, start {}, {} CPU", summary.parameters,
                  summary.steps, base::HumanDuration(summary.train_seconds),
                  base::HumanDuration(summary.startup_seconds),
                  base::HumanDuration(summary.cpu_seconds));
  if (summary.target_reached) {
    text += fmt::format("; target reached after {} samples in {}",
                        summary.samples_to_target,
                        base::HumanDuration(summary.seconds_to_target));
  }
  if (summary.restarts > 0) text += fmt::format("; {} restarts", summary.restarts);
  return text;
}

std::string HostText(const base::Json& host) {
  if (host.is_null()) return "";
  const auto plural = [](int64_t count) { return count == 1 ? "" : "s"; };
  const int64_t cores = host["cores"].AsInt();
  const int64_t nodes = host["numa_nodes"].AsInt();
  std::string text = fmt::format(
      "{}; {} core{} for rank 0 ({}), {} NUMA node{}, {} memory, kernel {}",
      host["host"]["cpu_model"].AsString(), cores, plural(cores),
      host["cores_allowed"].AsString(), nodes, plural(nodes),
      host["host"]["memory_total"].AsString(), host["host"]["kernel"].AsString());
  const base::Json& quota = host["cgroup"]["cpu_quota_cores"];
  if (quota.is_number()) {
    text += fmt::format("; quota {} cores", base::Human(quota.AsDouble()));
  }
  const base::Json& clock = host["clock_mhz"]["current"];
  if (clock.is_number()) {
    text += fmt::format("; {} MHz at start", base::Human(clock.AsDouble()));
  }
  return text;
}

// Different tags mean that the ranks are not alike.
std::string TagsText(const RunOverview& run) {
  if (run.host.is_null()) return "";
  std::string text = fmt::format("runtime {}, hardware {}",
                                 ShortDigest(run.host["runtime_tag"].AsString()),
                                 ShortDigest(run.host["hardware_tag"].AsString()));
  if (const auto& core = run.host["blas"]["core_type"]; core.is_string()) {
    text += ", OpenBLAS for " + core.AsString();
  }
  const auto differ = [](const std::vector<std::string>& tags) {
    return std::any_of(tags.begin(), tags.end(),
                       [&](const std::string& tag) { return tag != tags.front(); });
  };
  if (run.summary && differ(run.summary->runtime_tags)) {
    text += "; the ranks' runtimes differ";
  }
  if (run.summary && differ(run.summary->hardware_tags)) {
    text += "; the ranks' hardware differs";
  }
  return text;
}

std::string Milliseconds(double seconds) {
  return seconds < 0 ? "-" : fmt::format("{:.2f}", 1e3 * seconds);
}

std::vector<TextCell> Row(std::string name, const RankMeans& means) {
  std::vector<TextCell> cells = {{std::move(name), ""},
                                 {std::to_string(means.steps), ""}};
  for (const double seconds :
       {means.step, means.data, means.forward, means.backward, means.comm_wait,
        means.optimizer, means.other, means.cpu, means.run_queue, means.throttled}) {
    cells.push_back({Milliseconds(seconds), ""});
  }
  cells.push_back({fmt::format("{:.0f}", means.minor_faults), ""});
  return cells;
}

void AddSteps(const RunOverview& run, Page& page) {
  std::vector<std::vector<TextCell>> rows;
  size_t left_out = 0;
  for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
    if (run.ranks[rank].steps == 0) continue;
    if (rows.size() < kMostRanks) {
      rows.push_back(Row(std::to_string(rank), run.ranks[rank]));
    } else {
      ++left_out;
    }
  }
  if (rows.empty()) return;
  std::vector<TextColumn> columns;
  for (const char* name : {"rank", "steps", "step", "data", "fwd", "bwd", "comm wait",
                           "optim", "other", "CPU", "queue", "throttled", "faults"}) {
    columns.push_back({name, true});
  }
  page.Line("\nA step, means in ms (queue: ready but not running; faults: pages)");
  for (const std::string& line : FormatTable(columns, rows, kWidth)) page.Line(line);
  if (left_out > 0) page.Line(fmt::format("and {} more ranks", left_out));
  if (run.slowest_rank >= 0) {
    page.Line(
        fmt::format("slowest: rank {}, its own work takes {:.2f} times that of "
                    "the others",
                    run.slowest_rank, run.slowest_factor));
  }
}

}  // namespace

std::string RenderRunText(const RunOverview& run, bool colour) {
  Page page;
  page.Line(fmt::format("run {}: {}", OneLine(base::FileName(run.folder)),
                        StateText(run, colour)));
  page.Item("progress", ProgressLine(run.status));
  page.Item("error", run.status.error);
  if (run.plan) page.Item("plan", PlanText(*run.plan));
  page.Item("ranks", std::to_string(run.status.world_size));
  if (run.last_eval)
    page.Item("evaluation",
              EvaluationText(*run.last_eval, !run.plan || run.plan->model == "unet" ||
                                                 run.plan->model == "fcn"));
  if (run.status.checkpoint_step >= 0) {
    page.Item("checkpoint", fmt::format("step {}", run.status.checkpoint_step));
  }
  if (run.summary) page.Item("result", ResultText(*run.summary));
  page.Item("host", HostText(run.host));
  page.Item("tags", TagsText(run));
  AddSteps(run, page);
  if (run.skipped_lines > 0) {
    page.Line(fmt::format("damaged metric lines, left out: {}", run.skipped_lines));
  }
  return page.Take();
}

}  // namespace stepslack::render
