#include "stepslack/trace/nsys_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nsys_database.h"
#include "pci_address.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/event_names.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/kineto_reader.h"
#include "xla_names.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kLongestEventNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr size_t kMostTraces = 1024;
constexpr int64_t kIdMask = 0xFFFFFF;  // of a process or a thread in a global id
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kSets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::string_view kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kRanges = "NVTX_EVENTS";

// Kinds of CUpti_ActivityMemcpyKind, with the words of Kineto.
std::string CopyName(int64_t kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
      "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  const bool known = kind > 0 && kind < static_cast<int64_t>(kNames.size());
  return fmt::format("Memcpy {}", kNames[known ? static_cast<size_t>(kind) : 0]);
}

// "cudaLaunchKernel_v7000" to "cudaLaunchKernel".
std::string_view WithoutVersion(std::string_view name) {
  const size_t at = name.rfind("_v");
  const bool version =
      at != std::string_view::npos && at + 2 < name.size() &&
      name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return version ? name.substr(0, at) : name;
}

// Columns 0 to 5 of every device table, then its own.
std::vector<std::string_view> DeviceColumns(
    std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> columns = {"start",    "end",           "deviceId",
                                           "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), own);
  return columns;
}

struct NcclCall {
  int64_t thread = 0;  // global id
  int64_t start = 0;
  int64_t end = 0;
  std::string name;
  int64_t bytes = 0;
};

struct CollectiveKernel {
  size_t trace = 0;
  size_t collective = 0;
  int64_t launch_thread = 0;
  int64_t launch_start = -1;
};

// A correlation id is counted by each process.
using CallId = std::pair<int64_t, int64_t>;  // process, correlation
struct HashCallId {
  size_t operator()(const CallId& id) const {
    const auto mixed = static_cast<uint64_t>(id.second) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed ^ mixed >> 32 ^ static_cast<uint64_t>(id.first));
  }
};

class NsysImport {
 public:
  NsysImport(const NsysDatabase& database, std::string path, const NsysOptions& options)
      : database_(database), path_(std::move(path)), options_(options) {}
  base::Result<DeviceTraces> Run();

 private:
  using Visit = std::function<void(const NsysRow&)>;
  using ProcessId = int64_t;  // a global id without the thread
  using Device = std::pair<ProcessId, int64_t>;

  void Walk(std::string_view table, const std::vector<std::string_view>& columns,
            const Visit& visit);
  void ReadTarget();
  void ReadKernels();
  void ReadCopiesAndSets();
  void ReadGraphs();
  void ReadCalls();
  void ReadRanges();
  void AddCall(const NsysRow& row);
  void AddRange(const NsysRow& row, const std::set<int64_t>& nccl_domains);
  void AddDeviceEvent(const NsysRow& row, std::string_view category,
                      std::string_view name);
  bool TimesOf(const NsysRow& row, ImportStats& stats, int64_t& start, int64_t& end);
  EventStore* HostStore(int64_t thread, int64_t correlation, int64_t row);
  DeviceTrace* TraceOf(const Device& device, int64_t row);
  std::string_view NameOf(const NsysRow& row, std::initializer_list<int> columns) const;
  void JoinMessageSizes();
  void Order();
  void Finish();

  const NsysDatabase& database_;
  std::string path_;
  NsysOptions options_;
  DeviceTraces result_;
  std::unordered_map<int64_t, std::string> strings_;
  std::map<int64_t, std::pair<std::string, std::string>> gpus_;  // model, PCI address
  std::map<std::pair<int64_t, int64_t>, int64_t> gpu_of_;        // (pid, device)
  std::map<Device, size_t> traces_;
  std::map<ProcessId, size_t> first_trace_;
  std::unordered_map<CallId, size_t, HashCallId> trace_of_correlation_;
  std::map<CallId, CollectiveKernel> collectives_;
  std::vector<NcclCall> nccl_calls_;
  int64_t session_start_ns_ = 0;
  bool graph_nodes_ = false;
  bool damaged_ = false;
  bool too_much_work_ = false;
};

base::Result<DeviceTraces> NsysImport::Run() {
  const std::array known = {kKernels, kCopies, kSets, kGraphs, kCalls, kRanges};
  if (std::ranges::none_of(known, [this](std::string_view table) {
        return database_.HasTable(table);
      })) {
    return base::Fail("TRACE-0173", base::ExitCode::kInput,
                      "no table of Nsight Systems is in this database", path_,
                      "record with --trace=cuda,nvtx and export the report as sqlite");
  }
  Walk("StringIds", {"id", "value"}, [this](const NsysRow& row) {
    if (const auto id = row.Int(0)) strings_.emplace(*id, row.Text(1));
  });
  ReadTarget();
  ReadKernels();
  ReadCopiesAndSets();
  ReadGraphs();
  ReadCalls();
  ReadRanges();
  if (too_much_work_) {
    return base::Fail(
        "TRACE-0175", base::ExitCode::kInput,
        "reading takes more work than a file of this size should", path_,
        "the file is damaged or made to be slow; export the report again");
  }
  if (damaged_ && result_.traces.empty()) {
    return base::Fail("TRACE-0174", base::ExitCode::kInput,
                      "the database is damaged and no event could be read", path_,
                      "copy the file again or export the report again");
  }
  JoinMessageSizes();
  Finish();
  return std::move(result_);
}

void NsysImport::Walk(std::string_view table,
                      const std::vector<std::string_view>& columns,
                      const Visit& visit) {
  int64_t last_row = 0;
  const auto walk = database_.ForEachRow(
      table, std::span(columns.begin(), columns.size()), [&](const NsysRow& row) {
        last_row = row.number();
        visit(row);
      });
  if (walk == NsysDatabase::Walk::kTooMuchWork) too_much_work_ = true;
  if (walk != NsysDatabase::Walk::kDamaged) return;
  damaged_ = true;
  result_.stats.Add(fmt::format("damaged table {}, the rest is not read", table),
                    Severity::kError, last_row);
}

std::string_view NsysImport::NameOf(const NsysRow& row,
                                    std::initializer_list<int> columns) const {
  for (const int column : columns) {
    if (const auto id = row.Int(column)) {
      const auto found = strings_.find(*id);
      if (found != strings_.end() && !found->second.empty()) return found->second;
    } else if (!row.Text(column).empty()) {
      return row.Text(column);
    }
  }
  return {};
}

void NsysImport::ReadTarget() {
  Walk("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [this](const NsysRow& row) {
    const int64_t start = row.Int(0).value_or(0);
    if (start > 0 && start < kTimeLimitNs) session_start_ns_ = start;
  });
  Walk("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [this](const NsysRow& row) {
    if (row.Text(0) == "Hostname") result_.host = row.Text(1).substr(0, 256);
  });
  Walk("TARGET_INFO_GPU", {"id", "name", "busLocation"}, [this](const NsysRow& row) {
    if (const auto id = row.Int(0)) {
      gpus_[*id] = {std::string(row.Text(1).substr(0, 256)), PciAddress(row.Text(2))};
    }
  });
  Walk("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"},
       [this](const NsysRow& row) {
         const auto gpu = row.Int(0);
         const auto device = row.Int(1);
         const auto pid = row.Int(2);
         if (gpu && device && pid) gpu_of_[{*pid & kIdMask, *device}] = *gpu;
       });
}

bool NsysImport::TimesOf(const NsysRow& row, ImportStats& stats, int64_t& start,
                         int64_t& end) {
  constexpr int kStart = 0;
  constexpr int kEnd = 1;
  const auto from = row.Int(kStart);
  const auto to = row.Int(kEnd);
  const auto within = [](int64_t value) {
    return value >= -kTimeLimitNs && value <= kTimeLimitNs;
  };
  if (!from || !within(*from) || (to && *to > 0 && !within(*to))) {
    stats.Add("malformed event", Severity::kError, row.number());
    return false;
  }
  if (!to || (*to <= 0 && *from > *to)) {
    stats.Add("event without an end", Severity::kWarning, row.number());
    return false;
  }
  if (*to < *from) {
    stats.Add("negative duration set to 0", Severity::kWarning, row.number());
  } else if (*to - *from > kLongestEventNs) {
    stats.Add("event longer than 7 days", Severity::kWarning, row.number());
    return false;
  }
  // A time that is already on the wall clock needs no start.
  const int64_t base = *from < session_start_ns_ ? session_start_ns_ : 0;
  start = base + *from;
  end = base + std::max(*from, *to);
  if (!within(start) || !within(end)) {
    stats.Add("malformed event", Severity::kError, row.number());
    return false;
  }
  return true;
}

DeviceTrace* NsysImport::TraceOf(const Device& device, int64_t row) {
  const auto found = traces_.find(device);
  if (found != traces_.end()) return &result_.traces[found->second];
  if (traces_.size() >= kMostTraces) {
    result_.stats.Add("event of a device beyond the first 1024", Severity::kError, row);
    return nullptr;
  }
  const size_t index = result_.traces.size();
  traces_.emplace(device, index);
  first_trace_.emplace(device.first, index);
  DeviceTrace& trace = result_.traces.emplace_back();
  trace.process = device.first & kIdMask;
  if (device.second < 0) {
    trace.device = fmt::format("process {}", trace.process);
    return &trace;
  }
  trace.device_index =
      static_cast<int32_t>(std::min<int64_t>(device.second, 1'000'000));
  trace.device = fmt::format("GPU {} of process {}", device.second, trace.process);
  const auto gpu = gpu_of_.find({trace.process, device.second});
  const auto facts = gpus_.find(gpu == gpu_of_.end() ? device.second : gpu->second);
  // Without the table that maps devices, numbers agree unless devices were hidden.
  if (facts != gpus_.end() && (gpu != gpu_of_.end() || gpu_of_.empty())) {
    trace.model = facts->second.first;
    trace.pci_bus = facts->second.second;
  }
  return &trace;
}

void NsysImport::AddDeviceEvent(const NsysRow& row, std::string_view category,
                                std::string_view name) {
  const ProcessId process = row.Int(5).value_or(0) >> 24;
  const int64_t device = row.Int(2).value_or(0);
  if (device < 0) {
    result_.stats.Add("malformed event", Severity::kError, row.number());
    return;
  }
  DeviceTrace* trace = TraceOf({process, device}, row.number());
  if (trace == nullptr) return;
  EventStore& store = trace->store;
  int64_t start = 0;
  int64_t end = 0;
  if (!TimesOf(row, store.stats, start, end)) return;
  const auto index = static_cast<size_t>(trace - result_.traces.data());
  const int64_t correlation = row.Int(4).value_or(0);
  int32_t collective = kNoCollective;
  if (IsCollectiveSpan(name, KindOfCategory(category), false,
                       CollectiveNames::BuiltIn())) {
    collective = static_cast<int32_t>(store.collectives.size());
    store.collectives.push_back(
        {.name = store.strings.Intern(CanonicalCollectiveName(name))});
    if (correlation != 0) {
      collectives_[{process, correlation}] = {
          .trace = index, .collective = static_cast<size_t>(collective)};
    }
  }
  const int64_t stream = row.Int(3).value_or(-1);
  const bool plain = stream >= 0 && stream <= 0x7FFFFFFF;
  store.Append(start, end, -1, trace->device_index, stream,
               store.strings.Intern(category), store.strings.Intern(name), collective,
               plain ? static_cast<int32_t>(stream) : -1, correlation);
  if (correlation != 0) trace_of_correlation_[{process, correlation}] = index;
}

void NsysImport::ReadKernels() {
  Walk(kKernels,
       DeviceColumns({"demangledName", "shortName", "mangledName", "graphNodeId"}),
       [this](const NsysRow& row) {
         std::string_view name = NameOf(row, {6, 7, 8});
         if (name.empty()) {
           result_.stats.Add("event without a name", Severity::kWarning, row.number());
           name = "kernel";
         }
         graph_nodes_ = graph_nodes_ || row.Int(9).value_or(0) != 0;
         AddDeviceEvent(row, "kernel", name);
       });
}

void NsysImport::ReadCopiesAndSets() {
  Walk(kCopies, DeviceColumns({"copyKind"}), [this](const NsysRow& row) {
    AddDeviceEvent(row, "gpu_memcpy", CopyName(row.Int(6).value_or(0)));
  });
  Walk(kSets, DeviceColumns({}),
       [this](const NsysRow& row) { AddDeviceEvent(row, "gpu_memset", "Memset"); });
}

void NsysImport::ReadGraphs() {
  Walk(kGraphs, DeviceColumns({"graphId"}), [this](const NsysRow& row) {
    if (graph_nodes_) {
      result_.stats.Add("CUDA graph span not used, its nodes are recorded",
                        Severity::kInfo, row.number());
      return;
    }
    AddDeviceEvent(row, "kernel", fmt::format("CUDA graph {}", row.Int(6).value_or(0)));
  });
}

EventStore* NsysImport::HostStore(int64_t thread, int64_t correlation, int64_t row) {
  const ProcessId process = thread >> 24;
  if (correlation != 0) {
    const auto device = trace_of_correlation_.find({process, correlation});
    if (device != trace_of_correlation_.end()) {
      return &result_.traces[device->second].store;
    }
  }
  const auto first = first_trace_.find(process);
  if (first != first_trace_.end()) return &result_.traces[first->second].store;
  const bool devices = !traces_.empty() && traces_.begin()->first.second >= 0;
  if (devices) {
    result_.stats.Add("event of a process without device work not used",
                      Severity::kInfo, row);
    return nullptr;
  }
  DeviceTrace* trace = TraceOf({process, -1}, row);
  return trace == nullptr ? nullptr : &trace->store;
}

void NsysImport::ReadCalls() {
  Walk(kCalls, {"start", "end", "globalTid", "correlationId", "nameId"},
       [this](const NsysRow& row) { AddCall(row); });
}

void NsysImport::AddCall(const NsysRow& row) {
  const int64_t thread = row.Int(2).value_or(0);
  const int64_t correlation = row.Int(3).value_or(0);
  EventStore* store = HostStore(thread, correlation, row.number());
  int64_t start = 0;
  int64_t end = 0;
  if (store == nullptr || !TimesOf(row, store->stats, start, end)) return;
  const std::string_view name = WithoutVersion(NameOf(row, {4}));
  const bool driver = !name.starts_with("cuda") && IsLaunchApi(name);
  store->Append(start, end, -1, (thread >> 24) & kIdMask, thread & kIdMask,
                store->strings.Intern(driver ? "cuda_driver" : "cuda_runtime"),
                store->strings.Intern(name.empty() ? "CUDA call" : name), kNoCollective,
                -1, correlation);
  const auto kernel = collectives_.find({thread >> 24, correlation});
  if (kernel == collectives_.end()) return;
  kernel->second.launch_thread = thread;
  kernel->second.launch_start = start;
}

void NsysImport::ReadRanges() {
  constexpr int64_t kDomainCreate = 75;
  std::set<int64_t> nccl_domains;
  Walk(kRanges, {"eventType", "text", "textId", "domainId"}, [&](const NsysRow& row) {
    if (row.Int(0).value_or(0) != kDomainCreate) return;
    if (NameOf(row, {1, 2}) == "NCCL") nccl_domains.insert(row.Int(3).value_or(0));
  });
  Walk(kRanges,
       {"start", "end", "globalTid", "eventType", "text", "textId", "domainId",
        "jsonText", "jsonTextId"},
       [&](const NsysRow& row) { AddRange(row, nccl_domains); });
}

void NsysImport::AddRange(const NsysRow& row, const std::set<int64_t>& nccl_domains) {
  constexpr int64_t kPushPop = 59;
  constexpr int64_t kStartEnd = 60;
  const int64_t type = row.Int(3).value_or(kPushPop);  // old exports have no type
  if (type != kPushPop && type != kStartEnd) {
    result_.stats.Add("NVTX event that is no range not used", Severity::kInfo,
                      row.number());
    return;
  }
  const int64_t thread = row.Int(2).value_or(0);
  EventStore* store = HostStore(thread, 0, row.number());
  int64_t start = 0;
  int64_t end = 0;
  if (store == nullptr || !TimesOf(row, store->stats, start, end)) return;
  const std::string_view name = NameOf(row, {4, 5});
  const bool nccl =
      nccl_domains.contains(row.Int(6).value_or(-1)) ||
      (name.starts_with("nccl") && name.size() > 4 && name[4] >= 'A' && name[4] <= 'Z');
  const bool op = nccl || name.starts_with("aten::") || name.starts_with("autograd::");
  store->Append(start, end, -1, (thread >> 24) & kIdMask, thread & kIdMask,
                store->strings.Intern(op ? "cpu_op" : "user_annotation"),
                store->strings.Intern(name));
  if (!nccl) return;
  constexpr std::string_view kSize = "Message size [bytes]\":";
  const std::string_view payload = NameOf(row, {7, 8});
  const size_t at = payload.find(kSize);
  int64_t bytes = 0;
  if (at != std::string_view::npos) {
    const std::string_view rest = base::Trim(payload.substr(at + kSize.size()));
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    bytes = base::ParseInt(rest.substr(0, digits)).value_or(0);
  }
  nccl_calls_.push_back({.thread = thread,
                         .start = start,
                         .end = end,
                         .name = CanonicalCollectiveName(name),
                         .bytes = bytes});
}

// The NCCL call that was open on the thread when it launched the kernel. Calls of one
// thread do not nest, apart from group calls, which carry no size.
void NsysImport::JoinMessageSizes() {
  std::ranges::sort(nccl_calls_, [](const NcclCall& a, const NcclCall& b) {
    return std::pair(a.thread, a.start) < std::pair(b.thread, b.start);
  });
  for (auto& [key, kernel] : collectives_) {
    EventStore& store = result_.traces[kernel.trace].store;
    CollectiveArgs& args = store.collectives[kernel.collective];
    const auto after = std::ranges::upper_bound(
        nccl_calls_, std::pair(kernel.launch_thread, kernel.launch_start), {},
        [](const NcclCall& call) { return std::pair(call.thread, call.start); });
    const NcclCall* call = after == nccl_calls_.begin() ? nullptr : &*std::prev(after);
    const bool around = call != nullptr && kernel.launch_start >= 0 &&
                        call->thread == kernel.launch_thread &&
                        call->end >= kernel.launch_start;
    // NCCL states the part of one rank for gathers and scatters, not the message.
    const bool whole = around && (call->name == "all_reduce" ||
                                  call->name == "broadcast" || call->name == "reduce");
    if (whole && call->bytes > 0) {
      args.name = store.strings.Intern(call->name);
      args.bytes = call->bytes;
    } else {
      store.stats.Add("collective without a message size", Severity::kInfo, 0);
    }
  }
}

void NsysImport::Order() {
  const auto gpu = [this](const DeviceTrace& trace) -> int64_t {
    const auto found = gpu_of_.find({trace.process, trace.device_index});
    return found == gpu_of_.end() ? -1 : found->second;
  };
  std::set<int64_t> gpus;
  std::set<int64_t> numbers;
  for (const DeviceTrace& trace : result_.traces) {
    gpus.insert(gpu(trace));
    numbers.insert(trace.device_index);
  }
  const bool by_gpu = !gpus.contains(-1) && gpus.size() == result_.traces.size();
  const bool by_number = numbers.size() == result_.traces.size();
  std::ranges::stable_sort(
      result_.traces, {}, [&](const DeviceTrace& trace) -> std::pair<int64_t, int64_t> {
        if (by_gpu) return {gpu(trace), 0};
        if (by_number) return {trace.device_index, 0};
        return {trace.process, trace.device_index};
      });
  result_.rank_source =
      fmt::format("counted in the order of {}; the export names no ranks",
                  by_gpu      ? "the physical GPUs"
                  : by_number ? "the device numbers"
                              : "process and device numbers");
}

void NsysImport::Finish() {
  std::erase_if(result_.traces, [this](const DeviceTrace& trace) {
    if (trace.store.size() > 0) return false;
    result_.stats.Merge(trace.store.stats);
    return true;
  });
  Order();
  const bool several = result_.traces.size() > 1;
  for (size_t i = 0; i < result_.traces.size(); ++i) {
    int32_t rank = options_.first_rank;
    if (rank >= 0 || several) rank = std::max(rank, 0) + static_cast<int32_t>(i);
    EventStore& store = result_.traces[i].store;
    store.truncated = damaged_;
    store.SetRank(rank);
    store.Sort();
  }
}

}  // namespace

bool LooksLikeSqlite(std::string_view bytes) {
  return bytes.starts_with(std::string_view("SQLite format 3\0", 16));
}

base::Result<DeviceTraces> ReadNsysExport(const std::string& path,
                                          const NsysOptions& options) {
  SS_TRY(const NsysDatabase database, NsysDatabase::Open(path));
  SS_TRY(DeviceTraces traces, NsysImport(database, path, options).Run());
  std::error_code error;
  if (std::filesystem::file_size(path + "-wal", error) > 0 && !error) {
    traces.stats.Add("write-ahead log beside the file not read", Severity::kWarning, 0);
  }
  return traces;
}

}  // namespace stepslack::trace
