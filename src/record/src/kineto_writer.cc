#include "stepslack/record/kineto_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "kineto_text.h"
#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

// The rank that writes has other work to do; level 6 makes files a third smaller and
// takes three times as long.
constexpr int kQuickDeflate = 1;

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
      "\"args\": {{\"name\": \"rank {0}\"}}}},\n"
      "{{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": {0}, \"tid\": 0, "
      "\"args\": {{\"sort_index\": {0}}}}}",
      header.rank);
  for (int64_t thread : threads) {
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {0}, "
                   "\"tid\": {1}, \"args\": {{\"name\": {2}}}}},\n"
                   "{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": "
                   "{0}, \"tid\": {1}, \"args\": {{\"sort_index\": {1}}}}}",
                   header.rank, thread, QuotedJson(ThreadLabel(thread)));
  }
}

void AppendFlowEnd(std::string& out, const TraceHeader& header, char phase, int64_t id,
                   int64_t thread, int64_t time_ns) {
  fmt::format_to(std::back_inserter(out),
                 ",\n{{\"ph\": \"{}\", \"cat\": \"ac2g\", \"name\": \"ac2g\", "
                 "\"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": ",
                 phase, id, header.rank, thread);
  AppendMicroseconds(time_ns - header.base_time_ns, out);
  out += phase == 'f' ? ", \"bp\": \"e\"}" : "}";
}

}  // namespace

base::Status WriteKinetoTrace(const std::string& path, const TraceHeader& header,
                              const std::vector<TraceEvent>& events,
                              const std::vector<TraceFlow>& flows) {
  std::set<int64_t> threads;
  for (const TraceEvent& event : events) threads.insert(event.thread);

  std::string out;
  out.reserve(512 + events.size() * 160 + flows.size() * 200);
  fmt::format_to(std::back_inserter(out),
                 "{{\n\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": {}, "
                 "\"rank\": {}, \"world_size\": {}}},\n\"baseTimeNanoseconds\": {},\n"
                 "\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n",
                 QuotedJson(header.backend), header.rank, header.world_size,
                 header.base_time_ns);
  AppendMetadata(out, header, threads);
  for (const TraceEvent& event : events) {
    out += ",\n";
    AppendKinetoSpan(
        {header.rank, event.thread, event.category, event.name,
         event.start_ns - header.base_time_ns, event.duration_ns, &event.args},
        out);
  }
  for (const TraceFlow& flow : flows) {
    AppendFlowEnd(out, header, 's', flow.id, flow.from_thread, flow.from_ns);
    AppendFlowEnd(out, header, 'f', flow.id, flow.to_thread, flow.to_ns);
  }
  out += "\n]\n}\n";
  return base::WriteFileAtomic(path, base::Gzip(out, kQuickDeflate));
}

}  // namespace stepslack::record
