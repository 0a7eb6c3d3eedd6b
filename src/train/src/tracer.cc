#include "tracer.h"

#include <algorithm>
#include <utility>

namespace stepslack::train {
namespace {

constexpr int64_t kTrainingThread = 1;
constexpr int64_t kCommunicationThread = 2;
// Room that is made before training; a U-Net step has about 400 operations.
constexpr int64_t kOpsPerStep = 4'000;
constexpr int64_t kMaxOps = 100'000;
constexpr int64_t kCollectivesPerStep = 64;
constexpr int64_t kMaxCollectives = 8'192;

// PyTorch's spelling of a collective in trace arguments.
std::string_view KinetoName(std::string_view name) {
  if (name == "all_reduce") return "allreduce";
  if (name == "all_gather") return "allgather";
  return name;
}

// What a record says beyond the least: transports that choose an algorithm, or differ
// from call to call, name it in the record.
template <typename Record>
std::string_view AlgorithmOf(const Record& record) {
  if constexpr (requires { record.algorithm; }) {
    if (!record.algorithm.empty()) return record.algorithm;
  }
  return "engine default";
}

template <typename Record>
std::string_view TransportOf(const Record& record, std::string_view otherwise) {
  if constexpr (requires { record.transport; }) {
    if (!record.transport.empty()) return record.transport;
  }
  return otherwise;
}

template <typename Record>
std::string_view GroupOf(const Record& record) {
  if constexpr (requires { record.group; }) {
    if (!record.group.empty()) return record.group;
  }
  return "default_pg";
}

template <typename Record>
int GroupSizeOf(const Record& record, int world_size) {
  if constexpr (requires { record.group_size; }) {
    if (record.group_size > 0) return record.group_size;
  }
  return world_size;
}

base::Json::Object CollectiveArgs(const comm::CollectiveRecord& record,
                                  const record::TraceHeader& header) {
  base::Json::Object args;
  args["Collective name"] = KinetoName(record.name);
  args["In msg nelems"] = record.elements;
  args["Out msg nelems"] = record.elements;
  args["In msg bytes"] = record.bytes;
  args["dtype"] = record.dtype;
  args["Group size"] = GroupSizeOf(record, header.world_size);
  args["Process Group Name"] = GroupOf(record);
  args["Seq"] = record.seq;
  args["Algorithm"] = AlgorithmOf(record);
  args["Transport"] = TransportOf(record, header.backend);
  // In microseconds relative to the base time, as "ts" is: with ts and dur these are
  // the three times of a collective.
  args["Enqueue us"] =
      static_cast<double>(record.queued_ns - header.base_time_ns) / 1000.0;
  args["Queued us"] = static_cast<double>(record.start_ns - record.queued_ns) / 1000.0;
  return args;
}

}  // namespace

Tracer::Tracer(int64_t first_step, int64_t steps)
    : first_step_(first_step), steps_(steps) {
  if (steps_ <= 0) return;
  ops_.emplace(std::min(kMaxOps, steps_ * kOpsPerStep));
  spans_.reserve(static_cast<size_t>(std::min<int64_t>(steps_, 1'000) * 8));
  collectives_.reserve(
      static_cast<size_t>(std::min(kMaxCollectives, steps_ * kCollectivesPerStep)));
}

bool Tracer::Covers(int64_t step) const {
  return step >= first_step_ && step - first_step_ < steps_;
}

void Tracer::Begin() { ops_->Start(); }

void Tracer::End(int64_t step, int64_t start_ns, int64_t end_ns) {
  ops_->Stop();
  last_step_ = step;
  spans_.push_back({{}, step, start_ns, end_ns});
}

void Tracer::AddSpan(std::string_view name, int64_t start_ns, int64_t end_ns) {
  spans_.push_back({name, 0, start_ns, end_ns});
}

void Tracer::AddCollectives(std::span<const comm::CollectiveRecord> records,
                            int64_t exchange_start_ns) {
  int64_t bucket = 0;
  for (const comm::CollectiveRecord& record : records) {
    const bool is_bucket = record.queued_ns >= exchange_start_ns;
    collectives_.push_back({record, is_bucket ? bucket++ : -1});
  }
}

void Tracer::AppendSpans(std::vector<record::TraceEvent>& events) const {
  for (const Span& span : spans_) {
    std::string name(span.name);
    if (name.empty()) name = "ProfilerStep#" + std::to_string(span.step);
    events.push_back({std::move(name),
                      "user_annotation",
                      span.start_ns,
                      span.end_ns - span.start_ns,
                      kTrainingThread,
                      {}});
  }
}

void Tracer::AppendOps(std::vector<record::TraceEvent>& events) const {
  if (!ops_.has_value()) return;
  for (const model::OpEvent& op : ops_->events()) {
    events.push_back({ops_->names()[static_cast<size_t>(op.name)],
                      "cpu_op",
                      op.start_ns,
                      op.end_ns - op.start_ns,
                      kTrainingThread,
                      {}});
  }
  if (ops_->dropped() == 0 || events.empty()) return;
  // What was left out is said where it would be missed.
  events.push_back({"operations not recorded",
                    "user_annotation",
                    events.back().start_ns + events.back().duration_ns,
                    0,
                    kTrainingThread,
                    {{"count", base::Json(ops_->dropped())}}});
}

void Tracer::AppendCollectives(const record::TraceHeader& header,
                               std::vector<record::TraceEvent>& events,
                               std::vector<record::TraceFlow>& flows) const {
  int64_t id = 0;
  for (const Collective& collective : collectives_) {
    const comm::CollectiveRecord& record = collective.record;
    ++id;
    base::Json::Object args = CollectiveArgs(record, header);
    args["External id"] = id;
    base::Json::Object launch = {{"External id", base::Json(id)},
                                 {"Seq", base::Json(record.seq)}};
    std::string mark = "launch collective";
    if (collective.bucket >= 0) {
      args["Bucket"] = launch["Bucket"] = collective.bucket;
      mark = "launch bucket " + std::to_string(collective.bucket);
    }
    const std::string transport(TransportOf(record, header.backend));
    events.push_back({transport + ":" + std::string(record.name), "user_annotation",
                      record.start_ns, record.end_ns - record.start_ns,
                      kCommunicationThread, std::move(args)});
    // The moment of the launch, made the least long that a viewer's arrow can bind to.
    events.push_back({std::move(mark), "cpu_op", record.queued_ns, 1, kTrainingThread,
                      std::move(launch)});
    flows.push_back(
        {id, kTrainingThread, record.queued_ns, kCommunicationThread, record.start_ns});
  }
}

base::Status Tracer::Write(const std::string& path,
                           const record::TraceHeader& header) const {
  std::vector<record::TraceEvent> events;
  std::vector<record::TraceFlow> flows;
  AppendSpans(events);
  AppendOps(events);
  AppendCollectives(header, events, flows);
  // Parents before children: by start, longer first.
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return a.duration_ns > b.duration_ns;
  });
  return record::WriteKinetoTrace(path, header, events, flows);
}

}  // namespace stepslack::train
