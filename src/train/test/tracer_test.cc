// The trace of a rank against what its readers need: Perfetto, HTA 0.6 (traceEvents
// with ph, cat, name, pid, tid, ts, dur; the rank by the text `"rank": N`; steps by
// "ProfilerStep#N") and the join of a collective to its launch.
#include "tracer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>

#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

using base::Json;

constexpr int64_t kBase = 1'000'000'000;

comm::CollectiveRecord Sum(int64_t seq, int64_t queued, int64_t start, int64_t end) {
  comm::CollectiveRecord record;
  record.name = "all_reduce";
  record.dtype = "Float";
  record.seq = seq;
  record.elements = 256;
  record.bytes = 1024;
  record.queued_ns = kBase + queued;
  record.start_ns = kBase + start;
  record.end_ns = kBase + end;
  return record;
}

class TracerTest : public testing::Test {
 protected:
  // One step 7 from 0 to 100 us with two buckets, and an evaluation's sum before it.
  std::string Write() {
    Tracer tracer(7, 2);
    EXPECT_FALSE(tracer.Covers(6));
    EXPECT_TRUE(tracer.Covers(8));
    EXPECT_FALSE(tracer.Covers(9));
    EXPECT_TRUE(tracer.Opens(7));
    tracer.Begin();
    tracer.End(7, kBase, kBase + 100'000);
    EXPECT_FALSE(tracer.Opens(8));
    tracer.AddSpan("forward", kBase + 1'000, kBase + 30'000);
    tracer.AddSpan("backward", kBase + 30'000, kBase + 80'000);
    const comm::CollectiveRecord records[] = {Sum(4, -9'000, -8'000, -7'000),
                                              Sum(5, 50'000, 50'500, 60'000),
                                              Sum(6, 70'000, 70'250, 90'000)};
    tracer.AddCollectives(records, kBase);
    record::TraceHeader header;
    header.rank = 1;
    header.world_size = 2;
    header.backend = "shm";
    header.base_time_ns = kBase;
    const std::string path =
        testing::TempDir() + "tracer_" + std::to_string(::getpid()) + ".json.gz";
    EXPECT_TRUE(tracer.Write(path, header).has_value());
    std::string text = base::ReadMaybeGzip(path).value_or("");
    std::remove(path.c_str());
    return text;
  }
};

TEST_F(TracerTest, CollectivesSayWhatTheyWereAndPointToTheirLaunch) {
  const auto json = base::ParseJson(Write(), "trace");
  ASSERT_TRUE(json.has_value());
  std::map<int64_t, Json> collectives, launches, flow_starts, flow_ends;
  for (const Json& event : (*json)["traceEvents"].AsArray()) {
    const int64_t id = event["args"]["External id"].AsInt();
    if (event["name"].AsString() == "shm:all_reduce") collectives[id] = event;
    if (event["name"].AsString().starts_with("launch ")) launches[id] = event;
    if (event["ph"].AsString() == "s") flow_starts[event["id"].AsInt()] = event;
    if (event["ph"].AsString() == "f") flow_ends[event["id"].AsInt()] = event;
  }
  ASSERT_EQ(collectives.size(), 3U);
  ASSERT_EQ(launches.size(), 3U);
  ASSERT_EQ(flow_starts.size(), 3U);
  ASSERT_EQ(flow_ends.size(), 3U);

  const Json& second = collectives.at(3);
  EXPECT_EQ(second["cat"].AsString(), "user_annotation");
  EXPECT_EQ(second["tid"].AsInt(), 2);
  EXPECT_EQ(second["ts"].AsDouble(), 70.25);
  EXPECT_EQ(second["dur"].AsDouble(), 19.75);
  const Json& args = second["args"];
  EXPECT_EQ(args["Collective name"].AsString(), "allreduce");
  EXPECT_EQ(args["In msg nelems"].AsInt(), 256);
  EXPECT_EQ(args["Out msg nelems"].AsInt(), 256);
  EXPECT_EQ(args["In msg bytes"].AsInt(), 1024);
  EXPECT_EQ(args["dtype"].AsString(), "Float");
  EXPECT_EQ(args["Group size"].AsInt(), 2);
  EXPECT_EQ(args["Seq"].AsInt(), 6);
  EXPECT_EQ(args["Transport"].AsString(), "shm");
  EXPECT_FALSE(args["Algorithm"].AsString().empty());
  EXPECT_FALSE(args["Process Group Name"].AsString().empty());
  EXPECT_EQ(args["Enqueue us"].AsDouble(), 70.0);
  EXPECT_EQ(args["Queued us"].AsDouble(), 0.25);
  EXPECT_EQ(args["Bucket"].AsInt(), 1);
  EXPECT_FALSE(collectives.at(1)["args"].Has("Bucket"));  // the evaluation's

  EXPECT_EQ(launches.at(3)["name"].AsString(), "launch bucket 1");
  for (const auto& [id, start] : flow_starts) {
    const Json& end = flow_ends.at(id);
    EXPECT_EQ(start["cat"].AsString(), "ac2g");
    EXPECT_EQ(start["ts"], launches.at(id)["ts"]);  // each end on its slice
    EXPECT_EQ(start["tid"], launches.at(id)["tid"]);
    EXPECT_EQ(end["ts"], collectives.at(id)["ts"]);
    EXPECT_EQ(end["tid"], collectives.at(id)["tid"]);
    EXPECT_EQ(end["bp"].AsString(), "e");
  }
}

TEST_F(TracerTest, TheFileHasWhatHtaReads) {
  const std::string text = Write();
  EXPECT_NE(text.find("\"rank\": 1"), std::string::npos);
  const auto json = base::ParseJson(text, "trace");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["schemaVersion"].AsInt(), 1);
  EXPECT_EQ((*json)["distributedInfo"]["rank"].AsInt(-1), 1);
  EXPECT_EQ((*json)["distributedInfo"]["world_size"].AsInt(), 2);
  EXPECT_EQ((*json)["distributedInfo"]["backend"].AsString(), "shm");
  std::set<std::string> threads;
  double last_ts = -1e300;
  int64_t spans = 0;
  bool step = false;
  for (const Json& event : (*json)["traceEvents"].AsArray()) {
    ASSERT_TRUE(event["pid"].is_int());
    ASSERT_TRUE(event["tid"].is_int());
    if (event["name"].AsString() == "thread_name") {
      threads.insert(event["args"]["name"].AsString());
    }
    if (event["ph"].AsString() != "X") continue;
    ++spans;
    ASSERT_TRUE(event["ts"].is_number());
    ASSERT_TRUE(event["dur"].is_number());
    EXPECT_GE(event["dur"].AsDouble(), 0.0);
    EXPECT_GE(event["ts"].AsDouble(), last_ts);  // in order
    last_ts = event["ts"].AsDouble();
    EXPECT_TRUE(event["cat"].is_string());
    // HTA takes whatever names a stream for work of a GPU.
    EXPECT_FALSE(event["args"].Has("stream"));
    step = step || (event["name"].AsString() == "ProfilerStep#7" &&
                    event["cat"].AsString() == "user_annotation" &&
                    event["dur"].AsDouble() == 100.0);
  }
  EXPECT_TRUE(step);
  EXPECT_EQ(spans, 3 + 3 + 3);  // step and phases, collectives, launches
  EXPECT_EQ(threads, (std::set<std::string>{"training", "communication"}));
}

}  // namespace
}  // namespace stepslack::train
