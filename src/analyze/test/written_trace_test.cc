// From the trace writer of a training rank through the reader to the profile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "made_runs.h"
#include "stepslack/analyze/phases.h"
#include "stepslack/analyze/timeline.h"
#include "stepslack/record/kineto_writer.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::analyze {
namespace {

// A monotonic clock after 11 days of uptime: 15 digits of nanoseconds.
constexpr int64_t kClock = 987'654'321'123'456;

record::TraceEvent Phase(std::string name, int64_t start, int64_t end) {
  return {std::move(name), "user_annotation", kClock + start, end - start, 1, {}};
}

record::TraceEvent AllReduce(int64_t seq, int64_t start, int64_t end) {
  return {"gloo:all_reduce",
          "user_annotation",
          kClock + start,
          end - start,
          2,
          {{"Collective name", "allreduce"},
           {"In msg nelems", 325},
           {"dtype", "Float"},
           {"Group size", 2},
           {"Seq", seq},
           {"Process Group Name", "default_pg"}}};
}

TEST(WrittenTrace, KeepsEveryNanosecondFromWriterToProfile) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("stepslack_written_" + std::to_string(getpid()));
  std::vector<trace::EventStore> traces;
  for (int rank = 0; rank < 2; ++rank) {
    const int64_t late = rank == 1 ? 110 : 0;
    const std::string path =
        folder / ("trace.rank" + std::to_string(rank) + ".json.gz");
    // Base times differ by rank, as they do when ranks start one after the other.
    const auto written = record::WriteKinetoTrace(
        path,
        {.rank = rank,
         .world_size = 2,
         .backend = "gloo",
         .base_time_ns = kClock - 12'345 * (rank + 1)},
        {Phase("ProfilerStep#3", 0, 1000), Phase("forward", 0, 300),
         Phase("backward", 300, 700), Phase("comm_wait", 700, 900),
         Phase("optimizer", 900, 1000), AllReduce(1, 650 + late, 880)});
    ASSERT_TRUE(written.has_value());
    auto store = trace::ReadKinetoTrace(path);
    ASSERT_TRUE(store.has_value());
    EXPECT_EQ(store->file_rank, rank);
    EXPECT_EQ(store->backend, "gloo");
    EXPECT_EQ(store->stats.CountOf(trace::Severity::kError), 0);
    traces.push_back(std::move(*store));
  }
  std::filesystem::remove_all(folder);
  const CollectiveMatch match = MatchCollectives(traces);
  ASSERT_EQ(match.collectives.size(), 1u);
  EXPECT_EQ(match.collectives[0].name, "all_reduce");
  EXPECT_EQ(match.collectives[0].bytes, 1300);
  EXPECT_EQ(match.collectives[0].last_rank, 1);
  EXPECT_EQ(match.collectives[0].last_start_ns, kClock + 760);
  EXPECT_EQ(match.collectives[0].wait_caused_ns, 110);
  const auto steps = PhasesOfTraces(traces, match);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, 3);
  EXPECT_EQ(steps[0].start_ns, kClock);
  EXPECT_EQ(steps[0].comm_ns, 230);
  EXPECT_EQ(steps[0].exposed_ns, 180);
  EXPECT_EQ(steps[0].exposed_wait_ns, 60);
  EXPECT_EQ(steps[1].exposed_ns, 120);
  EXPECT_EQ(BuildTimeline(traces).ranks.size(), 2u);
}

}  // namespace
}  // namespace stepslack::analyze
