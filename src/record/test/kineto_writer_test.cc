#include "stepslack/record/kineto_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

std::string WriteAndRead(const TraceHeader& header,
                         const std::vector<TraceEvent>& events) {
  const std::string path =
      testing::TempDir() + "kineto_" + std::to_string(::getpid()) + ".json.gz";
  EXPECT_TRUE(WriteKinetoTrace(path, header, events).has_value());
  const auto packed = base::ReadFile(path);
  EXPECT_TRUE(packed.has_value() && packed->substr(0, 2) == "\x1f\x8b");
  const auto text = base::ReadMaybeGzip(path);
  std::remove(path.c_str());
  return text.value_or("");
}

TEST(KinetoWriter, WritesTheExactText) {
  TraceHeader header;
  header.rank = 1;
  header.world_size = 2;
  header.backend = "gloo";
  header.base_time_ns = 1'000'000;
  TraceEvent step{"ProfilerStep#7", "user_annotation", 1'001'500, 2'000'042, 1, {}};
  TraceEvent reduce{"gloo:all_reduce", "user_annotation", 1'900'000, 999, 2, {}};
  reduce.args["Collective name"] = "allreduce";
  reduce.args["Seq"] = 3;
  EXPECT_EQ(WriteAndRead(header, {step, reduce}),
            R"({
"schemaVersion": 1,
"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2},
"baseTimeNanoseconds": 1000000,
"displayTimeUnit": "ms",
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "rank 1"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "training"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "communication"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 1, "tid": 1, "ts": 1.500, "dur": 2000.042},
{"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": 900.000, "dur": 0.999, "args": {"Collective name":"allreduce","Seq":3}}
]
}
)");
}

TEST(KinetoWriter, EscapesNamesAndKeepsTimesBeforeTheBase) {
  TraceHeader header;
  header.base_time_ns = 5'000;
  const std::string text =
      WriteAndRead(header, {{"quote \" and \n", "cpu_op", 3'999, 1, 1, {}}});
  const auto json = base::ParseJson(text, "trace");
  ASSERT_TRUE(json.has_value()) << Describe(json.error());
  const base::Json& event = (*json)["traceEvents"].AsArray().back();
  EXPECT_EQ(event["name"].AsString(), "quote \" and \n");
  EXPECT_NE(text.find("\"ts\": -1.001,"), std::string::npos);
}

TEST(KinetoWriter, TraceWithoutEventsIsValidJson) {
  const auto json = base::ParseJson(WriteAndRead({}, {}), "trace");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["traceEvents"].AsArray().size(), 1U);  // the process name
}

TEST(KinetoWriter, UnwritableFolderIsAnError) {
  const auto status = WriteKinetoTrace("/proc/none/trace.json.gz", {}, {});
  ASSERT_FALSE(status.has_value());
}

}  // namespace
}  // namespace stepslack::record
