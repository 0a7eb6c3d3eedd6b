#include "stepslack/comm/flight_recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"

namespace stepslack::comm {
namespace {

CollectiveRecord Record(int64_t seq, std::string_view name = "all_reduce") {
  CollectiveRecord record;
  record.name = name;
  record.dtype = "Float";
  record.seq = seq;
  record.elements = 1000;
  record.bytes = 4000;
  record.queued_ns = base::NowNs();
  record.start_ns = record.queued_ns + 10;
  record.end_ns = record.start_ns + 20;
  return record;
}

TEST(FlightRecorder, WritesFinishedStartedAndQueuedCalls) {
  const std::string path = testing::TempDir() + FlightFileName(3);
  const std::vector<CollectiveRecord> done = {Record(1), Record(2, "broadcast")};
  std::vector<CollectiveRecord> open = {Record(3), Record(4)};
  open[0].end_ns = 0;
  open[1].start_ns = open[1].end_ns = 0;
  FlightFacts facts;
  facts.rank = 3;
  facts.world_size = 4;
  facts.transport = "shm";
  ASSERT_TRUE(WriteFlightRecord(path, done, open, facts).has_value());
  const auto json = base::ParseJson(base::ReadFile(path).value(), path);
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["rank"].AsInt(), 3);
  EXPECT_EQ((*json)["pg_config"]["0"]["ranks"].AsString(), "[0, 1, 2, 3]");
  const base::Json& status = (*json)["pg_status"]["0"];
  EXPECT_EQ(status["last_enqueued_collective"].AsInt(), 4);
  EXPECT_EQ(status["last_started_collective"].AsInt(), 3);
  EXPECT_EQ(status["last_completed_collective"].AsInt(), 2);
  const auto& entries = (*json)["entries"].AsArray();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[1]["profiling_name"].AsString(), "shm:broadcast");
  EXPECT_EQ(entries[1]["state"].AsString(), "completed");
  EXPECT_EQ(entries[2]["state"].AsString(), "started");
  EXPECT_EQ(entries[3]["state"].AsString(), "scheduled");
  EXPECT_TRUE(entries[2]["time_discovered_completed_ns"].is_null());
  EXPECT_EQ(entries[2]["input_sizes"].AsArray()[0].AsArray()[0].AsInt(), 1000);
  // Wall-clock ns since 1970, and the distances of the record.
  EXPECT_GT(entries[0]["time_created_ns"].AsInt(), int64_t{1'500'000'000'000'000'000});
  EXPECT_EQ(entries[0]["time_discovered_completed_ns"].AsInt() -
                entries[0]["time_created_ns"].AsInt(),
            30);
  ::unlink(path.c_str());
}

TEST(FlightRecorder, AFailedCallAndGroupsAndMessagesKeepTheirNames) {
  const std::string path = testing::TempDir() + "flight_groups.json";
  std::vector<CollectiveRecord> done = {Record(1), Record(1, "send"), Record(2)};
  done[0].group = "dp0";
  done[1].peer = 1;
  done[2].failed = true;
  FlightFacts facts;
  facts.world_size = 2;
  facts.transport = "gloo";
  ASSERT_TRUE(WriteFlightRecord(path, done, {}, facts).has_value());
  const auto json = base::ParseJson(base::ReadFile(path).value(), path);
  const auto& entries = (*json)["entries"].AsArray();
  EXPECT_EQ(entries[0]["process_group"].AsArray()[0].AsString(), "dp0");
  EXPECT_EQ(entries[1]["profiling_name"].AsString(), "gloo:send 0->1");
  EXPECT_TRUE(entries[1]["is_p2p"].AsBool());
  EXPECT_EQ(entries[1]["p2p_seq_id"].AsInt(), 1);
  EXPECT_EQ(entries[2]["state"].AsString(), "started");
  ::unlink(path.c_str());
  const auto refused = WriteFlightRecord("/proc/no/flight.json", done, {}, facts);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0050");
}

TEST(FlightRecorder, ASignalAsksForADump) {
  std::atomic<int> dumps{0};
  const DumpOnSignal on_signal([&] { ++dumps; });
  ::kill(::getpid(), SIGUSR1);
  const int64_t until = base::NowNs() + int64_t{20'000'000'000};
  while (dumps == 0 && base::NowNs() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(dumps, 1);
}

}  // namespace
}  // namespace stepslack::comm
