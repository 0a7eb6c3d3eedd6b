#include "stepslack/trace/op_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "stepslack/base/file.h"

namespace stepslack::trace {
namespace {

constexpr std::string_view kHeader =
    "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

OpTrace Parse(const std::string& rows, std::string_view job = "") {
  const auto trace = ParseOpTrace(std::string(kHeader) + rows, job, "made.csv");
  EXPECT_TRUE(trace.has_value());
  return trace.value_or(OpTrace{});
}

TEST(OpTrace, SecondsBecomeExactNanoseconds) {
  const OpTrace trace = Parse(
      "1,0,4,23,forward-compute,0.048943519592285156,0.06345897912979126,2,0,5,3\n");
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.start_ns[0], 48'943'520);
  EXPECT_EQ(trace.duration_ns[0], 63'458'979);
  EXPECT_EQ(trace.dp_rank[0], 1);
  EXPECT_EQ(trace.stage[0], 0);
  EXPECT_EQ(trace.rank[0], 4);
  EXPECT_EQ(trace.step[0], 23);
  EXPECT_EQ(trace.type[0], OpType::kForwardCompute);
  EXPECT_EQ(trace.seq[0], 2);
  EXPECT_EQ(trace.chunk[0], 0);
  EXPECT_EQ(trace.micro_batch[0], 5);
  EXPECT_EQ(trace.global_chunk[0], 3);
}

TEST(OpTrace, ColumnsMayStandInAnyOrderAmongOthers) {
  const auto trace = ParseOpTrace(
      "\xEF\xBB\xBFoptype,note,duration,start_ts,seq_id,step,rank,stage,dp_rank,gmc,mb_"
      "id,"
      "mc\r\n\"gc\",x,1e-3,2,0,7,0,0,0,,nan,-1\r\n",
      "", "made.csv");
  ASSERT_TRUE(trace.has_value());
  ASSERT_EQ(trace->size(), 1u);
  EXPECT_EQ(trace->type[0], OpType::kGc);
  EXPECT_EQ(trace->duration_ns[0], 1'000'000);
  EXPECT_EQ(trace->start_ns[0], 2'000'000'000);
  EXPECT_EQ(trace->step[0], 7);
  EXPECT_EQ(trace->micro_batch[0], -1);
  EXPECT_EQ(trace->stats.Count("column not used"), 1);
}

TEST(OpTrace, RowsAreSortedWhateverTheirOrder) {
  const std::string a = "0,1,1,2,optimizer,5,1,0,-1,-1,-1\n";
  const std::string b = "0,0,0,2,optimizer,5,2,0,-1,-1,-1\n";
  const std::string c = "0,0,0,1,optimizer,5,3,0,-1,-1,-1\n";
  const OpTrace trace = Parse(a + b + c);
  EXPECT_EQ(trace.duration_ns,
            (std::vector<int64_t>{3'000'000'000, 2'000'000'000, 1'000'000'000}));
  EXPECT_EQ(Parse(c + a + b).duration_ns, trace.duration_ns);
}

TEST(OpTrace, BadRowsAreCountedWithTheOffsetOfTheFirst) {
  const std::string good = "0,0,0,1,gc,0,0,0,-1,0,-1\n";
  const OpTrace trace = Parse(good +                                 //
                              "0,0,0,1,gc,0,0\n"                     // cut
                              "0,0,0,1,gc,0,0,1,-1,0,-1,9\n"         // a cell too many
                              "0,0,0,1,teleport,0,0,0,-1,0,-1\n"     //
                              "0,0,0,1,gc,0,-0.5,1,-1,0,-1\n"        //
                              "0,0,0,1,gc,zero,0,1,-1,0,-1\n"        //
                              "0,0,0,1.5,gc,0,0,1,-1,0,-1\n"         //
                              "-1,0,0,1,gc,0,0,1,-1,0,-1\n"          //
                              "0,99999999,0,1,gc,0,0,1,-1,0,-1\n");  //
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.stats.Count("row with missing or extra cells"), 2);
  EXPECT_EQ(trace.stats.counts().at("row with missing or extra cells").first_offset,
            static_cast<int64_t>(kHeader.size() + good.size()));
  EXPECT_EQ(trace.stats.Count("unknown operation type"), 1);
  EXPECT_EQ(trace.stats.Count("negative duration"), 1);
  EXPECT_EQ(trace.stats.Count("row with an unreadable cell"), 2);
  EXPECT_EQ(trace.stats.Count("dp rank outside the job"), 1);
  EXPECT_EQ(trace.stats.Count("stage outside the job"), 1);
  EXPECT_EQ(trace.stats.CountOf(Severity::kError), 8);
}

TEST(OpTrace, OfAnOperationThatOccursTwiceTheEarlierIsKept) {
  const OpTrace trace = Parse(
      "0,0,0,1,gc,5,0,0,-1,0,-1\n"
      "0,0,0,1,gc,4,0,0,-1,0,-1\n");
  EXPECT_EQ(trace.start_ns, (std::vector<int64_t>{4'000'000'000}));
  EXPECT_EQ(trace.stats.Count("operation that occurs twice"), 1);
}

TEST(OpTrace, TheJobBoundsRanksAndStages) {
  const OpTrace trace = Parse(
      "0,0,0,1,gc,0,0,0,-1,0,-1\n"
      "2,0,2,1,gc,0,0,0,-1,0,-1\n"
      "0,1,1,1,gc,0,0,0,-1,0,-1\n",
      "# comment\ntrial_name: 'a job'\nrun_id: 0\ndp_size: 2 # ranks\npp_size: 1\n"
      "tp_size: 4\nworld_size: 8\nvpp_size: 1\n");
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.stats.Count("dp rank outside the job"), 1);
  EXPECT_EQ(trace.stats.Count("stage outside the job"), 1);
  EXPECT_EQ(trace.job.trial_name, "a job");
  EXPECT_EQ(trace.job.dp_size, 2);
  EXPECT_EQ(trace.job.tp_size, 4);
  EXPECT_EQ(trace.job.world_size, 8);
  EXPECT_FALSE(trace.job.from_trace);
}

TEST(OpTrace, WithoutAJobItsSizesFollowFromTheColumns) {
  // Ranks 0, 4, 8, 12: four tensor-parallel ranks each.
  const OpTrace trace = Parse(
      "0,0,0,1,forward-compute,0,0,0,0,0,0\n"
      "1,0,4,1,forward-compute,0,0,0,0,0,0\n"
      "0,1,8,1,forward-compute,0,0,0,1,0,3\n"
      "1,1,12,1,forward-compute,0,0,0,0,0,1\n");
  EXPECT_TRUE(trace.job.from_trace);
  EXPECT_EQ(trace.job.dp_size, 2);
  EXPECT_EQ(trace.job.pp_size, 2);
  EXPECT_EQ(trace.job.tp_size, 4);
  EXPECT_EQ(trace.job.vpp_size, 2);
  EXPECT_EQ(trace.job.world_size, 16);
}

TEST(OpTrace, BadJobLinesAreCounted) {
  const OpTrace trace = Parse("0,0,0,1,gc,0,0,0,-1,0,-1\n",
                              "dp_size: many\npp_size: -3\njust words\ncolour: red\n"
                              "world_size: 5\n");
  EXPECT_EQ(trace.stats.Count("unusable job size"), 2);
  EXPECT_EQ(trace.stats.Count("malformed job line"), 1);
  EXPECT_EQ(trace.stats.Count("unknown job key"), 1);
  EXPECT_EQ(trace.job.dp_size, 1);
  EXPECT_EQ(trace.job.tp_size, 5);
}

TEST(OpTrace, AWorldSizeThatIsNoProductIsCounted) {
  const OpTrace trace =
      Parse("0,0,0,1,gc,0,0,0,-1,0,-1\n", "dp_size: 2\ntp_size: 2\nworld_size: 5\n");
  EXPECT_EQ(trace.stats.Count("world size is not the product of the job sizes"), 1);
}

TEST(OpTrace, HugeSizesDoNotOverflow) {
  const OpTrace trace = Parse("0,0,0,1,gc,0,0,0,-1,0,-1\n",
                              "dp_size: 1000000\npp_size: 1000000\ntp_size: 1000000\n"
                              "dsp_size: 1000000\n");
  EXPECT_EQ(trace.stats.Count("job sizes larger than any job"), 1);
}

TEST(OpTrace, MissingColumnsAreNamed) {
  const auto trace = ParseOpTrace("dp_rank,stage,rank,step,optype,start_ts\n", "", "x");
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().id, "TRACE-0140");
  EXPECT_EQ(trace.error().what,
            "the op trace lacks the columns: duration seq_id mc mb_id gmc");
}

TEST(OpTrace, ATableWithoutUsableRowsIsRefused) {
  EXPECT_EQ(ParseOpTrace(kHeader, "", "x").error().id, "TRACE-0141");
  EXPECT_EQ(ParseOpTrace("", "", "x").error().id, "TRACE-0140");
}

TEST(OpTrace, IsToldFromOtherTextsByItsHeader) {
  EXPECT_TRUE(LooksLikeOpTrace(kHeader));
  EXPECT_TRUE(LooksLikeOpTrace("duration,start_ts,optype,stage,dp_rank"));
  EXPECT_FALSE(LooksLikeOpTrace("step,loss\n1,0.5\n"));
  EXPECT_FALSE(LooksLikeOpTrace("{\"traceEvents\": []}"));
  EXPECT_FALSE(LooksLikeOpTrace(""));
}

TEST(OpTrace, AGzipStreamThatEndsEarlyGivesWhatCameBefore) {
  std::string csv(kHeader);
  for (int i = 0; i < 5000; ++i) {
    csv += "0,0,0," + std::to_string(i * 7919 % 5000) + ",gc,0.25,0.5,0,-1,0,-1\n";
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / "op_trace_test.csv.gz").string();
  const std::string bytes = base::Gzip(csv);
  ASSERT_TRUE(base::WriteFileAtomic(path, bytes).has_value());
  const auto whole = ReadOpTrace(path, "");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->size(), 5000u);
  EXPECT_EQ(whole->stats.Count("input ended inside"), 0);
  ASSERT_TRUE(
      base::WriteFileAtomic(path, bytes.substr(0, bytes.size() / 2)).has_value());
  const auto half = ReadOpTrace(path, "");
  ASSERT_TRUE(half.has_value());
  EXPECT_LT(half->size(), 5000u);
  EXPECT_EQ(half->stats.Count("input ended inside"), 1);
  EXPECT_EQ(ReadOpTrace(path, "", {.max_bytes = 100}).error().id, "TRACE-0002");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace stepslack::trace
