#include "stepslack/trace/flight_recorder.h"

#include <gtest/gtest.h>

#include <string>

#include "stepslack/base/file.h"

namespace stepslack::trace {
namespace {

// As torch writes JSON: sorted keys, numbers of pg_status as text.
constexpr std::string_view kJson = R"({
 "entries": [
  {"collective_seq_id": 5, "frames": [{"filename": "a.py", "line": 7, "name": "f"}],
   "input_dtypes": ["BFloat16"], "input_sizes": [[2048, 5120]], "is_p2p": false,
   "op_id": 9, "output_dtypes": ["BFloat16"], "output_sizes": [[2048, 5120], []],
   "p2p_seq_id": 2, "pg_id": 11, "process_group": ["72", "EXPERT"],
   "profiling_name": "nccl:all_to_all", "record_id": 31, "retired": true,
   "state": "completed", "time_created_ns": 1758580155793872443,
   "time_discovered_completed_ns": 1758580155793872999,
   "time_discovered_started_ns": null, "timeout_ms": 600000},
  {"collective_seq_id": 4, "pg_id": 0, "process_group": ["0", "default_pg"],
   "p2p_seq_id": 8, "profiling_name": "nccl:recv 0<-8", "record_id": 30,
   "is_p2p": true, "state": "scheduled"}],
 "nccl_version": "2.27.3",
 "pg_config": {"0": {"desc": "default_pg", "name": "0", "ranks": "[0, 1, 2]"},
               "72": {"desc": "EXPERT", "name": "72", "ranks": "[2, 0]"}},
 "pg_status": {"11": {"last_completed_collective": "5",
                      "last_enqueued_collective": "6",
                      "last_started_collective": "-1"}},
 "version": "2.9"})";

FlightDump Parse(std::string_view text, std::string_view name = "x_dump_3") {
  const auto dump = ParseFlightRecorder(text, name);
  EXPECT_TRUE(dump.has_value());
  return dump.value_or(FlightDump{});
}

TEST(FlightRecorder, ReadsTheJsonForm) {
  const FlightDump dump = Parse(kJson);
  EXPECT_EQ(dump.version, "2.9");
  EXPECT_EQ(dump.comm_library_version, "2.27.3");
  EXPECT_EQ(dump.rank, 3);
  EXPECT_EQ(dump.groups.at("72").description, "EXPERT");
  EXPECT_EQ(dump.groups.at("72").ranks, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(dump.status.at(11).last_enqueued, 6);
  EXPECT_EQ(dump.status.at(11).last_started, -1);
  EXPECT_EQ(dump.status.at(11).last_completed, 5);
  ASSERT_EQ(dump.entries.size(), 2u);  // by record_id, not as in the file
  EXPECT_EQ(dump.entries[0].operation, "recv 0<-8");
  EXPECT_TRUE(dump.entries[0].is_p2p);
  EXPECT_EQ(dump.entries[0].p2p_seq_id, 8);
  const FlightEntry& entry = dump.entries[1];
  EXPECT_EQ(entry.operation, "all_to_all");
  EXPECT_EQ(entry.group_name, "72");
  EXPECT_EQ(entry.collective_seq_id, 5);
  EXPECT_EQ(entry.input_sizes, (std::vector<std::vector<int64_t>>{{2048, 5120}}));
  EXPECT_EQ(entry.output_sizes, (std::vector<std::vector<int64_t>>{{2048, 5120}, {}}));
  EXPECT_EQ(entry.input_dtypes, (std::vector<std::string>{"BFloat16"}));
  EXPECT_EQ(entry.state, FlightState::kCompleted);
  EXPECT_EQ(entry.time_created_ns, 1758580155793872443);
  EXPECT_EQ(entry.completed_ns, 1758580155793872999);
  EXPECT_FALSE(entry.started_ns.has_value());
  EXPECT_EQ(entry.timeout_ms, 600000);
  EXPECT_TRUE(entry.retired);
  ASSERT_EQ(entry.frames.size(), 1u);
  EXPECT_EQ(entry.frames[0].file, "a.py");
  EXPECT_EQ(entry.frames[0].line, 7);
}

// {"rank": 4, "pg_config": {}, "entries": [{"profiling_name": "nccl:barrier",
//  "collective_seq_id": 2}, {"profiling_name": "nccl:barrier"}]} of protocol 2.
std::string SmallPickle() {
  const auto text = [](std::string_view value) {
    std::string bytes = "X";
    bytes += static_cast<char>(value.size());
    return bytes + std::string(3, '\0') + std::string(value);
  };
  return "\x80\x02}(" + text("rank") + "K\x04" + text("pg_config") + "}" +
         text("entries") + "](}(" + text("profiling_name") + text("nccl:barrier") +
         text("collective_seq_id") + "K\x02u}(" + text("profiling_name") +
         text("nccl:barrier") + "ueu.";
}

TEST(FlightRecorder, ReadsAPickleAndCountsABadEntryWithItsPlace) {
  const std::string bytes = SmallPickle();
  EXPECT_TRUE(LooksLikeFlightRecorder(bytes));
  const FlightDump dump = Parse(bytes);
  EXPECT_EQ(dump.rank, 4);  // the root's own word, not the file name's
  ASSERT_EQ(dump.entries.size(), 1u);
  EXPECT_EQ(dump.entries[0].operation, "barrier");
  const auto& counts = dump.stats.counts();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(dump.stats.Count("rank in the file name differs from the one in the dump"),
            1);
  EXPECT_EQ(counts.begin()->first, "entry without an operation or a sequence number");
  EXPECT_EQ(counts.begin()->second.count, 1);
  EXPECT_EQ(counts.begin()->second.first_offset,
            static_cast<int64_t>(bytes.rfind("}(X")));
}

TEST(FlightRecorder, TheRankThatAllGroupsShareIsBelievedBeforeTheFileName) {
  const auto dump = ParseFlightRecorder(
      R"({"pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"},
          "1": {"name": "1", "desc": "dp", "ranks": "[0, 2]"},
          "2": {"name": "2", "desc": "tp", "ranks": "[1, 2]"}}, "entries": []})",
      "_dump_0");
  ASSERT_TRUE(dump.has_value());
  EXPECT_EQ(dump->rank, 2);
}

TEST(FlightRecorder, OptionsNameTheRankBeforeAllElse) {
  const auto dump = ParseFlightRecorder(SmallPickle(), "x_dump_3", {.rank = 12});
  ASSERT_TRUE(dump.has_value());
  EXPECT_EQ(dump->rank, 12);
}

TEST(FlightRecorder, RefusesAPickleWithCode) {
  const auto dump = ParseFlightRecorder(
      "\x80\x02"
      "cos\nsystem\n.",
      "x");
  ASSERT_FALSE(dump.has_value());
  EXPECT_EQ(dump.error().id, "TRACE-0100");
}

TEST(FlightRecorder, JsonThatEndsInsideGivesWhatCameBefore) {
  const size_t second = kJson.find("{\"collective_seq_id\": 4");
  const FlightDump dump = Parse(kJson.substr(0, second + 40));
  EXPECT_TRUE(dump.truncated);
  ASSERT_EQ(dump.entries.size(), 1u);
  EXPECT_EQ(dump.entries[0].record_id, 31);
  EXPECT_EQ(dump.stats.Count("malformed value"), 1);
  EXPECT_FALSE(Parse(kJson).truncated);
}

TEST(FlightRecorder, MalformedEntryIsCountedAndTheNextOneIsRead) {
  const FlightDump dump = Parse(
      R"({"entries": [{"collective_seq_id": 01x}, 7, {"collective_seq_id": 3,
      "profiling_name": "gloo:barrier"}], "pg_config": {}})");
  ASSERT_EQ(dump.entries.size(), 1u);
  EXPECT_EQ(dump.entries[0].operation, "barrier");
  EXPECT_EQ(dump.stats.CountOf(Severity::kError), 2);
}

TEST(FlightRecorder, AbsurdSequenceNumberIsNone) {
  const FlightDump dump = Parse(
      R"({"entries": [{"collective_seq_id": 9223372036854775807,
          "p2p_seq_id": 1, "profiling_name": "nccl:barrier"}]})");
  ASSERT_EQ(dump.entries.size(), 1u);
  EXPECT_EQ(dump.entries[0].collective_seq_id, -1);
}

TEST(FlightRecorder, ReadsTheOldKeyOfTheSequenceNumber) {
  const FlightDump dump = Parse(
      R"({"version": "1.5", "entries": [{"seq_id": 3, "pg_id": 2,
          "profiling_name": "nccl:all_reduce"}]})");
  ASSERT_EQ(dump.entries.size(), 1u);
  EXPECT_EQ(dump.entries[0].collective_seq_id, 3);
  EXPECT_EQ(dump.entries[0].group_name, "2");
}

TEST(FlightRecorder, KinetoTraceIsNotADump) {
  // Kineto writes a pg_config of its own into distributedInfo, before the events.
  constexpr std::string_view kKineto =
      R"({"schemaVersion": 1, "distributedInfo": {"rank": 0, "pg_config":
          [{"pg_name": "0"}]}, "traceEvents": []})";
  EXPECT_FALSE(LooksLikeFlightRecorder(kKineto));
  const auto dump = ParseFlightRecorder(kKineto, "trace.json");
  ASSERT_FALSE(dump.has_value());
  EXPECT_EQ(dump.error().id, "TRACE-0103");
  EXPECT_TRUE(LooksLikeFlightRecorder(kJson));
  EXPECT_FALSE(LooksLikeFlightRecorder("\x80\x02]."));
  EXPECT_FALSE(LooksLikeFlightRecorder(""));
}

TEST(FlightRecorder, FindsTheRankInFileNames) {
  EXPECT_EQ(RankOfDumpName("/a/b_1/_dump_12"), 12);
  EXPECT_EQ(RankOfDumpName("nccl_trace_rank_3"), 3);
  EXPECT_EQ(RankOfDumpName("rank-7.json.gz"), 7);
  EXPECT_EQ(RankOfDumpName("rank0.pickle"), 0);
  EXPECT_EQ(RankOfDumpName("trace_5"), 5);
  EXPECT_EQ(RankOfDumpName("rank_2_of_8.json"), 2);
  EXPECT_EQ(RankOfDumpName("dump"), -1);
  EXPECT_EQ(RankOfDumpName(""), -1);
  EXPECT_EQ(RankOfDumpName("_dump_99999999999999999999"), -1);
}

TEST(FlightRecorder, JsonOutputKeepsAllFields) {
  const base::Json json = ToJson(Parse(kJson));
  const base::Json& entry = json["entries"].AsArray().at(1);
  EXPECT_EQ(entry["operation"].AsString(), "all_to_all");
  EXPECT_EQ(entry["completed_ns"].AsInt(), 1758580155793872999);
  EXPECT_TRUE(entry["started_ns"].is_null());
  EXPECT_EQ(entry["input_sizes"].Dump(-1), "[[2048,5120]]");
  EXPECT_EQ(json["groups"].AsArray().at(1)["ranks"].Dump(-1), "[0,2]");
  EXPECT_EQ(json["rank"].AsInt(), 3);
}

TEST(FlightRecorder, FolderWithoutADumpIsRefused) {
  const std::string folder = testing::TempDir() + "no_flight_dumps";
  ASSERT_TRUE(base::WriteFileAtomic(base::JoinPath(folder, "a.txt"), "x").has_value());
  const auto read = ReadFlightRecorderFolder(folder);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().id, "TRACE-0104");
}

TEST(FlightRecorder, FolderIsSortedByRankAndNamesOtherFiles) {
  const std::string folder = testing::TempDir() + "flight_dumps";
  for (const char* name : {"_dump_10", "_dump_9"}) {
    ASSERT_TRUE(base::WriteFileAtomic(base::JoinPath(folder, name), kJson).has_value());
  }
  ASSERT_TRUE(
      base::WriteFileAtomic(base::JoinPath(folder, "notes.txt"), "x").has_value());
  const auto read = ReadFlightRecorderFolder(folder);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->dumps.size(), 2u);
  EXPECT_EQ(read->dumps[0].rank, 9);
  EXPECT_EQ(read->dumps[1].rank, 10);
  EXPECT_EQ(read->skipped, (std::vector<std::string>{"notes.txt"}));
}

}  // namespace
}  // namespace stepslack::trace
