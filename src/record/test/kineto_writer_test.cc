#include "stepslack/record/kineto_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

std::string WriteAndRead(const TraceHeader& header,
                         const std::vector<TraceEvent>& events,
                         const std::vector<TraceFlow>& flows = {}) {
  const std::string path =
      testing::TempDir() + "kineto_" + std::to_string(::getpid()) + ".json.gz";
  EXPECT_TRUE(WriteKinetoTrace(path, header, events, flows).has_value());
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
  EXPECT_EQ(WriteAndRead(header, {step, reduce}, {{5, 1, 1'800'001, 2, 1'900'000}}),
            R"({
"schemaVersion": 1,
"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2},
"baseTimeNanoseconds": 1000000,
"displayTimeUnit": "ms",
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "rank 1"}},
{"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 0, "args": {"sort_index": 1}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "training"}},
{"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 1}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "communication"}},
{"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 2, "args": {"sort_index": 2}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 1, "tid": 1, "ts": 1.500, "dur": 2000.042},
{"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": 900.000, "dur": 0.999, "args": {"Collective name":"allreduce","Seq":3}},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 1, "tid": 1, "ts": 800.001},
{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 1, "tid": 2, "ts": 900.000, "bp": "e"}
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
  EXPECT_EQ((*json)["traceEvents"].AsArray().size(), 2U);  // the process
}

TEST(KinetoWriter, UnwritableFolderIsAnError) {
  const auto status = WriteKinetoTrace("/proc/none/trace.json.gz", {}, {});
  ASSERT_FALSE(status.has_value());
}

class KinetoStreamTest : public testing::Test {
 protected:
  KinetoStreamTest() {
    folder_ = testing::TempDir() + "stream_" + std::to_string(::getpid());
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~KinetoStreamTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(KinetoStreamTest, WritesTheExactText) {
  const std::string path = folder_ + "/a.json";
  auto stream = KinetoStream::Open(path, 1'000, {{"maker", "test"}});
  ASSERT_TRUE(stream.has_value());
  stream->NameProcess(3, "rank \"3\"", 7);
  stream->NameThread(3, 1, "stream 7", 1);
  base::Json::Object args = {{"Seq", 4}};
  stream->Add({3, 1, "kernel", "gemm", 2'001, 999, nullptr});
  stream->Add({3, 1, "kernel", "reduce", 500, 0, &args});
  EXPECT_FALSE(base::PathExists(path));  // not before Finish
  const auto bytes = stream->Finish();
  const auto text = base::ReadFile(path);
  ASSERT_TRUE(bytes.has_value() && text.has_value());
  EXPECT_EQ(static_cast<size_t>(*bytes), text->size());
  EXPECT_EQ(*text, R"({
"baseTimeNanoseconds": 1000,
"displayTimeUnit": "ms",
"maker": "test",
"schemaVersion": 1,
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "rank \"3\""}},
{"ph": "M", "name": "process_sort_index", "pid": 3, "tid": 0, "args": {"sort_index": 7}},
{"ph": "M", "name": "thread_name", "pid": 3, "tid": 1, "args": {"name": "stream 7"}},
{"ph": "M", "name": "thread_sort_index", "pid": 3, "tid": 1, "args": {"sort_index": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 3, "tid": 1, "ts": 1.001, "dur": 0.999},
{"ph": "X", "cat": "kernel", "name": "reduce", "pid": 3, "tid": 1, "ts": -0.500, "dur": 0.000, "args": {"Seq":4}}
]
}
)");
}

TEST_F(KinetoStreamTest, ManyEventsPassThroughTheCompressedStream) {
  const std::string path = folder_ + "/b.json.gz";
  auto stream = KinetoStream::Open(path, 0);
  ASSERT_TRUE(stream.has_value());
  constexpr int64_t kEvents = 20'000;
  for (int64_t i = 0; i < kEvents; ++i) {
    stream->Add({0, 1, "kernel", "k", i * 10, 5, nullptr});
  }
  ASSERT_TRUE(stream->Finish().has_value());
  const auto text = base::ReadMaybeGzip(path);
  ASSERT_TRUE(text.has_value());
  const auto json = base::ParseJson(*text, "stream");
  ASSERT_TRUE(json.has_value());
  const base::Json::Array& events = (*json)["traceEvents"].AsArray();
  ASSERT_EQ(events.size(), static_cast<size_t>(kEvents));
  EXPECT_EQ(events.back()["ts"].AsDouble(), 199.99);
}

TEST_F(KinetoStreamTest, ADroppedStreamLeavesTheOldFileAndNothingElse) {
  const std::string path = folder_ + "/c.json";
  ASSERT_TRUE(base::WriteFileAtomic(path, "old").has_value());
  {
    auto stream = KinetoStream::Open(path, 0);
    ASSERT_TRUE(stream.has_value());
    stream->Add({0, 1, "kernel", "k", 0, 1, nullptr});
  }
  EXPECT_EQ(*base::ReadFile(path), "old");
  EXPECT_EQ(base::ListFolder(folder_)->size(), 1u);
}

TEST_F(KinetoStreamTest, AFileInPlaceOfAFolderIsRefused) {
  ASSERT_TRUE(base::WriteFileAtomic(folder_ + "/file", "x").has_value());
  EXPECT_FALSE(KinetoStream::Open(folder_ + "/file/t.json", 0).has_value());
  EXPECT_EQ(KinetoStream::Open("/proc/t.json", 0).error().id, "RENDER-0153");
}

}  // namespace
}  // namespace stepslack::record
