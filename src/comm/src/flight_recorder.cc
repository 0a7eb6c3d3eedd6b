#include "stepslack/comm/flight_recorder.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
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

  // A failed call is in flight as far as the others can tell.
  void Add(const CollectiveRecord& record, bool ended) {
    const bool finished = ended && !record.failed;
    const bool started = record.start_ns != 0;
    const bool p2p = record.name == "send" || record.name == "recv";
    const bool world = record.group.empty() || record.group == "world";
    const std::string group = world ? facts_.group : record.group;
    Last& last = last_[group];
    if (!p2p) last.enqueued = std::max(last.enqueued, record.seq);
    if (!p2p && started) last.started = std::max(last.started, record.seq);
    if (!p2p && finished) last.completed = std::max(last.completed, record.seq);
    base::Json entry;
    entry.Set("record_id", static_cast<int64_t>(entries_.size()));
    entry.Set("pg_id", IdOf(group));
    base::Json::Array names = {group, world ? facts_.group_description : group};
    entry.Set("process_group", std::move(names));
    entry.Set("collective_seq_id",
              p2p ? std::max<int64_t>(0, last.enqueued) : record.seq);
    entry.Set("p2p_seq_id", p2p ? record.seq : 0);
    entry.Set("op_id", record.seq);
    entry.Set("profiling_name", facts_.transport + ":" + NameOfCall(record));
    entry.Set("is_p2p", p2p);
    AddTensors(record, entry);
    entry.Set("state", finished ? "completed" : started ? "started" : "scheduled");
    entry.Set("time_created_ns", record.queued_ns + offset_ns_);
    entry.Set("time_discovered_started_ns", Time(started, record.start_ns));
    entry.Set("time_discovered_completed_ns", Time(finished, record.end_ns));
    entry.Set("timeout_ms", static_cast<int64_t>(facts_.timeout_seconds * 1000.0));
    entry.Set("retired", finished);
    entry.Set("frames", base::Json::Array{});
    entries_.push_back(std::move(entry));
  }

  std::string Text() && {
    base::Json groups;
    base::Json status;
    last_[facts_.group];  // also when nothing was called yet
    for (const auto& [name, last] : last_) {
      base::Json group;
      group.Set("name", name);
      group.Set("desc", name == facts_.group ? facts_.group_description : name);
      if (name == facts_.group) group.Set("ranks", AllRanks());
      groups.Set(name, std::move(group));
      base::Json numbers;
      numbers.Set("last_enqueued_collective", last.enqueued);
      numbers.Set("last_started_collective", last.started);
      numbers.Set("last_completed_collective", last.completed);
      status.Set(std::to_string(IdOf(name)), std::move(numbers));
    }
    base::Json root;
    root.Set("version", kDumpVersion);
    root.Set("rank", facts_.rank);
    root.Set("pg_config", std::move(groups));
    root.Set("pg_status", std::move(status));
    root.Set("entries", std::move(entries_));
    return root.Dump() + "\n";
  }

 private:
  struct Last {
    int64_t enqueued = -1;
    int64_t started = -1;
    int64_t completed = -1;
  };

  std::string NameOfCall(const CollectiveRecord& record) const {
    const std::string mine = std::to_string(facts_.rank);
    const std::string other = std::to_string(record.peer);
    if (record.name == "send") return "send " + mine + "->" + other;
    if (record.name == "recv") return "recv " + mine + "<-" + other;
    return std::string(record.name);
  }
  // Numbers of groups are of this rank only.
  int64_t IdOf(const std::string& group) {
    return ids_.emplace(group, static_cast<int64_t>(ids_.size())).first->second;
  }
  std::string AllRanks() const {
    std::string ranks = "[";
    for (int rank = 0; rank < facts_.world_size; ++rank) {
      ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
    }
    return ranks + "]";
  }
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
  std::map<std::string, Last> last_;
  std::map<std::string, int64_t> ids_;
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

namespace {

// A signal handler has no other way to reach its object; -1: there is none.
std::atomic<int> wake_descriptor{-1};

// Only calls that are allowed in a handler.
void OnDumpSignal(int) {
  const int saved = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored =
      ::write(wake_descriptor.load(), &one, sizeof one);
  errno = saved;
}

}  // namespace

struct DumpOnSignal::State {
  std::function<void()> dump;
  int descriptor = -1;
  std::jthread thread;
};

DumpOnSignal::DumpOnSignal(std::function<void()> dump)
    : state_(std::make_unique<State>()) {
  state_->dump = std::move(dump);
  state_->descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->descriptor < 0) return;  // no dumps on request, nothing else is lost
  wake_descriptor = state_->descriptor;
  struct sigaction action {};
  action.sa_handler = OnDumpSignal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& stop) {
    constexpr int kStopDelayMs = 100;  // how late a stop is noticed
    while (!stop.stop_requested()) {
      pollfd wanted = {state->descriptor, POLLIN, 0};
      uint64_t count = 0;
      if (::poll(&wanted, 1, kStopDelayMs) == 1 &&
          ::read(state->descriptor, &count, sizeof count) == sizeof count) {
        state->dump();
      }
    }
  });
}

// The handler stays: without one a signal that comes late would end the process.
DumpOnSignal::~DumpOnSignal() {
  if (state_->descriptor < 0) return;
  wake_descriptor = -1;
  state_->thread = {};
  ::close(state_->descriptor);
}

}  // namespace stepslack::comm
