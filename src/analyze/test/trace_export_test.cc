#include "stepslack/analyze/trace_export.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "stepslack/base/file.h"
#include "stepslack/record/kineto_writer.h"
#include "stepslack/trace/intervals.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::analyze {
namespace {

using trace::EventStore;
using trace::Interval;
using trace::IntervalSet;

class TraceExport : public testing::Test {
 protected:
  TraceExport() {
    folder_ = testing::TempDir() + "export_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~TraceExport() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, std::string_view text) const {
    EXPECT_TRUE(base::WriteFileAtomic(Path(name), text).has_value());
    return Path(name);
  }
  EventStore Read(const std::string& path) const {
    auto store = trace::ReadKinetoTrace(path);
    EXPECT_TRUE(store.has_value()) << base::Describe(store.error());
    return std::move(store).value_or(EventStore());
  }

  std::string folder_;
};

constexpr std::string_view kRankZero = R"({"baseTimeNanoseconds": 1700000000000000000,
"distributedInfo": {"rank": 0, "world_size": 2},
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm \"q\"", "pid": 0, "tid": 7, "ts": 10.001, "dur": 5.000},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4242, "tid": 7, "ts": 1.5, "dur": 2},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20,
 "ts": 12.000, "dur": 8.123, "args": {"Collective name": "allreduce", "In msg nelems": 100,
 "dtype": "Float", "Group size": 2, "Seq": 5, "Process Group Name": "dp"}},
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}
]})";

// Per process (= rank of a merged file): count and length of the union of its events.
std::map<int64_t, std::pair<size_t, int64_t>> SumsByProcess(const EventStore& store) {
  std::map<int64_t, std::vector<Interval>> spans;
  for (size_t i = 0; i < store.size(); ++i) {
    spans[store.process[i]].push_back({store.start_ns[i], store.end_ns[i]});
  }
  std::map<int64_t, std::pair<size_t, int64_t>> sums;
  for (const auto& [process, intervals] : spans) {
    sums[process] = {intervals.size(), IntervalSet(intervals).LengthNs()};
  }
  return sums;
}

TEST_F(TraceExport, AnExportedFileReadsBackWithTheSameEvents) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> sources = {{source, 3, -250}};
  const auto written = ExportMerged(sources, {}, Path("merged.json.gz"));
  ASSERT_TRUE(written.has_value()) << base::Describe(written.error());
  EXPECT_EQ(written->events, 3);
  EXPECT_EQ(written->ranks, 1);
  const EventStore before = Read(source);
  const EventStore after = Read(Path("merged.json.gz"));
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after.start_ns[i], before.start_ns[i] - 250);
    EXPECT_EQ(after.end_ns[i], before.end_ns[i] - 250);
    EXPECT_EQ(after.NameOf(i), before.NameOf(i));
    EXPECT_EQ(after.CategoryOf(i), before.CategoryOf(i));
    EXPECT_EQ(after.process[i], 3);
  }
  ASSERT_EQ(after.collectives.size(), 1u);
  const trace::CollectiveArgs& args = after.collectives[0];
  EXPECT_EQ(after.strings.Get(args.name), "all_reduce");
  EXPECT_EQ(after.strings.Get(args.group), "dp");
  EXPECT_EQ(args.bytes, 400);
  EXPECT_EQ(args.seq, 5);
  EXPECT_EQ(args.group_size, 2);
}

TEST_F(TraceExport, ThreadsOfDifferentProcessesStayApart) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> sources = {{source, 0, 0}, {source, 0, 0}};
  ASSERT_TRUE(ExportMerged(sources, {}, Path("m.json")).has_value());
  const EventStore after = Read(Path("m.json"));
  std::map<int64_t, int> events;
  for (size_t i = 0; i < after.size(); ++i) ++events[after.thread[i]];
  EXPECT_EQ(events.size(), 6u);  // three (process, thread) of each of two files
}

TEST_F(TraceExport, NamesRanksAndVerdictsForAViewer) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> sources = {{source, 3, 0}};
  const std::vector<VerdictMark> marks = {{3, 1'700'000'000'000'011'000,
                                           1'700'000'000'000'019'001, "straggler",
                                           "late by 8 us"}};
  const auto written = ExportMerged(sources, marks, Path("m.json"));
  ASSERT_TRUE(written.has_value());
  const auto text = base::ReadFile(Path("m.json"));
  EXPECT_EQ(written->bytes, static_cast<int64_t>(text->size()));
  const auto json = base::ParseJson(*text, "merged");
  ASSERT_TRUE(json.has_value()) << base::Describe(json.error());
  EXPECT_EQ((*json)["baseTimeNanoseconds"].AsInt(), 1'699'999'000'000'000'000);
  EXPECT_NE(
      text->find(
          R"("name": "process_name", "pid": 3, "tid": 0, "args": {"name": "rank 3"})"),
      std::string::npos);
  EXPECT_NE(
      text->find(
          R"("process_sort_index", "pid": 3, "tid": 0, "args": {"sort_index": 3})"),
      std::string::npos);
  EXPECT_NE(text->find(R"("name": "stepslack verdicts")"), std::string::npos);
  const base::Json& mark = (*json)["traceEvents"].AsArray().at(4);
  EXPECT_EQ(mark["name"].AsString(), "straggler");
  EXPECT_EQ(mark["args"]["detail"].AsString(), "late by 8 us");
  EXPECT_NE(text->find("\"ts\": 1000000011.000, \"dur\": 8.001"), std::string::npos);
}

TEST_F(TraceExport, TheSameInputGivesTheSameBytes) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> sources = {{source, 0, 1}};
  ASSERT_TRUE(ExportMerged(sources, {}, Path("1.json.gz")).has_value());
  ASSERT_TRUE(ExportMerged(sources, {}, Path("2.json.gz")).has_value());
  const auto first = base::ReadFile(Path("1.json.gz"));
  EXPECT_EQ(first->substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(*first, *base::ReadFile(Path("2.json.gz")));
}

TEST_F(TraceExport, SumsPerRankSurviveAnyOffset) {
  rc::check([this] {
    std::vector<ExportSource> sources;
    std::map<int64_t, std::pair<size_t, int64_t>> expected;
    std::map<int64_t, int64_t> first_start;
    for (int32_t rank = 0; rank < 2; ++rank) {
      std::vector<record::TraceEvent> events;
      const int count = *rc::gen::inRange(1, 20);
      for (int i = 0; i < count; ++i) {
        record::TraceEvent event;
        event.name = "k" + std::to_string(i % 3);
        event.category = "cpu_op";
        event.start_ns = *rc::gen::inRange<int64_t>(0, 1'000'000'000'000);
        event.duration_ns = *rc::gen::inRange<int64_t>(0, 5'000'000);
        event.thread = i % 2;
        events.push_back(event);
      }
      const std::string path = Path("p" + std::to_string(rank) + ".json.gz");
      RC_ASSERT(
          record::WriteKinetoTrace(path, {rank, 2, "gloo", 777}, events).has_value());
      const int64_t offset =
          *rc::gen::inRange<int64_t>(-3'000'000'000'000, 3'000'000'000'000);
      sources.push_back({path, rank, offset});
      const EventStore store = Read(path);
      EventStore as_rank = store;
      for (int64_t& process : as_rank.process) process = rank;
      expected.merge(SumsByProcess(as_rank));
      first_start[rank] = store.start_ns.front() + offset;
    }
    RC_ASSERT(ExportMerged(sources, {}, Path("p.json")).has_value());
    const EventStore merged = Read(Path("p.json"));
    RC_ASSERT(SumsByProcess(merged) == expected);
    for (size_t i = merged.size(); i-- > 0;) {
      RC_ASSERT(merged.start_ns[i] >= first_start[merged.process[i]]);
    }
    std::map<int64_t, int64_t> found;
    for (size_t i = merged.size(); i-- > 0;)
      found[merged.process[i]] = merged.start_ns[i];
    RC_ASSERT(found == first_start);
  });
}

TEST_F(TraceExport, ATruncatedSourceIsCounted) {
  const std::string source = Write("cut.json", kRankZero.substr(0, 420));
  const std::vector<ExportSource> sources = {{source, 0, 0}};
  const auto written = ExportMerged(sources, {}, Path("m.json"));
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->truncated, 1);
  EXPECT_EQ(written->events, 2);
}

TEST_F(TraceExport, RefusesWhatItCannotExportAndLeavesNoFile) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> good = {{source, 0, 0}};
  EXPECT_EQ(ExportMerged({}, {}, Path("m.json")).error().id, "RENDER-0155");
  const std::vector<ExportSource> far = {{source, 0, int64_t{1} << 61}};
  EXPECT_EQ(ExportMerged(far, {}, Path("m.json")).error().id, "RENDER-0156");
  const std::vector<VerdictMark> backward = {{0, 10, 9, "x", ""}};
  EXPECT_EQ(ExportMerged(good, backward, Path("m.json")).error().id, "RENDER-0156");
  EXPECT_EQ(ExportMerged(good, {}, source).error().id, "RENDER-0157");
  const std::vector<ExportSource> missing = {{source, 0, 0}, {Path("none"), 1, 0}};
  EXPECT_EQ(ExportMerged(missing, {}, Path("m.json")).error().id, "TRACE-0003");
  EXPECT_EQ(ExportMerged(good, {}, folder_).error().id, "RENDER-0154");
  EXPECT_EQ(base::ListFolder(folder_)->size(), 1u);  // the source
}

TEST_F(TraceExport, AFullDeviceIsReported) {
  const std::string source = Write("r0.json", kRankZero);
  const std::vector<ExportSource> good = {{source, 0, 0}};
  const auto written = ExportMerged(good, {}, "/dev/full");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().id, "RENDER-0154");
}

}  // namespace
}  // namespace stepslack::analyze
