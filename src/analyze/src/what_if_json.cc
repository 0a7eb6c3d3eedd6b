#include <utility>

#include "stepslack/analyze/what_if.h"

namespace stepslack::analyze {
namespace {

using base::Json;

void SetShare(Json& json, std::string_view key, const std::optional<WhatIfShare>& share,
              const std::string& reason) {
  if (!share) {
    json.Set(key, nullptr);
    json.Set(std::string(key) + "_reason", reason);
    return;
  }
  json.Set(key, share->share);
  Json detail;
  detail.Set("alone", share->alone);
  detail.Set("only_step_ns", share->only_step_ns);
  detail.Set("without_step_ns", share->without_step_ns);
  json.Set(std::string(key) + "_detail", std::move(detail));
}

Json Parts(const std::vector<WhatIfPart>& parts, std::string_view key) {
  Json list{Json::Array{}};
  for (const WhatIfPart& part : parts) {
    Json entry;
    entry.Set(key, part.id).Set("slowdown", part.slowdown);
    list.Append(std::move(entry));
  }
  return list;
}

Json Workers(const std::vector<WhatIfWorker>& workers) {
  Json list{Json::Array{}};
  for (const WhatIfWorker& worker : workers) {
    Json entry;
    entry.Set("rank", worker.rank);
    entry.Set("dp_rank", worker.dp_rank);
    entry.Set("stage", worker.stage);
    entry.Set("slowdown", worker.slowdown);
    list.Append(std::move(entry));
  }
  return list;
}

Json Ops(const std::vector<WhatIfOp>& ops) {
  Json list{Json::Array{}};
  for (const WhatIfOp& op : ops) {
    Json entry;
    entry.Set("op", op.op);
    entry.Set("slowdown", op.slowdown);
    list.Append(std::move(entry));
  }
  return list;
}

Json Steps(const std::vector<WhatIfStep>& steps) {
  Json list{Json::Array{}};
  for (const WhatIfStep& step : steps) {
    Json entry;
    entry.Set("step", step.step);
    entry.Set("measured_ns", step.measured_ns);
    entry.Set("actual_ns", step.actual_ns);
    entry.Set("ideal_ns", step.ideal_ns);
    entry.Set("S", step.slowdown);
    list.Append(std::move(entry));
  }
  return list;
}

Json LeftOut(const std::vector<WhatIfLeftOut>& left_out) {
  Json list{Json::Array{}};
  for (const WhatIfLeftOut& left : left_out) {
    Json entry;
    entry.Set("reason", left.reason);
    entry.Set("steps", left.steps);
    entry.Set("first_step", left.first_step);
    list.Append(std::move(entry));
  }
  return list;
}

}  // namespace

base::Json ToJson(const WhatIf& what_if) {
  Json json;
  json.Set("S", what_if.slowdown);
  SetShare(json, "M_W", what_if.slowest_workers, what_if.no_slowest_workers);
  SetShare(json, "M_S", what_if.last_stage, what_if.no_last_stage);
  json.Set("launch_slowdown", what_if.launch_slowdown);
  json.Set("measured_step_ns", what_if.measured_step_ns);
  json.Set("actual_step_ns", what_if.actual_step_ns);
  json.Set("ideal_step_ns", what_if.ideal_step_ns);
  Json slowest{Json::Array{}};
  for (const int32_t rank : what_if.slowest_ranks) slowest.Append(rank);
  json.Set("slowest_ranks", std::move(slowest));
  json.Set("by_rank", Workers(what_if.by_rank));
  json.Set("by_dp_rank", Parts(what_if.by_dp_rank, "dp_rank"));
  json.Set("by_stage", Parts(what_if.by_stage, "stage"));
  json.Set("by_op", Ops(what_if.by_op));
  json.Set("steps", Steps(what_if.steps));
  json.Set("left_out", LeftOut(what_if.left_out));
  json.Set("ops_used", what_if.ops_used);
  json.Set("ops_of_other_ranks", what_if.ops_of_other_ranks);
  return json;
}

}  // namespace stepslack::analyze
