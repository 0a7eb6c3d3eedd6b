#include "stepslack/trace/kineto_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "stepslack/base/file.h"

namespace stepslack::trace {
namespace {

EventStore Parse(std::string_view text, const ReadOptions& options = {}) {
  auto store = ParseKinetoTrace(text, "trace.json", options);
  EXPECT_TRUE(store.has_value());
  return store.has_value() ? std::move(*store) : EventStore{};
}

std::string Event(std::string_view name, std::string_view ts, std::string_view dur) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 7, "tid": 1, "ts": {}, "dur": {}}})",
      name, ts, dur);
}

TEST(KinetoReader, ReadsTimesRankAndCollectiveOfOurOwnDialect) {
  const EventStore store = Parse(R"({
    "schemaVersion": 1,
    "distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2},
    "baseTimeNanoseconds": 1000000000,
    "traceEvents": [
      {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "rank 1"}},
      {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2,
       "ts": 5.250, "dur": 1.001, "args": {"Collective name": "all_reduce",
       "In msg nelems": 16384, "dtype": "float32", "Group size": 2, "Seq": 9,
       "Process Group Name": "dp"}},
      {"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 1,
       "ts": 2.000, "dur": 3.000}
    ]})");
  ASSERT_EQ(store.size(), 2u);
  EXPECT_EQ(store.NameOf(0), "forward");  // sorted by time
  EXPECT_EQ(store.start_ns[0], 1000002000);
  EXPECT_EQ(store.end_ns[0], 1000005000);
  EXPECT_EQ(store.start_ns[1], 1000005250);
  EXPECT_EQ(store.end_ns[1], 1000006251);
  EXPECT_EQ(store.thread[1], 2);
  EXPECT_EQ(store.process[1], 1);
  EXPECT_EQ(store.rank[1], 1);
  EXPECT_EQ(store.world_size, 2);
  EXPECT_EQ(store.backend, "gloo");
  EXPECT_EQ(store.collective[0], kNoCollective);
  ASSERT_EQ(store.collective[1], 0);
  EXPECT_EQ(store.strings.Get(store.collectives[0].name), "all_reduce");
  EXPECT_EQ(store.strings.Get(store.collectives[0].group), "dp");
  EXPECT_EQ(store.collectives[0].seq, 9);
  EXPECT_EQ(store.collectives[0].bytes, 65536);
  EXPECT_EQ(store.collectives[0].group_size, 2);
  EXPECT_EQ(store.stats.Count("event of phase M not used"), 1);
  EXPECT_FALSE(store.truncated);
}

TEST(KinetoReader, AcceptsTextTimesAnArrayRootAndALateRank) {
  const EventStore array =
      Parse("[" + Event("a", "\"12.5\"", "\"1\"") + "]", {.rank = 3});
  ASSERT_EQ(array.size(), 1u);
  EXPECT_EQ(array.start_ns[0], 12500);
  EXPECT_EQ(array.end_ns[0], 13500);
  EXPECT_EQ(array.rank[0], 3);
  const EventStore late =
      Parse(R"({"traceEvents": [)" + Event("a", "1", "1") +
                R"(], "baseTimeNanoseconds": "500", "distributedInfo": {"rank": 6}})",
            {.rank = 3});
  EXPECT_EQ(late.rank[0], 6);  // what the file says wins
  EXPECT_EQ(late.start_ns[0], 1500);
}

TEST(KinetoReader, CountsMalformedEventsWithTheFirstOffsetAndGoesOn) {
  const std::string good = Event("good", "1", "1");
  const std::string no_time = R"({"ph": "X", "name": "x", "dur": 1})";
  const std::string bare_quote = R"({"ph": "X", "name": "a "b" c", "ts": 1, "dur": 1})";
  const std::string text = "[" + good + "," + no_time + "," + bare_quote + "," + good +
                           ", 17, " + good + "]";
  const EventStore store = Parse(text);
  EXPECT_EQ(store.size(), 3u);
  EXPECT_EQ(store.stats.Count("malformed event"), 3);
  EXPECT_EQ(store.stats.counts().at("malformed event").first_offset,
            static_cast<int64_t>(1 + good.size() + 1));
  EXPECT_FALSE(store.truncated);
}

TEST(KinetoReader, AMalformedLastEventIsNotATruncation) {
  const EventStore store =
      Parse("[" + Event("good", "1", "1") + R"(, {"ph": "X" "name": 1} ])");
  EXPECT_EQ(store.size(), 1u);
  EXPECT_FALSE(store.truncated);
  EXPECT_EQ(store.stats.Count("malformed event"), 1);
}

TEST(KinetoReader, OddDurationsAreCountedAndMadeHarmless) {
  const EventStore store = Parse("[" + Event("negative", "5", "-1") + "," +
                                 Event("absurd", "5", "99999999999999") + "]");
  ASSERT_EQ(store.size(), 1u);
  EXPECT_EQ(store.end_ns[0], store.start_ns[0]);
  EXPECT_EQ(store.stats.Count("negative duration set to 0"), 1);
  EXPECT_EQ(store.stats.Count("event longer than 7 days"), 1);
}

TEST(KinetoReader, ThreadsNamedByTextDifferFromEachOtherAndFromNumbers) {
  const auto with_thread = [](std::string_view tid) {
    return fmt::format(
        R"({{"ph": "X", "name": "a", "tid": {}, "pid": "Spans", "ts": 1, "dur": 1}})",
        tid);
  };
  const EventStore store = Parse("[" + with_thread("-1") + "," + with_thread("\"\"") +
                                 "," + with_thread("\"PyTorch Profiler\"") + "]");
  ASSERT_EQ(store.size(), 3u);
  const std::set<int64_t> threads(store.thread.begin(), store.thread.end());
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(*threads.rbegin(), -1);
}

TEST(KinetoReader, RefusesTextThatIsNoTrace) {
  for (const char* text :
       {"", "   ", "{}", "hello", R"({"a": 1})", R"({"traceEvents": 5})"}) {
    const auto store = ParseKinetoTrace(text, "x.json");
    ASSERT_FALSE(store.has_value()) << text;
    EXPECT_EQ(store.error().id, "TRACE-0001");
    EXPECT_EQ(store.error().where, "x.json");
  }
}

TEST(KinetoReader, EveryPrefixOfATraceGivesTheEventsBeforeTheCut) {
  const std::string head = R"({"distributedInfo": {"rank": 0}, "traceEvents": [)";
  std::string text = head;
  std::vector<size_t> ends;
  for (int i = 0; i < 5; ++i) {
    text += (i == 0 ? "" : ",\n") + Event("e", std::to_string(i), "1");
    ends.push_back(text.size());
  }
  const std::string whole = text + "]}";
  for (size_t cut = head.size(); cut < whole.size(); ++cut) {
    const EventStore store = Parse(std::string_view(whole).substr(0, cut));
    const auto complete = std::count_if(ends.begin(), ends.end(),
                                        [cut](size_t end) { return end <= cut; });
    EXPECT_EQ(store.size(), static_cast<size_t>(complete)) << cut;
    EXPECT_TRUE(store.truncated) << cut;
    EXPECT_LE(store.truncated_at, static_cast<int64_t>(cut));
  }
  EXPECT_FALSE(Parse(whole).truncated);
}

class KinetoFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("stepslack_kineto_{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(std::string_view name, std::string_view bytes) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(base::WriteFileAtomic(path, bytes).has_value());
    return path;
  }
  std::filesystem::path folder_;
};

TEST_F(KinetoFile, ReadsPlainAndCompressedFilesAlike) {
  const std::string text = "[" + Event("a", "1", "2") + "]";
  for (const std::string& path :
       {Write("a.json", text), Write("a.json.gz", base::Gzip(text))}) {
    const auto store = ReadKinetoTrace(path);
    ASSERT_TRUE(store.has_value()) << path;
    EXPECT_EQ(store->size(), 1u);
    EXPECT_FALSE(store->truncated);
  }
}

TEST_F(KinetoFile, ACompressedFileThatIsCutShortGivesAPartialResult) {
  std::string text = "[";
  for (int i = 0; i < 4000; ++i) {
    text += (i == 0 ? "" : ",") + Event("e" + std::to_string(i * 7919 % 4001),
                                        std::to_string(i * 31), std::to_string(i % 97));
  }
  const std::string zipped = base::Gzip(text + "]");
  const auto store =
      ReadKinetoTrace(Write("cut.json.gz", zipped.substr(0, zipped.size() / 2)));
  ASSERT_TRUE(store.has_value());
  EXPECT_TRUE(store->truncated);
  EXPECT_GT(store->size(), 1000u);
  EXPECT_LT(store->size(), 4000u);
}

// Events are cut by every window's end somewhere; none may be lost or read twice.
TEST_F(KinetoFile, AFileLargerThanTheWindowLosesNothingAtItsSeams) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  int64_t total_ns = 0;
  constexpr int kEvents = 60'000;
  for (int i = 0; i < kEvents; ++i) {
    text +=
        (i == 0 ? "" : ",\n  ") + Event("e" + std::to_string(i % 13),
                                        std::to_string(i * 3), std::to_string(i % 7));
    text += std::string(static_cast<size_t>(i % 11), ' ');
    total_ns += i % 7 * 1000;
  }
  text += R"(], "distributedInfo": {"rank": 3, "world_size": 4}})";
  ASSERT_GT(text.size(), size_t{3} << 20);
  for (const std::string& path :
       {Write("big.json", text), Write("big.json.gz", base::Gzip(text))}) {
    const auto store = ReadKinetoTrace(path);
    ASSERT_TRUE(store.has_value());
    EXPECT_EQ(store->size(), size_t{kEvents});
    EXPECT_EQ(store->file_rank, 3);
    EXPECT_FALSE(store->truncated);
    EXPECT_EQ(store->stats.CountOf(Severity::kError), 0);
    int64_t sum_ns = 0;
    for (size_t i = 0; i < store->size(); ++i) {
      sum_ns += store->end_ns[i] - store->start_ns[i];
    }
    EXPECT_EQ(sum_ns, total_ns);
  }
}

TEST_F(KinetoFile, ABrokenEventFarFromAnyBoundaryIsLeftBehind) {
  const std::string noise = "{\"ph\": \"X\" broken " + std::string(3'000'000, 'x');
  const std::string text =
      "[" + Event("a", "1", "2") + "," + noise + "}," + Event("b", "5", "2") + "]";
  const auto store = ReadKinetoTrace(Write("noise.json", text));
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ(store->size(), 2u);
  EXPECT_EQ(store->stats.Count("malformed event"), 1);
  EXPECT_FALSE(store->truncated);
}

TEST_F(KinetoFile, ABeginCarriesTheArgumentsOfItsSpan) {
  const auto store = ReadKinetoTrace(Write("pairs.json", R"([
    {"ph": "B", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7,
     "ts": 5, "args": {"stream": 20, "correlation": 31, "Collective name": "allreduce",
     "In msg nelems": 10, "dtype": "Float", "Group size": 2, "Seq": 4}},
    {"ph": "E", "pid": 0, "tid": 7, "ts": 9.5}])"));
  ASSERT_TRUE(store.has_value());
  ASSERT_EQ(store->size(), 1u);
  EXPECT_EQ(store->end_ns[0] - store->start_ns[0], 4500);
  EXPECT_EQ(store->stream[0], 20);
  EXPECT_EQ(store->correlation[0], 31);
  ASSERT_EQ(store->collective[0], 0);
  EXPECT_EQ(store->collectives[0].bytes, 40);
  EXPECT_EQ(store->collectives[0].seq, 4);
}

TEST_F(KinetoFile, TimesThatTheWriterClampedToItsBaseAreLeftOut) {
  const std::string far = Event("a", "5000000000000", "2") + "," + Event("b", "0", "7");
  const std::string near = Event("a", "50", "2") + "," + Event("b", "0", "7");
  const auto read = [&](const std::string& events) {
    return ReadKinetoTrace(
        Write("base.json",
              R"({"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [)" +
                  events + "]}"));
  };
  const auto clamped = read(far);
  ASSERT_TRUE(clamped.has_value());
  ASSERT_EQ(clamped->size(), 1u);
  EXPECT_EQ(clamped->NameOf(0), "a");
  EXPECT_EQ(clamped->stats.Count("time clamped to the base time, event not used"), 1);
  const auto honest = read(near);
  ASSERT_TRUE(honest.has_value());
  EXPECT_EQ(honest->size(), 2u);
}

TEST_F(KinetoFile, ManyBlanksAreNoTrace) {
  const auto store =
      ReadKinetoTrace(Write("big.json.gz", base::Gzip(std::string(3'000'000, ' '))));
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().id, "TRACE-0001");
}

TEST_F(KinetoFile, AMissingFileIsAnError) {
  const auto store = ReadKinetoTrace((folder_ / "none.json").string());
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().id, "TRACE-0003");
}

TEST(CollectiveNames, LibrariesSpellOneNameManyWays) {
  for (const char* name :
       {"gloo:all_reduce", "allreduce", "_allreduce_base", "all-reduce",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"}) {
    EXPECT_EQ(CanonicalCollectiveName(name), "all_reduce") << name;
  }
  EXPECT_EQ(CanonicalCollectiveName("ncclKernel_ReduceScatter_RING_LL_Sum_float"),
            "reduce_scatter");
  EXPECT_EQ(CanonicalCollectiveName("all_gather_into_tensor"), "all_gather");
  EXPECT_EQ(CanonicalCollectiveName("Custom"), "custom");
}

TEST(CollectiveNames, TheBookkeepingTwinsOfACollectiveAreNotSpans) {
  const CollectiveNames& names = CollectiveNames::BuiltIn();
  EXPECT_TRUE(
      IsCollectiveSpan("gloo:all_reduce", CategoryKind::kAnnotation, false, names));
  EXPECT_TRUE(
      IsCollectiveSpan("ncclDevKernel_Generic", CategoryKind::kKernel, false, names));
  EXPECT_FALSE(
      IsCollectiveSpan("record_param_comms", CategoryKind::kOperator, true, names));
  EXPECT_FALSE(IsCollectiveSpan("nccl:all_reduce", CategoryKind::kDeviceAnnotation,
                                true, names));
  EXPECT_FALSE(
      IsCollectiveSpan("nccl:all_reduce", CategoryKind::kAnnotation, false, names));
  EXPECT_FALSE(IsCollectiveSpan("aten::conv2d", CategoryKind::kOperator, false, names));
}

TEST(CollectiveNames, ElementSizesAreKnownInBothSpellings) {
  EXPECT_EQ(ElementBytes("Float"), 4);
  EXPECT_EQ(ElementBytes("float32"), 4);
  EXPECT_EQ(ElementBytes("BFloat16"), 2);
  EXPECT_EQ(ElementBytes("Long"), 8);
  EXPECT_EQ(ElementBytes("Byte"), 1);
  EXPECT_EQ(ElementBytes("Quaternion"), 0);
}

RC_GTEST_PROP(KinetoReaderProperty, TheOrderOfEventsInTheFileHasNoInfluence, ()) {
  std::vector<std::string> events;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    events.push_back(Event(fmt::format("n{}", *rc::gen::inRange(0, 3)),
                           std::to_string(*rc::gen::inRange(0, 5)),
                           std::to_string(*rc::gen::inRange(0, 3))));
  }
  const EventStore a = Parse(fmt::format("[{}]", fmt::join(events, ",")));
  for (size_t i = events.size(); i > 1; --i) {
    std::swap(events[i - 1], events[*rc::gen::inRange<size_t>(0, i)]);
  }
  const EventStore b = Parse(fmt::format("[{}]", fmt::join(events, ",")));
  RC_ASSERT(a.start_ns == b.start_ns);
  RC_ASSERT(a.end_ns == b.end_ns);
  for (size_t i = 0; i < a.size(); ++i) RC_ASSERT(a.NameOf(i) == b.NameOf(i));
}

}  // namespace
}  // namespace stepslack::trace
