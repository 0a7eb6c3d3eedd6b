#include "tracer.h"

#include <algorithm>
#include <utility>

namespace stepslack::train {
namespace {

constexpr int64_t kTrainingThread = 1;
constexpr int64_t kCommunicationThread = 2;

// PyTorch's spelling of a collective in trace arguments.
std::string_view KinetoName(std::string_view name) {
  if (name == "all_reduce") return "allreduce";
  if (name == "all_gather") return "allgather";
  return name;
}

}  // namespace

Tracer::Tracer(int64_t first_step, int64_t steps)
    : first_step_(first_step), steps_(steps) {}

bool Tracer::Covers(int64_t step) const {
  return step >= first_step_ && step - first_step_ < steps_;
}

void Tracer::AddSpan(std::string name, int64_t start_ns, int64_t end_ns) {
  events_.push_back({std::move(name),
                     "user_annotation",
                     start_ns,
                     end_ns - start_ns,
                     kTrainingThread,
                     {}});
}

void Tracer::AddOps(const std::vector<model::OpEvent>& ops, int64_t dropped) {
  dropped_ops_ += dropped;
  for (const model::OpEvent& op : ops) {
    events_.push_back(
        {op.name, "cpu_op", op.start_ns, op.duration_ns, kTrainingThread, {}});
  }
  ops_ += static_cast<int64_t>(ops.size());
}

void Tracer::AddCollectives(const std::vector<comm::CollectiveRecord>& records,
                            std::string_view transport, int world_size) {
  for (const comm::CollectiveRecord& record : records) {
    base::Json::Object args;
    args["Collective name"] = KinetoName(record.name);
    args["In msg nelems"] = record.elements;
    args["Out msg nelems"] = record.elements;
    args["In msg bytes"] = record.bytes;
    args["dtype"] = record.dtype;
    args["Group size"] = world_size;
    args["Process Group Name"] = "default_pg";
    args["Seq"] = record.seq;
    args["Queued us"] =
        static_cast<double>(record.start_ns - record.queued_ns) / 1000.0;
    events_.push_back({std::string(transport) + ":" + std::string(record.name),
                       "user_annotation", record.start_ns,
                       record.end_ns - record.start_ns, kCommunicationThread,
                       std::move(args)});
  }
}

base::Status Tracer::Write(const std::string& path,
                           const record::TraceHeader& header) const {
  std::vector<record::TraceEvent> events = events_;
  if (dropped_ops_ > 0 && !events.empty()) {
    // What was left out is said where it would be missed.
    events.push_back({"operations not recorded",
                      "user_annotation",
                      events.back().start_ns + events.back().duration_ns,
                      0,
                      kTrainingThread,
                      {{"count", base::Json(dropped_ops_)}}});
  }
  // Parents before children: by start, longer first.
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return a.duration_ns > b.duration_ns;
  });
  return record::WriteKinetoTrace(path, header, events);
}

}  // namespace stepslack::train
