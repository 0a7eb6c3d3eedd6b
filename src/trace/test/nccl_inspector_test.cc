#include "stepslack/trace/nccl_inspector.h"

#include <gtest/gtest.h>

#include <string>

namespace stepslack::trace {
namespace {

constexpr std::string_view kAllReduce =
    R"({"header":{"id":"0x7f","rank":2,"n_ranks":8,"nnodes":1},"metadata":{)"
    R"("inspector_output_format_version":"v4.0","git_rev":"","hostname":"h1",)"
    R"("dump_timestamp_us":1748030377748202,"pid":77},"coll_perf":{"coll":"AllReduce",)"
    R"("coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,)"
    R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,)"
    R"("coll_busbw_gbs":485.119099}})";

InspectorLog Parse(std::string_view text) {
  const auto log = ParseNcclInspector(text, "test");
  EXPECT_TRUE(log.has_value());
  return log.value_or(InspectorLog{});
}

TEST(NcclInspector, ReadsACollective) {
  const InspectorLog log = Parse(kAllReduce);
  EXPECT_EQ(log.version, "v4.0");
  ASSERT_EQ(log.records.size(), 1u);
  const InspectorRecord& record = log.records[0];
  EXPECT_EQ(record.communicator, "0x7f");
  EXPECT_EQ(record.rank, 2);
  EXPECT_EQ(record.operation, "all_reduce");
  EXPECT_EQ(record.sequence, 1407);
  EXPECT_EQ(record.message_bytes, 17179869184);
  EXPECT_EQ(record.duration_ns, 61974000);
  EXPECT_EQ(record.timing_source, "kernel_gpu");
  EXPECT_DOUBLE_EQ(record.algorithm_gb_per_s, 277.210914);
  EXPECT_DOUBLE_EQ(record.bus_gb_per_s, 485.119099);
  EXPECT_EQ(record.dumped_ns, 1748030377748202000);
  // The bandwidth is bytes over time: 17179869184 B / 61974 us = 277.211 GB/s.
  EXPECT_NEAR(record.algorithm_gb_per_s,
              static_cast<double>(record.message_bytes) /
                  static_cast<double>(record.duration_ns),
              1e-3);
  const InspectorCommunicator& communicator = log.communicators.at("0x7f");
  EXPECT_EQ(communicator.ranks, 8);
  EXPECT_EQ(communicator.nodes, 1);
  EXPECT_EQ(communicator.hosts.at(2), "h1:77");
  EXPECT_TRUE(log.stats.counts().empty());
}

TEST(NcclInspector, ReadsDecimalTimesExactlyAndFlatHeaders) {
  const InspectorLog log =
      Parse(R"({"id":"a","rank":0,"n_ranks":3,"nnodes":3,"pid":1,"hostname":"w",)"
            R"("coll_perf":{"coll":"ReduceScatter","coll_sn":1,"coll_algo":"Ring",)"
            R"("coll_proto":"LL","coll_msg_size_bytes":8,"coll_exec_time_us":5663.125,)"
            R"("graphCaptured":true}})");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].duration_ns, 5663125);
  EXPECT_EQ(log.records[0].operation, "reduce_scatter");
  EXPECT_EQ(log.records[0].algorithm, "Ring");
  EXPECT_EQ(log.records[0].protocol, "LL");
  EXPECT_TRUE(log.records[0].graph_captured);
  EXPECT_EQ(log.communicators.at("a").ranks, 3);
}

TEST(NcclInspector, ReadsASendWithItsPeer) {
  const InspectorLog log =
      Parse(R"({"header":{"id":"c","rank":0,"n_ranks":2},"p2p_perf":{"p2p":"Send",)"
            R"("p2p_sn":8,"p2p_peer":1,"p2p_msg_size_bytes":524288,)"
            R"("p2p_exec_time_us":50}})");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].operation, "send");
  EXPECT_EQ(log.records[0].peer, 1);
  EXPECT_EQ(log.records[0].sequence, 8);
}

TEST(NcclInspector, BareOperationsBelongToTheHeaderBefore) {
  const InspectorLog log = Parse(
      "{\"header\":{\"id\":\"c\",\"rank\":5,\"n_ranks\":8}}\n"
      "{\"coll_perf\":{\"coll\":\"AllGather\",\"coll_sn\":1,"
      "\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":3}}\n");
  ASSERT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.records[0].communicator, "c");
  EXPECT_EQ(log.records[0].rank, 5);
}

TEST(NcclInspector, BadLinesAreCountedAndTheNextOneIsRead) {
  std::string text = "not json\n";
  text += kAllReduce.substr(0, 100);
  text += '\n';
  text += kAllReduce;
  text += "\n{\"other\": 1}\n";
  text += R"({"header":{"id":"0x7f"},"coll_perf":{"coll":"AllReduce"}})";
  const InspectorLog log = Parse(text);
  EXPECT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.stats.Count("malformed line"), 2);
  EXPECT_EQ(log.stats.counts().find("malformed line")->second.first_offset, 0);
  EXPECT_EQ(log.stats.Count("object of another kind"), 1);
  EXPECT_EQ(log.stats.Count("operation without a time, not used"), 1);
  EXPECT_EQ(log.stats.Count("operation without a message size"), 1);
}

TEST(NcclInspector, ReadsObjectsOverSeveralLines) {
  const InspectorLog log = Parse(
      "{\n  \"header\": {\"id\": \"x\",\n \"rank\": 1}\n,\n \"coll_perf\": {\n"
      "\"coll\": \"AllReduce\", \"coll_exec_time_us\": 2,"
      "\"coll_msg_size_bytes\": 1}}\n");
  EXPECT_EQ(log.records.size(), 1u);
  EXPECT_TRUE(log.stats.counts().empty());
}

TEST(NcclInspector, DetectsItsFilesAndRefusesOthers) {
  EXPECT_TRUE(LooksLikeNcclInspector(kAllReduce));
  EXPECT_FALSE(LooksLikeNcclInspector(R"({"traceEvents":[{"name":"coll_perf"}]})"));
  EXPECT_FALSE(LooksLikeNcclInspector("\"coll_perf\""));
  const auto log = ParseNcclInspector("{\"a\": 1}\n", "x.json");
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().id, "TRACE-0110");
}

TEST(NcclInspector, JsonOutputKeepsTheRecord) {
  const base::Json json = ToJson(Parse(kAllReduce));
  const base::Json& record = json["records"].AsArray().at(0);
  EXPECT_EQ(record["duration_ns"].AsInt(), 61974000);
  EXPECT_TRUE(record["peer"].is_null());
  EXPECT_EQ(json["communicators"].AsArray().at(0)["hosts"]["2"].AsString(), "h1:77");
}

}  // namespace
}  // namespace stepslack::trace
