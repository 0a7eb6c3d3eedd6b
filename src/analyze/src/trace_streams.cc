// Kernels, streams and launches of one rank.
#include <algorithm>
#include <map>
#include <tuple>

#include "trace_marks.h"

namespace stepslack::analyze {
namespace {

constexpr int64_t kKernelGapNs = 30'000;
constexpr size_t kNoLaunch = static_cast<size_t>(-1);

// Launch calls by correlation.
class Launches {
 public:
  Launches(const trace::EventStore& store, const TraceMarks& marks) {
    for (size_t i = 0; i < store.size(); ++i) {
      if (marks.KindOf(i) == trace::CategoryKind::kRuntime &&
          store.correlation[i] != 0) {
        calls_.push_back({store.correlation[i], i});
      }
    }
    std::sort(calls_.begin(), calls_.end());
    used_.resize(calls_.size(), false);
  }

  // The call of a correlation; of two the first. kNoLaunch when there is none.
  size_t Take(int64_t correlation) {
    if (correlation == 0) return kNoLaunch;
    const auto found = std::lower_bound(calls_.begin(), calls_.end(),
                                        std::pair{correlation, size_t{0}});
    if (found == calls_.end() || found->first != correlation) return kNoLaunch;
    used_[static_cast<size_t>(found - calls_.begin())] = true;
    return found->second;
  }
  bool empty() const { return calls_.empty(); }
  int64_t Unused() const { return std::count(used_.begin(), used_.end(), false); }

 private:
  std::vector<std::pair<int64_t, size_t>> calls_;
  std::vector<bool> used_;
};

struct StreamEvent {
  size_t event = 0;
  size_t launch = kNoLaunch;
};

void CountLaunch(const trace::EventStore& store, const StreamEvent& e,
                 LaunchTimes& times) {
  if (e.launch == kNoLaunch) {
    ++times.kernels_without_launch;
    return;
  }
  ++times.matched;
  times.cpu_ns += store.end_ns[e.launch] - store.start_ns[e.launch];
  if (store.start_ns[e.event] < store.start_ns[e.launch]) ++times.before_launch;
  const int64_t delay =
      std::max<int64_t>(0, store.start_ns[e.event] - store.end_ns[e.launch]);
  times.delay_ns += delay;
  times.max_delay_ns = std::max(times.max_delay_ns, delay);
}

void CountGaps(const trace::EventStore& store, const std::vector<StreamEvent>& events,
               StreamTimes& times) {
  int64_t end = store.start_ns[events.front().event];
  for (const StreamEvent& e : events) {
    const int64_t start = store.start_ns[e.event];
    if (start > end) {
      const int64_t gap = start - end;
      if (e.launch != kNoLaunch && store.start_ns[e.launch] > end) {
        times.host_bound_ns += gap;
      } else if (e.launch != kNoLaunch && gap < kKernelGapNs) {
        times.kernel_gap_ns += gap;
      } else {
        times.other_idle_ns += gap;
      }
    }
    times.busy_ns += std::max<int64_t>(0, store.end_ns[e.event] - std::max(start, end));
    end = std::max(end, store.end_ns[e.event]);
  }
}

// Depth over time: +1 where a launch begins, -1 where its kernel does.
void CountQueue(const trace::EventStore& store, const std::vector<StreamEvent>& events,
                StreamTimes& times) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const StreamEvent& e : events) {
    if (e.launch == kNoLaunch) continue;
    const int64_t launched = store.start_ns[e.launch];
    changes.push_back({launched, 1});
    changes.push_back({std::max(launched, store.start_ns[e.event]), -1});
  }
  if (changes.empty()) return;
  std::sort(changes.begin(), changes.end());
  int64_t depth = 0;
  double area = 0.0;
  int64_t last = changes.front().first;
  for (const auto& [at, change] : changes) {
    area += static_cast<double>(depth) * static_cast<double>(at - last);
    last = at;
    depth += change;
    times.max_queue = std::max(times.max_queue, depth);
  }
  const int64_t length = last - changes.front().first;
  if (length > 0) times.mean_queue = area / static_cast<double>(length);
}

}  // namespace

void MeasureStreams(const trace::EventStore& store, const TraceMarks& marks,
                    RankTrace& trace) {
  if (!marks.has_device_work()) return;
  Launches launches(store, marks);
  std::map<int64_t, std::vector<StreamEvent>> streams;
  for (size_t i = 0; i < store.size(); ++i) {
    if (!marks.IsDevice(i)) continue;
    const StreamEvent event{i, launches.Take(store.correlation[i])};
    CountLaunch(store, event, trace.launches);
    streams[store.stream[i]].push_back(event);
  }
  trace.launches.launches_without_kernel = launches.Unused();
  for (const auto& [stream, events] : streams) {
    StreamTimes times;
    times.stream = stream;
    times.events = static_cast<int64_t>(events.size());
    CountGaps(store, events, times);
    CountQueue(store, events, times);
    trace.streams.push_back(times);
  }
}

void MeasureKernels(const trace::EventStore& store, const TraceMarks& marks,
                    RankTrace& trace) {
  std::vector<KernelRow> by_name(store.strings.size());
  for (size_t i = 0; i < store.size(); ++i) {
    const bool comm = marks.IsCollective(i);
    if (!marks.IsDevice(i) && !(comm && !marks.has_device_work())) continue;
    KernelRow& row = by_name[store.name[i]];
    const int64_t length = store.end_ns[i] - store.start_ns[i];
    row.min_ns = row.count == 0 ? length : std::min(row.min_ns, length);
    row.max_ns = std::max(row.max_ns, length);
    row.kind = comm ? KernelKind::kCommunication
               : marks.KindOf(i) == trace::CategoryKind::kKernel ? KernelKind::kCompute
                                                                 : KernelKind::kMemory;
    ++row.count;
    row.total_ns += length;
  }
  for (trace::StringId id = 0; id < by_name.size(); ++id) {
    if (by_name[id].count == 0) continue;
    by_name[id].name = trace.strings.Intern(store.strings.Get(id));
    trace.kernels.push_back(by_name[id]);
  }
  std::sort(trace.kernels.begin(), trace.kernels.end(),
            [&trace](const KernelRow& a, const KernelRow& b) {
              if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
              return trace.strings.Get(a.name) < trace.strings.Get(b.name);
            });
}

}  // namespace stepslack::analyze
