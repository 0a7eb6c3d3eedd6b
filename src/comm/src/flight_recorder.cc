#include "stepslack/comm/flight_recorder.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"

namespace stepslack::comm {
namespace {

constexpr const char* kDumpVersion = "2.4";

// From the monotonic clock of the records to ns since 1970.
int64_t WallClockOffset() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() -
         base::NowNs();
}

class Writer {
 public:
  explicit Writer(const FlightFacts& facts)
      : facts_(facts), offset_ns_(WallClockOffset()) {}

  void Add(const CollectiveRecord& record, bool finished) {
    const bool started = record.start_ns != 0;
    base::Json entry;
    entry.Set("record_id", static_cast<int64_t>(entries_.size()));
    entry.Set("pg_id", 0);
    base::Json::Array group = {facts_.group, facts_.group_description};
    entry.Set("process_group", std::move(group));
    entry.Set("collective_seq_id", record.seq);
    entry.Set("p2p_seq_id", 0);
    entry.Set("op_id", record.seq);
    entry.Set("profiling_name", facts_.transport + ":" + std::string(record.name));
    const bool is_p2p = record.name == "send" || record.name == "recv";
    entry.Set("is_p2p", is_p2p);
    AddTensors(record, entry);
    entry.Set("state", finished ? "completed" : started ? "started" : "scheduled");
    entry.Set("time_created_ns", record.queued_ns + offset_ns_);
    entry.Set("time_discovered_started_ns", Time(started, record.start_ns));
    entry.Set("time_discovered_completed_ns", Time(finished, record.end_ns));
    entry.Set("timeout_ms", static_cast<int64_t>(facts_.timeout_seconds * 1000.0));
    entry.Set("retired", finished);
    entry.Set("frames", base::Json::Array{});
    entries_.push_back(std::move(entry));
    last_enqueued_ = std::max(last_enqueued_, record.seq);
    if (started || finished) last_started_ = std::max(last_started_, record.seq);
    if (finished) last_completed_ = std::max(last_completed_, record.seq);
  }

  std::string Text() && {
    base::Json group;
    group.Set("name", facts_.group);
    group.Set("desc", facts_.group_description);
    std::string ranks = "[";
    for (int rank = 0; rank < facts_.world_size; ++rank) {
      ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
    }
    group.Set("ranks", ranks + "]");
    base::Json groups;
    groups.Set(facts_.group, std::move(group));
    base::Json last;
    last.Set("last_enqueued_collective", last_enqueued_);
    last.Set("last_started_collective", last_started_);
    last.Set("last_completed_collective", last_completed_);
    base::Json status;
    status.Set("0", std::move(last));
    base::Json root;
    root.Set("version", kDumpVersion);
    root.Set("rank", facts_.rank);
    root.Set("pg_config", std::move(groups));
    root.Set("pg_status", std::move(status));
    root.Set("entries", std::move(entries_));
    return root.Dump() + "\n";
  }

 private:
  static void AddTensors(const CollectiveRecord& record, base::Json& entry) {
    base::Json::Array shape = {record.elements};
    base::Json::Array shapes;
    shapes.emplace_back(std::move(shape));
    base::Json::Array dtypes = {record.dtype};
    entry.Set("input_sizes", shapes);
    entry.Set("output_sizes", std::move(shapes));
    entry.Set("input_dtypes", dtypes);
    entry.Set("output_dtypes", std::move(dtypes));
  }
  base::Json Time(bool known, int64_t monotonic_ns) const {
    return known ? base::Json(monotonic_ns + offset_ns_) : base::Json();
  }

  const FlightFacts& facts_;
  int64_t offset_ns_;
  base::Json::Array entries_;
  int64_t last_enqueued_ = -1;
  int64_t last_started_ = -1;
  int64_t last_completed_ = -1;
};

}  // namespace

std::string FlightFileName(int rank) {
  return "flight.rank" + std::to_string(rank) + ".json";
}

base::Status WriteFlightRecord(const std::string& path,
                               std::span<const CollectiveRecord> records,
                               std::span<const CollectiveRecord> in_flight,
                               const FlightFacts& facts) {
  Writer writer(facts);
  for (const CollectiveRecord& record : records) writer.Add(record, true);
  for (const CollectiveRecord& record : in_flight) writer.Add(record, false);
  const auto written = base::WriteFileAtomic(path, std::move(writer).Text());
  if (written.has_value()) return {};
  return base::Fail("COMM-0050", base::ExitCode::kEnvironment,
                    "the flight record can not be written: " + written.error().what,
                    path, "check free space and permissions of the run's folder");
}

struct DumpOnSignal::State {
  std::function<void()> dump;
  sigset_t signals;
  std::jthread thread;
};

DumpOnSignal::DumpOnSignal(std::function<void()> dump)
    : state_(std::make_unique<State>()) {
  state_->dump = std::move(dump);
  sigemptyset(&state_->signals);
  sigaddset(&state_->signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &state_->signals, nullptr);
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& stop) {
    const timespec limit = {0, 100'000'000};  // how late a stop is noticed
    while (!stop.stop_requested()) {
      if (sigtimedwait(&state->signals, nullptr, &limit) == SIGUSR1) state->dump();
    }
  });
}

// The signal stays blocked: unblocked, one that comes late would end the process.
DumpOnSignal::~DumpOnSignal() = default;

}  // namespace stepslack::comm
