#include "stepslack/trace/nccl_debug.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stepslack::trace {
namespace {

// Two hosts with two ranks each.
constexpr std::string_view kLog =
    "step 1 loss 2.5\n"
    "n1:10:20 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0\n"
    "n1:10:20 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    "NCCL version 2.21.5+cuda12.4\n"
    "n1:10:20 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB "
    "eth0:10.0.0.1<0>\n"
    "n1:10:20 [0] NCCL INFO Using network IB\n"
    "[1,1]<stdout>:n1:11:21 [1] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
    "n1:10:20 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
    "n1:10:20 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->2\n"
    "n1:10:20 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
    "n1:10:20 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n"
    "n1:11:21 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA\n"
    "n1:11:21 [1] NCCL INFO Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/1\n"
    "n2:30:40 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/0/GDRDMA\n"
    "n2:30:40 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[1] via P2P/CUMEM/read\n"
    "n1:10:20 [0] NCCL INFO 24 coll channels, 0 collnet channels, 0 nvls channels, 32 "
    "p2p channels, 32 p2p channels per peer\n"
    "n1:10:20 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 4 cudaDev 0 "
    "nvmlDev "
    "0 busId 1000 commId 0xc4 - Init COMPLETE\n"
    "\n"
    "[2026-09-06 18:39:07] n2:30:40 [0] src/init.cc:303 NCCL WARN Missing \"iommu=pt\" "
    "from kernel command line which can lead to system instablity or hang!\n"
    "[2026-09-06 18:39:08] n1:10:20 [0] src/init.cc:303 NCCL WARN Missing \"iommu=pt\" "
    "from kernel command line which can lead to system instablity or hang!\n";

NcclDebugLog Parse(std::string_view text) {
  const auto log = ParseNcclDebug(text, "test");
  EXPECT_TRUE(log.has_value());
  return log.value_or(NcclDebugLog{});
}

const NcclFact* Fact(const NcclDebugLog& log, std::string_view name) {
  for (const NcclFact& fact : log.facts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

TEST(NcclDebug, ReadsVersionsProcessesAndCommunicators) {
  const NcclDebugLog log = Parse(kLog);
  EXPECT_EQ(log.versions, (std::set<std::string>{"2.21.5+cuda12.4"}));
  ASSERT_EQ(log.processes.size(), 3u);
  EXPECT_EQ(log.processes[0].host, "n1");
  EXPECT_EQ(log.processes[0].process, 10);
  EXPECT_EQ(log.processes[0].device, 0);
  EXPECT_EQ(log.processes[0].network, "IB");
  EXPECT_EQ(log.processes[0].ranks, (std::set<int32_t>{0}));
  EXPECT_EQ(log.processes[1].ranks, (std::set<int32_t>{1}));
  EXPECT_EQ(log.processes[2].host, "n2");
  EXPECT_EQ(log.processes[2].ranks, (std::set<int32_t>{2}));
  EXPECT_EQ(log.communicators.at("0xc4"), 4);
  EXPECT_EQ(log.ring_channels, 2);
  EXPECT_EQ(log.collective_channels, 24);
  EXPECT_EQ(log.p2p_channels, 32);
  EXPECT_TRUE(log.has_trees);
}

TEST(NcclDebug, ReadsTheTransportOfEveryPair) {
  const NcclDebugLog log = Parse(kLog);
  ASSERT_EQ(log.links.size(), 5u);
  EXPECT_EQ(log.links[0].transport, "SHM");
  EXPECT_EQ(log.links[0].channels, 2);
  EXPECT_EQ(log.links[1].transport, "NET/IB");
  EXPECT_FALSE(log.links[1].gpu_direct);
  EXPECT_EQ(log.links[1].direction, "send");
  EXPECT_TRUE(log.links[2].gpu_direct);
  EXPECT_EQ(log.links[3].host, "n2");
  EXPECT_EQ(log.links[3].direction, "receive");
  EXPECT_EQ(log.links[4].transport, "P2P/CUMEM");
  EXPECT_EQ(log.links[4].source, 2);
  EXPECT_EQ(log.links[4].target, 3);
}

TEST(NcclDebug, ReadsInterfacesAndSettings) {
  const NcclDebugLog log = Parse(kLog);
  EXPECT_TRUE(log.interfaces.contains({"Bootstrap", "eth0", "n1"}));
  EXPECT_TRUE(log.interfaces.contains({"NET/IB", "mlx5_0:1/IB", "n1"}));
  EXPECT_TRUE(log.interfaces.contains({"NET/IB", "mlx5_1:1/RoCE", "n1"}));
  EXPECT_EQ(log.interfaces.size(), 3u);
  ASSERT_EQ(log.settings.size(), 2u);
  EXPECT_EQ(log.settings[0].name, "NCCL_P2P_DISABLE");
  EXPECT_EQ(log.settings[0].value, "1");
  EXPECT_EQ(log.settings[1].value, "eth0");
}

TEST(NcclDebug, GathersEqualWarnings) {
  const NcclDebugLog log = Parse(kLog);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_TRUE(log.warnings[0].text.starts_with("Missing \"iommu=pt\""));
  EXPECT_EQ(log.warnings[0].lines, 2);
  EXPECT_EQ(log.warnings[0].hosts, (std::set<std::string>{"n1", "n2"}));
  EXPECT_EQ(log.warnings[0].first_offset,
            static_cast<int64_t>(kLog.find("[2026-09-06 18:39:07]")));
}

TEST(NcclDebug, StatesWhatFollowsAndNothingElse) {
  const NcclDebugLog log = Parse(kLog);
  std::vector<std::string> names;
  for (const NcclFact& fact : log.facts) names.push_back(fact.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "gpu_direct_rdma_on_some_channels_only", "host_memory_between_gpus",
                "iommu_not_passthrough", "p2p_disabled", "warnings"}));
  EXPECT_EQ(Fact(log, "gpu_direct_rdma_on_some_channels_only")->text,
            "network channels without GPUDirect RDMA: n1 1 of 2");
  EXPECT_EQ(Fact(log, "p2p_disabled")->first_offset,
            static_cast<int64_t>(kLog.find("[1,1]<stdout>")));
}

TEST(NcclDebug, StatesSocketsBetweenHosts) {
  const NcclDebugLog log = Parse(
      "a:1:2 [0] NCCL INFO NET/IB : No device found.\n"
      "a:1:2 [0] NCCL INFO Failed to open libibverbs.so[.1]\n"
      "a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:1.2.3.4<0>\n"
      "a:1:2 [0] NCCL INFO Using network Socket\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
      "b:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/Socket/0\n");
  ASSERT_NE(Fact(log, "net_socket_between_hosts"), nullptr);
  EXPECT_EQ(Fact(log, "net_socket_between_hosts")->lines, 2);
  EXPECT_NE(Fact(log, "socket_network_chosen"), nullptr);
  EXPECT_NE(Fact(log, "no_ib_device"), nullptr);
  EXPECT_NE(Fact(log, "no_verbs_library"), nullptr);
  EXPECT_EQ(Fact(log, "network_inside_a_host"), nullptr);
  EXPECT_EQ(Fact(log, "no_gpu_direct_rdma"), nullptr);
}

// Containers of one host that do not see each other.
TEST(NcclDebug, StatesNetworkBetweenRanksOfOneHost) {
  const NcclDebugLog log = Parse(
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
      "a:5:6 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0\n");
  ASSERT_NE(Fact(log, "network_inside_a_host"), nullptr);
  EXPECT_EQ(Fact(log, "network_inside_a_host")->lines, 2);
  ASSERT_NE(Fact(log, "no_gpu_direct_rdma"), nullptr);
}

TEST(NcclDebug, StatesDifferentVersionsAndSettings) {
  const NcclDebugLog log = Parse(
      "a:1:2 [0] NCCL INFO RCCL version : 2.30.4-HEAD:2b22ab0\n"
      "NCCL version 2.19.3+cuda12.2\n"
      "a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to ring,tree\n"
      "b:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n");
  EXPECT_EQ(log.versions,
            (std::set<std::string>{"2.19.3+cuda12.2", "RCCL 2.30.4-HEAD:2b22ab0"}));
  EXPECT_NE(Fact(log, "versions_differ"), nullptr);
  ASSERT_NE(Fact(log, "settings_differ"), nullptr);
  EXPECT_EQ(Fact(log, "settings_differ")->text, "NCCL_ALGO is Ring and ring,tree");
}

TEST(NcclDebug, ReadsOldRingLinesAndHexDevices) {
  const NcclDebugLog log = Parse(
      "h:34537:34681 [0] NCCL INFO Ring 00 : 0[3b000] -> 1[3c000] via P2P/IPC\n"
      "h:34537:34681 [0] NCCL INFO comm 0x7f rank 10 nranks 16 cudaDev 2 nvmlDev 2 - "
      "Init COMPLETE\n");
  ASSERT_EQ(log.links.size(), 1u);
  EXPECT_EQ(log.links[0].transport, "P2P/IPC");
  EXPECT_EQ(log.communicators.at("16 ranks"), 16);
}

TEST(NcclDebug, RepeatedChannelLinesCountOnce) {
  const NcclDebugLog log = Parse(
      "h:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\n"
      "h:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\n");
  ASSERT_EQ(log.links.size(), 1u);
  EXPECT_EQ(log.links[0].channels, 1);
}

TEST(NcclDebug, LineWithoutOriginIsCountedAndUsed) {
  const NcclDebugLog log =
      Parse("NCCL WARN Cuda failure 'out of memory'\nx NCCL INFO Using network IB\n");
  EXPECT_EQ(log.stats.Count("line without host and process"), 2);
  EXPECT_EQ(log.warnings.at(0).text, "Cuda failure 'out of memory'");
}

TEST(NcclDebug, DetectsItsTextAndNoTrace) {
  EXPECT_TRUE(LooksLikeNcclDebug(kLog));
  EXPECT_FALSE(LooksLikeNcclDebug(R"({"traceEvents":[{"name":"NCCL INFO "}]})"));
  EXPECT_FALSE(LooksLikeNcclDebug("epoch 1\n"));
  const auto log = ParseNcclDebug("epoch 1\n", "x.log");
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().id, "TRACE-0121");
}

TEST(NcclDebug, JsonOutputKeepsFactsAndLinks) {
  const base::Json json = ToJson(Parse(kLog));
  EXPECT_EQ(json["facts"].AsArray().at(3)["name"].AsString(), "p2p_disabled");
  EXPECT_EQ(json["links"].AsArray().at(0)["transport"].AsString(), "SHM");
  EXPECT_EQ(json["communicators"]["0xc4"].AsInt(), 4);
}

}  // namespace
}  // namespace stepslack::trace
