#include "stepslack/record/kineto_writer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <set>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

using base::Json;

// Microseconds with exactly three decimals, from integer nanoseconds.
std::string Microseconds(int64_t ns) {
  const auto magnitude =
      ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000,
                     magnitude % 1000);
}

std::string Quoted(const std::string& text) { return Json(text).Dump(-1); }

std::string ThreadLabel(int64_t thread) {
  if (thread == 1) return "training";
  if (thread == 2) return "communication";
  return "thread " + std::to_string(thread);
}

void AppendMetadata(std::string& out, const TraceHeader& header,
                    const std::set<int64_t>& threads) {
  fmt::format_to(
      std::back_inserter(out),
      "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {0}, \"tid\": 0, "
      "\"args\": {{\"name\": \"rank {0}\"}}}}",
      header.rank);
  for (int64_t thread : threads) {
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {}, "
                   "\"tid\": {}, \"args\": {{\"name\": {}}}}}",
                   header.rank, thread, Quoted(ThreadLabel(thread)));
  }
}

void AppendEvent(std::string& out, const TraceHeader& header, const TraceEvent& event) {
  fmt::format_to(std::back_inserter(out),
                 ",\n{{\"ph\": \"X\", \"cat\": {}, \"name\": {}, \"pid\": {}, "
                 "\"tid\": {}, \"ts\": {}, \"dur\": {}",
                 Quoted(event.category), Quoted(event.name), header.rank, event.thread,
                 Microseconds(event.start_ns - header.base_time_ns),
                 Microseconds(event.duration_ns));
  if (!event.args.empty()) {
    out += ", \"args\": ";
    out += Json(event.args).Dump(-1);
  }
  out += "}";
}

}  // namespace

base::Status WriteKinetoTrace(const std::string& path, const TraceHeader& header,
                              const std::vector<TraceEvent>& events) {
  std::set<int64_t> threads;
  for (const TraceEvent& event : events) threads.insert(event.thread);

  std::string out;
  out.reserve(512 + events.size() * 160);
  fmt::format_to(std::back_inserter(out),
                 "{{\n\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": {}, "
                 "\"rank\": {}, \"world_size\": {}}},\n\"baseTimeNanoseconds\": {},\n"
                 "\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n",
                 Quoted(header.backend), header.rank, header.world_size,
                 header.base_time_ns);
  AppendMetadata(out, header, threads);
  for (const TraceEvent& event : events) AppendEvent(out, header, event);
  out += "\n]\n}\n";
  return base::WriteFileAtomic(path, base::Gzip(out));
}

}  // namespace stepslack::record
