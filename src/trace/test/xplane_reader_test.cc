#include "stepslack/trace/xplane_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "stepslack/trace/intervals.h"
#include "xla_names.h"
#include "xplane_writer.h"

namespace stepslack::trace {
namespace {

using namespace xplane;  // the test writes the format down

DeviceTraces Parse(const std::string& bytes, const XplaneOptions& options = {}) {
  auto traces = ParseXplane(bytes, "host.xplane.pb", options);
  EXPECT_TRUE(traces.has_value());
  return traces.has_value() ? std::move(*traces) : DeviceTraces{};
}

int64_t BusyNs(const EventStore& store, std::string_view category) {
  std::vector<Interval> spans;
  for (size_t i = 0; i < store.size(); ++i) {
    if (store.CategoryOf(i) == category) {
      spans.push_back({store.start_ns[i], store.end_ns[i]});
    }
  }
  return IntervalSet(std::move(spans)).LengthNs();
}

size_t CountOf(const EventStore& store, std::string_view category) {
  size_t count = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    count += store.CategoryOf(i) == category ? 1 : 0;
  }
  return count;
}

TEST(XplaneReader, AddsOffsetToTheLineAndRoundsHalfUp) {
  const DeviceTraces traces = Parse(Plane(
      "/device:GPU:0",
      Line(7, "Stream #7(Compute)", 1000,
           Event(1, 1499, 1) + Event(1, 1500, 1500) + Event(1, 3000, 999)) +
          Line(8, "Stream #8(MemcpyH2D)", 1000,
               Event(2, -500, 100) + Event(3, -501, 1)) +
          EventName(1, "gemm") + EventName(2, "MemcpyH2D") + EventName(3, "Memset")));
  ASSERT_EQ(traces.traces.size(), 1u);
  const EventStore& store = traces.traces[0].store;
  ASSERT_EQ(store.size(), 5u);
  EXPECT_EQ(store.NameOf(0), "Memset");
  EXPECT_EQ(store.start_ns[0], 999);  // -0.501 ns
  EXPECT_EQ(store.end_ns[0], 1000);   // -0.500 ns is half, up
  EXPECT_EQ(store.NameOf(1), "MemcpyH2D");
  EXPECT_EQ(store.start_ns[1], 1000);
  EXPECT_EQ(store.start_ns[2], 1001);  // 1.499
  EXPECT_EQ(store.end_ns[2], 1002);    // 1.500 is half, up
  EXPECT_EQ(store.start_ns[3], 1002);  // touches the one before, as in picoseconds
  EXPECT_EQ(store.end_ns[3], 1003);
  EXPECT_EQ(store.start_ns[4], 1003);
  EXPECT_EQ(store.end_ns[4], 1004);
  EXPECT_EQ(store.CategoryOf(0), "gpu_memset");
  EXPECT_EQ(store.CategoryOf(1), "gpu_memcpy");
  EXPECT_EQ(store.CategoryOf(2), "kernel");
  EXPECT_EQ(store.stream[2], 7);
  EXPECT_EQ(store.stream[1], 8);
  EXPECT_EQ(store.process[2], 0);
  EXPECT_EQ(store.file_rank, -1);
}

TEST(XplaneReader, CountsTheDeviceTimeOfAGpuOnce) {
  const std::string event = Event(1, 0, 5'000'000);
  const DeviceTraces traces = Parse(Plane(
      "/device:GPU:0",
      Line(1, "Steps", 0, event) + Line(2, "XLA Modules", 0, event) +
          Line(3, "XLA Ops", 0, event) + Line(4, "Framework Name Scope", 0, event) +
          Line(5, "Framework Ops", 0, event) + Line(6, "Source code", 0, event) +
          Line(13, "Stream #13(Compute)", 0, event) + EventName(1, "12")));
  const EventStore& store = traces.traces[0].store;
  EXPECT_EQ(CountOf(store, "kernel"), 1u);
  EXPECT_EQ(BusyNs(store, "kernel"), 5000);
  EXPECT_EQ(store.stats.Count("event of a derived line not used"), 6);
  // The step line gives the step, as no host annotation does.
  ASSERT_EQ(CountOf(store, "user_annotation"), 1u);
  EXPECT_EQ(store.NameOf(0) == "ProfilerStep#12" ? store.NameOf(0) : store.NameOf(1),
            "ProfilerStep#12");
}

TEST(XplaneReader, TakesTheOpsOfATpuAndLeavesLoopsAroundThemOut) {
  // while [0, 100) holds a fusion [0, 40) and an all-reduce [40, 90).
  const DeviceTraces traces = Parse(Plane(
      "/device:TPU:0",
      Line(1, "XLA Modules", 0, Event(9, 0, 100'000)) +
          Line(3, "XLA Ops", 0,
               Event(1, 0, 100'000) + Event(2, 0, 40'000) + Event(3, 40'000, 50'000) +
                   Event(4, 100'000, 1'000) + Event(5, 101'000, 9'000)) +
          Line(4, "Async XLA Ops", 0, Event(4, 100'000, 10'000)) +
          EventName(1, "%while.3 = (s32[]) while(...)", "while.3") +
          EventName(2, "%fusion.1 = f32[8] fusion(...)", "fusion.1") +
          EventName(3, "%all-reduce.7 = f32[8] all-reduce(...)", "all-reduce.7") +
          EventName(4, "all-gather-start.2") + EventName(5, "all-gather-done.2") +
          EventName(9, "jit_step")));
  const EventStore& store = traces.traces[0].store;
  EXPECT_EQ(CountOf(store, "gpu_user_annotation"), 1u);
  EXPECT_EQ(CountOf(store, "kernel"), 4u);
  EXPECT_EQ(BusyNs(store, "kernel"), 40 + 50 + 1 + 9);
  std::vector<std::string> collectives;
  for (size_t i = 0; i < store.size(); ++i) {
    if (store.collective[i] == kNoCollective) continue;
    const auto index = static_cast<size_t>(store.collective[i]);
    collectives.emplace_back(store.strings.Get(store.collectives[index].name));
  }
  EXPECT_EQ(collectives, (std::vector<std::string>{"all_reduce", "all_gather"}));
}

TEST(XplaneReader, PrefersStepsOfTheHostAndGivesThemToEveryDevice) {
  const std::string device = Line(7, "Stream #7", 0, Event(1, 0, 1000)) +
                             Line(1, "Steps", 0, Event(2, 0, 1000)) +
                             EventName(1, "k") + EventName(2, "99");
  const std::string host =
      Line(5, "python3", 10,
           Event(3, 0, 2000, IntStat(4, 41)) + Event(3, 2000, 3000, IntStat(4, 42)) +
               Event(5, 0, 700)) +
      EventName(3, "train") + EventName(5, "$model.py:3 forward") +
      StatName(4, "step_num");
  const DeviceTraces traces =
      Parse(Plane("/device:GPU:1", device) + Plane("/device:GPU:0", device) +
            Plane("/host:CPU", host) + Bytes(4, "node-7"));
  EXPECT_EQ(traces.host, "node-7");
  ASSERT_EQ(traces.traces.size(), 2u);
  EXPECT_EQ(traces.traces[0].device, "/device:GPU:0");  // by number, not as written
  EXPECT_EQ(traces.traces[1].device_index, 1);
  EXPECT_EQ(traces.traces[0].store.file_rank, 0);
  EXPECT_EQ(traces.traces[1].store.rank[0], 1);
  for (const DeviceTrace& trace : traces.traces) {
    const EventStore& store = trace.store;
    ASSERT_EQ(CountOf(store, "user_annotation"), 2u);
    for (size_t i = 0; i < store.size(); ++i) {
      if (store.NameOf(i) != "ProfilerStep#42") continue;
      EXPECT_EQ(store.start_ns[i], 12);
      EXPECT_EQ(store.end_ns[i], 15);
      EXPECT_EQ(store.process[i], kXplaneHostProcess);
    }
  }
  // What belongs to the process as a whole stands with the first device.
  EXPECT_EQ(CountOf(traces.traces[0].store, "python_function"), 1u);
  EXPECT_EQ(CountOf(traces.traces[1].store, "python_function"), 0u);
}

TEST(XplaneReader, PutsALaunchToTheDeviceThatRanIt) {
  const auto device = [](int64_t correlation) {
    return Line(7, "Stream #7", 0, Event(1, 0, 1000, IntStat(4, correlation))) +
           EventName(1, "k") + StatName(4, "correlation_id");
  };
  const DeviceTraces traces = Parse(
      Plane("/device:GPU:0", device(11)) + Plane("/device:GPU:1", device(12)) +
          Plane("/host:CPU",
                Line(5, "t", 0,
                     Event(1, 0, 10, IntStat(4, 12)) + Event(2, 0, 10, IntStat(4, 11)) +
                         Event(3, 0, 10)) +
                    EventName(1, "cuLaunchKernel") + EventName(2, "hipLaunchKernel") +
                    EventName(3, "custom") + StatName(4, "correlation_id")),
      {.first_rank = 8});
  const EventStore& first = traces.traces[0].store;
  const EventStore& second = traces.traces[1].store;
  EXPECT_EQ(first.file_rank, 8);
  EXPECT_EQ(second.file_rank, 9);
  ASSERT_EQ(CountOf(second, "cuda_runtime"), 1u);
  for (size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second.correlation[i], 12);
  EXPECT_EQ(CountOf(first, "cuda_runtime"), 1u);
  EXPECT_EQ(CountOf(first, "cpu_op"), 1u);
}

TEST(XplaneReader, AddsTheStartOfTheSessionToRelativeLines) {
  constexpr int64_t kStart = 1'779'266'702'889'805'563;
  const DeviceTraces traces = Parse(
      Plane("/device:GPU:0", Line(7, "Stream #7", 500, Event(1, 1000, 2000)) +
                                 Line(8, "Stream #8", kStart + 9, Event(1, 0, 0)) +
                                 EventName(1, "k")) +
      Plane("Task Environment", StatName(2, "profile_stop_time") +
                                    StatName(1, "profile_start_time") +
                                    Bytes(6, Int(1, 1) + Int(3, kStart))));
  const EventStore& store = traces.traces[0].store;
  EXPECT_EQ(store.start_ns[0], kStart + 9);  // was absolute
  EXPECT_EQ(store.start_ns[1], kStart + 501);
  EXPECT_EQ(store.end_ns[1], kStart + 503);
}

TEST(XplaneReader, NamesAGpuCollectiveByItsOpWhenTheKernelDoesNot) {
  const DeviceTraces traces = Parse(Plane(
      "/device:GPU:0",
      Line(7, "Stream #7", 0, Event(1, 0, 1000, RefStat(4, 9)) + Event(2, 2000, 1000)) +
          EventName(1, "ncclDevKernel_Generic(ncclDevComm*)") +
          EventName(2, "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)") +
          StatName(4, "hlo_op") + StatName(9, "reduce-scatter-start.1")));
  const EventStore& store = traces.traces[0].store;
  ASSERT_EQ(store.collectives.size(), 2u);
  EXPECT_EQ(store.strings.Get(store.collectives[0].name), "reduce_scatter");
  EXPECT_EQ(store.strings.Get(store.collectives[1].name), "all_gather");
}

TEST(XplaneReader, CountsWhatItCanNotUseWithItsOffset) {
  const std::string good = Event(1, 0, 1000);
  const std::string bad = Bytes(4, "\x0b");  // a group
  const std::string file = Plane(
      "/device:GPU:0", Line(7, "Stream #7", 0,
                            good + bad + Event(1, 0, -5) +
                                Event(1, 0, int64_t{8} * 86'400'000'000'000'000) +
                                Bytes(4, Int(1, 1) + Int(5, 3)) + Event(6, 10, 1000)) +
                           EventName(1, "k"));
  const EventStore store = Parse(file).traces[0].store;
  EXPECT_EQ(store.size(), 3u);
  EXPECT_EQ(store.stats.Count("malformed event"), 1);
  EXPECT_EQ(store.stats.counts().at("malformed event").first_offset,
            static_cast<int64_t>(file.find(bad)));
  EXPECT_EQ(store.stats.Count("negative duration set to 0"), 1);
  EXPECT_EQ(store.stats.Count("event longer than 7 days"), 1);
  EXPECT_EQ(store.stats.Count("aggregated event without a time"), 1);
  EXPECT_EQ(store.stats.Count("event without a name"), 1);
  EXPECT_FALSE(store.truncated);
}

TEST(XplaneReader, GivesWhatCameBeforeTheEndOfACutFile) {
  const std::string file =
      Plane("/device:GPU:0",
            EventName(1, "k") +
                Line(7, "Stream #7", 0, Event(1, 0, 1000) + Event(1, 1000, 1000)));
  const DeviceTraces whole = Parse(file);
  EXPECT_FALSE(whole.traces[0].store.truncated);
  EXPECT_EQ(whole.traces[0].store.size(), 2u);
  const DeviceTraces cut = Parse(file.substr(0, file.size() - 2));
  const EventStore& store = cut.traces[0].store;
  EXPECT_EQ(store.size(), 1u);
  EXPECT_TRUE(store.truncated);
  EXPECT_EQ(store.truncated_at, static_cast<int64_t>(file.size() - 2));
  EXPECT_EQ(store.stats.CountOf(Severity::kError), 0);
}

TEST(XplaneReader, ReadsAProfileOfTheHostAlone) {
  const DeviceTraces traces = Parse(
      Plane("/host:CPU", Line(5, "python3", 0, Event(1, 0, 1000)) + EventName(1, "f")) +
      Plane("/host:metadata", EventName(1, "jit_step")) +
      Plane("/device:CUSTOM:Megascale Trace", Line(1, "x", 0, Event(1, 0, 1))));
  ASSERT_EQ(traces.traces.size(), 1u);
  EXPECT_EQ(traces.traces[0].device, "host");
  EXPECT_EQ(traces.traces[0].device_index, -1);
  EXPECT_EQ(traces.traces[0].store.size(), 1u);
  EXPECT_EQ(traces.stats.Count("plane not used"), 1);
}

TEST(XplaneReader, RefusesWhatIsNoProfile) {
  for (const std::string& bytes :
       {std::string(), std::string("{\"traceEvents\": []}"),
        Bytes(1, Bytes(2, "hello")), Int(1, 5), std::string("\x0a\x02\x12\x00", 4)}) {
    const auto traces = ParseXplane(bytes, "a.pb");
    ASSERT_FALSE(traces.has_value());
    EXPECT_EQ(traces.error().id, "TRACE-0170");
    EXPECT_EQ(traces.error().where, "a.pb");
  }
}

RC_GTEST_PROP(XplaneReaderProperty, NoCutOfAFileIsWorseThanTruncated, ()) {
  const std::string file =
      Plane("/device:GPU:0", EventName(1, "k") + StatName(4, "correlation_id") +
                                 Line(7, "Stream #7", 5,
                                      Event(1, 0, 900, IntStat(4, 1)) +
                                          Event(1, 1000, 900, IntStat(4, 2)))) +
      Plane("/host:CPU", Line(1, "t", 5, Event(1, 0, 10)) + EventName(1, "f"));
  const auto size = *rc::gen::inRange<size_t>(20, file.size());
  const auto traces = ParseXplane(file.substr(0, size), "cut");
  RC_ASSERT(traces.has_value());
  int64_t errors = traces->stats.CountOf(Severity::kError);
  size_t events = 0;
  for (const DeviceTrace& trace : traces->traces) {
    errors += trace.store.stats.CountOf(Severity::kError);
    events += trace.store.size();
  }
  RC_ASSERT(errors == 0);
  RC_ASSERT(events <= 3u);
}

TEST(XlaNames, KnowsDevicesAndCollectives) {
  EXPECT_EQ(ParseXlaDevice("/device:GPU:12")->number, 12);
  EXPECT_EQ(ParseXlaDevice("/device:TPU:0")->kind, 'T');
  EXPECT_EQ(ParseXlaDevice("/gpu:0 (streams)")->number, 0);
  EXPECT_FALSE(ParseXlaDevice("/device:TPU:0 SparseCore 1").has_value());
  EXPECT_FALSE(ParseXlaDevice("/device:GPU:").has_value());
  EXPECT_FALSE(ParseXlaDevice("/device:GPU:99999999999").has_value());
  EXPECT_FALSE(ParseXlaDevice("/device:CUSTOM:0").has_value());
  EXPECT_EQ(XlaCollective("%collective-permute-done.1 = f32[]"), "collective_permute");
  EXPECT_EQ(XlaCollective("all-reduce-start.4"), std::nullopt);
  EXPECT_EQ(XlaCollective("all-reduce-start.4", true), "all_reduce");
  EXPECT_EQ(XlaCollective("fusion.4"), std::nullopt);
  EXPECT_EQ(XlaCollective("recv-done.1"), "recv");
  EXPECT_EQ(XlaStream("Stream #13(Compute)", 99), 13);
  EXPECT_EQ(XlaStream("Stream #13999999999", 99), 99);
  EXPECT_TRUE(IsLaunchApi("cuLaunchKernel"));
  EXPECT_TRUE(IsLaunchApi("cudaLaunchKernel"));
  EXPECT_FALSE(IsLaunchApi("custom"));
}

}  // namespace
}  // namespace stepslack::trace
