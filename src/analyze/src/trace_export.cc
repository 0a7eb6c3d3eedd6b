#include "stepslack/analyze/trace_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "stepslack/record/kineto_writer.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::analyze {
namespace {

using base::Json;
using record::KinetoStream;
using trace::EventStore;

// Far beyond any clock; start + offset stays within 64 bits.
constexpr int64_t kLargestTimeNs = int64_t{1} << 60;
constexpr int64_t kBaseStepNs = 1'000'000'000'000;
// Above every rank that a launcher gives; a rank may not reach it.
constexpr int32_t kVerdictProcess = 1'000'000'000;

// Numbers of the threads of each rank in the merged file, over all its sources.
using ThreadCounts = std::map<int32_t, int64_t>;

bool WithinLimits(int64_t ns) { return ns >= -kLargestTimeNs && ns <= kLargestTimeNs; }

base::Status CheckPlace(std::span<const ExportSource> sources,
                        const std::string& output) {
  for (const ExportSource& source : sources) {
    std::error_code error;
    if (!std::filesystem::equivalent(source.path, output, error)) continue;
    return base::Fail("RENDER-0157", base::ExitCode::kUsage,
                      "the merged trace would replace one of its sources", output,
                      "choose another name for the output");
  }
  return {};
}

base::Status CheckInput(std::span<const ExportSource> sources,
                        std::span<const VerdictMark> marks) {
  if (sources.empty()) {
    return base::Fail("RENDER-0155", base::ExitCode::kUsage, "no trace to export",
                      "merged trace", "give at least one trace file");
  }
  const auto refuse = [](std::string what, std::string where) {
    return base::Fail("RENDER-0156", base::ExitCode::kInput, std::move(what),
                      std::move(where),
                      "ranks count from 0, times and offsets stay within 36 years");
  };
  for (const ExportSource& source : sources) {
    if (!WithinLimits(source.offset_ns)) {
      return refuse(fmt::format("clock offset of {} ns", source.offset_ns),
                    source.path);
    }
    if (source.rank < 0 || source.rank >= kVerdictProcess) {
      return refuse(fmt::format("rank {}", source.rank), source.path);
    }
  }
  for (const VerdictMark& mark : marks) {
    // Marks are on real clocks: up to 2^61 as events are.
    if (mark.start_ns / 4 > kLargestTimeNs / 2 ||
        mark.end_ns / 4 > kLargestTimeNs / 2 ||
        mark.start_ns / 4 < -kLargestTimeNs / 2 || mark.end_ns < mark.start_ns) {
      return refuse(fmt::format("mark '{}' from {} to {} ns", mark.label, mark.start_ns,
                                mark.end_ns),
                    fmt::format("rank {}", mark.rank));
    }
  }
  return {};
}

// What the reader takes back: the message size as bytes of one-byte elements.
Json::Object ArgsOf(const EventStore& store, const trace::CollectiveArgs& collective) {
  Json::Object args;
  args["Collective name"] = store.strings.Get(collective.name);
  if (collective.group != 0) {
    args["Process Group Name"] = store.strings.Get(collective.group);
  }
  if (collective.seq != trace::kNoSeq) args["Seq"] = collective.seq;
  if (collective.group_size > 0) args["Group size"] = collective.group_size;
  if (collective.bytes > 0) {
    args["In msg nelems"] = collective.bytes;
    args["dtype"] = "Byte";
  }
  return args;
}

bool IsDevice(std::string_view category) {
  return category == "kernel" || category == "Kernel" ||
         category.starts_with("gpu_mem") || category == "Memcpy" ||
         category == "Memset";
}

std::string ThreadLabel(std::pair<int64_t, int64_t> original, bool device) {
  const auto part = [](int64_t number) {
    // Names given as text became large negative numbers when they were read.
    return number < -(int64_t{1} << 40) ? std::string("named by text")
                                        : std::to_string(number);
  };
  return fmt::format("{} {} {} {}", device ? "device" : "process", part(original.first),
                     device ? "stream" : "thread", part(original.second));
}

// Numbers from 1 on, in order of the original pairs.
std::map<std::pair<int64_t, int64_t>, int64_t> NumberThreads(const EventStore& store,
                                                             int32_t rank,
                                                             int64_t& count,
                                                             KinetoStream& stream) {
  std::map<std::pair<int64_t, int64_t>, bool> device;
  for (size_t i = 0; i < store.size(); ++i) {
    device[{store.process[i], store.thread[i]}] |= IsDevice(store.CategoryOf(i));
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
  for (const auto& [original, is_device] : device) {
    numbers[original] = ++count;
    stream.NameThread(rank, count, ThreadLabel(original, is_device), count);
  }
  return numbers;
}

void AddEvents(const EventStore& store, const ExportSource& source, int64_t& threads,
               KinetoStream& stream) {
  const auto numbers = NumberThreads(store, source.rank, threads, stream);
  for (size_t i = 0; i < store.size(); ++i) {
    KinetoStream::Span span;
    span.process = source.rank;
    span.thread = numbers.at({store.process[i], store.thread[i]});
    span.category = store.CategoryOf(i);
    span.name = store.NameOf(i);
    span.start_ns = store.start_ns[i] + source.offset_ns;
    span.duration_ns = store.end_ns[i] - store.start_ns[i];
    Json::Object args;
    if (store.collective[i] != trace::kNoCollective) {
      args = ArgsOf(store, store.collectives[static_cast<size_t>(store.collective[i])]);
      span.args = &args;
    }
    stream.Add(span);
  }
}

void AddMarks(std::span<const VerdictMark> marks, KinetoStream& stream) {
  if (marks.empty()) return;
  stream.NameProcess(kVerdictProcess, "stepslack verdicts", -1);
  std::set<int32_t> ranks;
  for (const VerdictMark& mark : marks) ranks.insert(std::max(mark.rank, -1));
  for (const int32_t rank : ranks) {
    stream.NameThread(kVerdictProcess, int64_t{rank} + 1,
                      rank < 0 ? "all ranks" : fmt::format("rank {}", rank),
                      int64_t{rank} + 1);
  }
  for (const VerdictMark& mark : marks) {
    Json::Object args;
    if (mark.rank >= 0) args["rank"] = int64_t{mark.rank};
    if (!mark.detail.empty()) args["detail"] = mark.detail;
    stream.Add({kVerdictProcess, int64_t{std::max(mark.rank, -1)} + 1,
                "stepslack_verdict", mark.label, mark.start_ns,
                mark.end_ns - mark.start_ns, &args});
  }
}

// Whole steps below the start of the first source, with one of room, so that ranks that
// start earlier stay positive and doubles of microseconds keep the nanosecond.
int64_t BaseTime(const EventStore& first, int64_t offset_ns) {
  if (first.size() == 0) return 0;
  const int64_t start = first.start_ns.front() + offset_ns;
  int64_t steps = start / kBaseStepNs;
  if (start < 0 && start % kBaseStepNs != 0) --steps;
  return (steps - 1) * kBaseStepNs;
}

Json::Object FactsOf(std::span<const ExportSource> sources, int64_t world_size) {
  std::set<int32_t> ranks;
  for (const ExportSource& source : sources) ranks.insert(source.rank);
  Json merged;
  merged.Set("ranks", static_cast<int64_t>(ranks.size()));
  merged.Set("sources", static_cast<int64_t>(sources.size()));
  Json::Object facts;
  facts["stepslackMerged"] = merged;
  if (world_size > 0) {
    Json distributed;
    distributed.Set("world_size", world_size);
    facts["distributedInfo"] = distributed;
  }
  return facts;
}

}  // namespace

base::Result<Written> ExportMerged(std::span<const ExportSource> sources,
                                   std::span<const VerdictMark> marks,
                                   const std::string& output, int64_t world_size) {
  SS_RETURN_IF_ERROR(CheckInput(sources, marks));
  SS_RETURN_IF_ERROR(CheckPlace(sources, output));
  SS_TRY(EventStore store, trace::ReadKinetoTrace(sources.front().path));
  SS_TRY(KinetoStream stream,
         KinetoStream::Open(output, BaseTime(store, sources.front().offset_ns),
                            FactsOf(sources, world_size)));
  AddMarks(marks, stream);
  Written written;
  ThreadCounts threads;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (i > 0) {
      store = EventStore();  // not two of them in memory at once
      SS_TRY(store, trace::ReadKinetoTrace(sources[i].path));
    }
    const int32_t rank = sources[i].rank;
    const auto [entry, is_new] = threads.emplace(rank, 0);
    if (is_new) stream.NameProcess(rank, fmt::format("rank {}", rank), rank);
    AddEvents(store, sources[i], entry->second, stream);
    written.events += static_cast<int64_t>(store.size());
    written.truncated += store.truncated ? 1 : 0;
    written.stats.Merge(store.stats);
  }
  written.ranks = static_cast<int64_t>(threads.size());
  written.marks = static_cast<int64_t>(marks.size());
  SS_TRY(written.bytes, stream.Finish());
  return written;
}

}  // namespace stepslack::analyze
