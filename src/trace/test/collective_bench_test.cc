#include "stepslack/trace/collective_bench.h"

#include <gtest/gtest.h>

#include <string>

namespace stepslack::trace {
namespace {

CollectiveBench Parse(std::string_view text) {
  const auto bench = ParseCollectiveBench(text, "test");
  EXPECT_TRUE(bench.has_value());
  return bench.value_or(CollectiveBench{});
}

constexpr std::string_view kNew =
    "$ ./build/all_gather_perf -b 8 -e 128M -f 2 -g 2\n"
    "# nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   6899 on   node-a device  3 [0000:04:00] GPU 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6900 on node-b device  1 [0x19] GPU 80GB HBM3\n"
    "#\n"
    "#                                                  out-of-place        in-place\n"
    "#       size   count    type redop root  time algbw busbw #wrong  time algbw "
    "busbw "
    "#wrong\n"
    "#        (B) (elements)                 (us) (GB/s) (GB/s)        (us) (GB/s) "
    "(GB/s)\n"
    "           8       2   float   sum   -1  14.54  0.00  0.00   0  15.9  0.00  0.01 "
    "N/A\n"
    "node-a:880:888 [1] NCCL INFO 24 coll channels\n"
    "   134217728 33554432  float   sum   -1  857.6 156.51 156.50  2  12192 163.7 "
    "163.7  0\n"
    "          16       4   float\n"
    "# Out of bounds values : 2 FAILED\n"
    "# Avg bus bandwidth    : 80.0525 \n";

TEST(CollectiveBench, ReadsTheTableOfNcclTests) {
  const CollectiveBench bench = Parse(kNew);
  EXPECT_EQ(bench.format, BenchFormat::kNcclTests);
  EXPECT_EQ(bench.collective, "all_reduce");
  EXPECT_EQ(bench.version,
            "nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007");
  ASSERT_EQ(bench.rows.size(), 2u);
  const BenchRow& row = bench.rows[1];
  EXPECT_EQ(row.bytes, 134217728);
  EXPECT_EQ(row.elements, 33554432);
  EXPECT_EQ(row.dtype, "float");
  EXPECT_EQ(row.reduction, "sum");
  EXPECT_EQ(row.root, -1);
  EXPECT_EQ(row.out_of_place->time_ns, 857600);
  EXPECT_DOUBLE_EQ(row.out_of_place->algorithm_gb_per_s, 156.51);
  EXPECT_DOUBLE_EQ(row.out_of_place->bus_gb_per_s, 156.50);
  EXPECT_EQ(row.out_of_place->wrong, 2);
  EXPECT_EQ(row.in_place->time_ns, 12192000);
  EXPECT_EQ(bench.rows[0].in_place->wrong, -1);
  EXPECT_DOUBLE_EQ(*bench.average_bus_gb_per_s, 80.0525);
  EXPECT_EQ(bench.out_of_bounds, 2);
  EXPECT_EQ(bench.stats.Count("row that does not fit the header"), 1);
  EXPECT_EQ(bench.stats.counts().begin()->second.first_offset,
            static_cast<int64_t>(kNew.find("          16")));
}

TEST(CollectiveBench, ReadsTheRanksAndTheirDevices) {
  const CollectiveBench bench = Parse(kNew);
  EXPECT_EQ(bench.world_size, 2);
  ASSERT_EQ(bench.ranks.size(), 2u);
  EXPECT_EQ(bench.ranks[0].host, "node-a");
  EXPECT_EQ(bench.ranks[0].process, 6899);
  EXPECT_EQ(bench.ranks[0].device, 3);
  EXPECT_EQ(bench.ranks[0].bus_id, "0000:04:00");
  EXPECT_EQ(bench.ranks[0].model, "GPU 80GB HBM3");
  EXPECT_EQ(bench.ranks[1].host, "node-b");
  EXPECT_EQ(bench.ranks[1].bus_id, "0x19");
}

// rccl-tests and old nccl-tests: no root, an error instead of a count, mpirun's tags.
TEST(CollectiveBench, ReadsOldColumnsBehindTags) {
  const CollectiveBench bench = Parse(
      "[1,0]<stdout>:#   Rank  0 Pid 106347 on  nid000013 device  0 [0000:c9:00.0] D\n"
      "[1,0]<stdout>:#       size  count type redop time algbw busbw error time algbw "
      "busbw error\n"
      "[1,0]<stdout>:        1024    256 float  sum 41.99 0.50 0.75 2e-07 42.18 0.51 "
      "0.76 0e+00\n");
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.rows[0].out_of_place->time_ns, 41990);
  EXPECT_DOUBLE_EQ(bench.rows[0].in_place->bus_gb_per_s, 0.76);
  EXPECT_EQ(bench.rows[0].in_place->wrong, -1);
  ASSERT_EQ(bench.ranks.size(), 1u);
  EXPECT_EQ(bench.ranks[0].host, "nid000013");
}

TEST(CollectiveBench, ReadsTestsWithOneBlockOnly) {
  const CollectiveBench bench = Parse(
      "./build/sendrecv_perf -b 8\n# size count type time algbw busbw #wrong\n"
      "1024 256 float 10.5 0.1 0.2 0\n");
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.rows[0].out_of_place->time_ns, 10500);
  EXPECT_FALSE(bench.rows[0].in_place.has_value());
}

TEST(CollectiveBench, BlockThatWasNotRunIsAbsent) {
  const CollectiveBench bench = Parse(
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "64 16 float none -1 10 0.1 0.2 0 N/A N/A N/A N/A\n");
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_TRUE(bench.rows[0].out_of_place.has_value());
  EXPECT_FALSE(bench.rows[0].in_place.has_value());
}

// 1 MiB in 100 us is 10.48576 GB/s.
TEST(CollectiveBench, DecidesWhetherGbpsAreBytesOrBits) {
  const CollectiveBench bytes =
      Parse("bytes,time_us,busbw_gbps\n1048576,100,15.73\n2097152,200.5,15.7\n");
  EXPECT_EQ(bytes.format, BenchFormat::kCsv);
  EXPECT_EQ(bytes.rows.at(1).out_of_place->time_ns, 200500);
  EXPECT_DOUBLE_EQ(bytes.rows.at(0).out_of_place->bus_gb_per_s, 15.73);
  const CollectiveBench bits =
      Parse("bytes,time_us,busbw_gbps\n1048576,100,125.84\n2097152,200,125.84\n");
  EXPECT_DOUBLE_EQ(bits.rows.at(0).out_of_place->bus_gb_per_s, 125.84 / 8);
  ASSERT_EQ(bits.notes.size(), 1u);
  EXPECT_NE(bits.notes[0].find("Gbit/s"), std::string::npos);
  const CollectiveBench small = Parse("bytes,time_us,busbw_gbps\n8,100,0\n");
  EXPECT_NE(small.notes.at(0).find("no row of 1 MiB"), std::string::npos);
}

TEST(CollectiveBench, CsvRowsThatDoNotFitAreCounted) {
  const CollectiveBench bench =
      Parse("bytes,time_us,busbw\n8,1.0,2\n8,1.0\nx,1,2\n8,nan,2\n8,1,-2\n");
  EXPECT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.stats.Count("row that does not fit the header"), 4);
}

// 8e9 bytes counted (4e9 sent and received), 4 ranks: busbw is 3/4 of the throughput.
TEST(CollectiveBench, ReadsPerRankText) {
  const CollectiveBench bench = Parse(
      "ignore me 6\n1:\n duration: 1.0000 sec\n algo throughput: 64000000000.0 bps, "
      "64.0000 Gbps\n busbw: 48.0000  Gbps\n");
  EXPECT_EQ(bench.format, BenchFormat::kPerRankText);
  EXPECT_EQ(bench.world_size, 4);
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.rows[0].rank, 1);
  EXPECT_EQ(bench.rows[0].bytes, 4'000'000'000);
  EXPECT_EQ(bench.rows[0].out_of_place->time_ns, 1'000'000'000);
  EXPECT_DOUBLE_EQ(bench.rows[0].out_of_place->algorithm_gb_per_s, 4.0);
  EXPECT_DOUBLE_EQ(bench.rows[0].out_of_place->bus_gb_per_s, 6.0);
}

// Ranks 2 and 3 write into each other; the throughput of 3 comes first.
TEST(CollectiveBench, PairsMixedLinesByTheirPayloadAndNamesNoRank) {
  const CollectiveBench bench = Parse(
      "1:\n duration: 1.0000 sec\n algo throughput: 64000000000.0 bps, 64.0 Gbps\n"
      " busbw: 48.0000  Gbps\n"
      "2:\n3:\n duration: 2.0000 sec\n duration: 4.0000 sec\n"
      " algo throughput: 16000000000.0 bps, 16.0 Gbps\n"
      " algo throughput: 32000000000.0 bps, 32.0 Gbps\n"
      " busbw: 12.0000  Gbps\n busbw: 24.0000  Gbps\n");
  ASSERT_EQ(bench.rows.size(), 3u);
  EXPECT_EQ(bench.rows[1].rank, -1);
  EXPECT_EQ(bench.rows[1].out_of_place->time_ns, 4'000'000'000);
  EXPECT_DOUBLE_EQ(bench.rows[1].out_of_place->algorithm_gb_per_s, 1.0);
  EXPECT_DOUBLE_EQ(bench.rows[1].out_of_place->bus_gb_per_s, 1.5);
  EXPECT_EQ(bench.rows[2].out_of_place->time_ns, 2'000'000'000);
  EXPECT_DOUBLE_EQ(bench.rows[2].out_of_place->bus_gb_per_s, 3.0);
}

TEST(CollectiveBench, OutputOfATestThatHungIsRefused) {
  const auto bench = ParseCollectiveBench(
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor)\n"
      "#       size count type redop root time algbw busbw #wrong\n",
      "hung.txt");
  ASSERT_FALSE(bench.has_value());
  EXPECT_EQ(bench.error().id, "TRACE-0120");
}

TEST(CollectiveBench, DetectsItsTextAndNoTrace) {
  EXPECT_TRUE(LooksLikeCollectiveBench(kNew));
  EXPECT_TRUE(LooksLikeCollectiveBench("bytes,time_us,busbw_gbps\n8,1,2\n"));
  EXPECT_FALSE(LooksLikeCollectiveBench("step,loss\n1,2\n"));
  EXPECT_FALSE(LooksLikeCollectiveBench(
      R"({"traceEvents":[{"ph":"X","name":"time algbw busbw"}]})"));
  EXPECT_FALSE(LooksLikeCollectiveBench(""));
}

TEST(CollectiveBench, JsonOutputKeepsTheTable) {
  const base::Json json = ToJson(Parse(kNew));
  EXPECT_EQ(json["format"].AsString(), "nccl-tests");
  EXPECT_EQ(json["rows"].AsArray().at(1)["in_place"]["time_ns"].AsInt(), 12192000);
  EXPECT_TRUE(json["rows"].AsArray().at(0)["in_place"]["wrong"].is_null());
  EXPECT_EQ(json["ranks"].AsArray().at(1)["host"].AsString(), "node-b");
}

}  // namespace
}  // namespace stepslack::trace
