// Public texts with known answers (data/diagnosis/INDEX.md of the reference data).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

std::string PathOf(const std::string& name) {
  const char* given = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string shared = given != nullptr ? given
                             : source == nullptr
                                 ? ""
                                 : base::JoinPath(base::ParentFolder(source), "shared");
  return base::JoinPath(shared, "data/diagnosis/host_logs/" + name);
}

// "kind code" of the findings with their subjects.
std::map<std::string, std::set<std::string>> Findings(const HostReport& report) {
  std::map<std::string, std::set<std::string>> findings;
  for (const HostEvidence& record : report.evidence) {
    if (record.severity == Severity::kInfo) continue;
    findings[record.kind + " " + record.code].insert(record.subject);
  }
  return findings;
}

class ReferenceHostLogs : public testing::Test {
 protected:
  // Skips the test when there is no reference data.
  void Read(const std::string& name, HostLogKind kind) {
    const std::string path = PathOf(name);
    if (!base::PathExists(path)) GTEST_SKIP() << "no reference log at " << path;
    auto report = ReadHostLog(path);
    ASSERT_TRUE(report.has_value());
    report_ = std::move(*report);
    EXPECT_EQ(report_.kind, kind);
    EXPECT_EQ(report_.stats.CountOf(Severity::kError), 0);
    EXPECT_EQ(report_.stats.CountOf(Severity::kWarning), 0);
  }
  int64_t Count(std::string_view code) const {
    int64_t count = 0;
    for (const HostEvidence& record : report_.evidence) {
      if (record.kind == "xid" && record.code == code) count += record.count;
    }
    return count;
  }
  HostReport report_;
};

using Expected = std::map<std::string, std::set<std::string>>;

#define READ(name, kind)         \
  Read(name, HostLogKind::kind); \
  if (IsSkipped() || HasFailure()) return

TEST_F(ReferenceHostLogs, Xid119IsFoundFiveTimesOnOneGpu) {
  READ("dmesg-xid119.log", kKernelLog);
  EXPECT_EQ(Findings(report_), (Expected{{"xid 119", {"gpu 0000:9b:00"}}}));
  EXPECT_EQ(Count("119"), 5);
}

TEST_F(ReferenceHostLogs, DoubleBitErrorIsFollowedByRemapAndContainedErrors) {
  READ("dmesg-xid48-63-94.log", kKernelLog);
  EXPECT_EQ(Findings(report_), (Expected{{"xid 48", {"gpu 0000:19:00"}},
                                         {"xid 63", {"gpu 0000:19:00"}},
                                         {"xid 94", {"gpu 0000:19:00"}}}));
  EXPECT_EQ(Count("48"), 1);
  EXPECT_EQ(Count("63"), 1);
  EXPECT_EQ(Count("94"), 9);
  std::string order;
  for (const HostEvidence& record : report_.evidence) order += record.code + " ";
  EXPECT_EQ(order, " 48 63 94 ");  // the peer memory noise first, it has no code
}

TEST_F(ReferenceHostLogs, NcclSegfaultIsFoundTwice) {
  READ("dmesg-nccl-segfault.log", kKernelLog);
  EXPECT_EQ(Findings(report_), (Expected{{"segfault libnccl", {"host"}}}));
  EXPECT_EQ(report_.evidence[0].count, 2);
  EXPECT_EQ(report_.evidence[0].layer, "runtime");
}

TEST_F(ReferenceHostLogs, HealthyBootHasNoFinding) {
  READ("kmsg-healthy-boot.log", kKernelLog);
  EXPECT_EQ(Findings(report_), Expected{});
}

TEST_F(ReferenceHostLogs, UnusedEthernetPortsThatAreDownAreNoFinding) {
  READ("ibstat/h100-some-down-0.txt", kIbstat);
  EXPECT_EQ(Findings(report_), Expected{});
  std::set<std::string> unused;
  size_t up = 0;
  for (const HostEvidence& record : report_.evidence) {
    if (record.kind == "port_unused") unused.insert(record.subject);
    if (record.kind == "port_up" && record.values.at("rate_gbit_per_s") == 400) ++up;
  }
  EXPECT_EQ(unused,
            (std::set<std::string>{"port mlx5_2/1", "port mlx5_7/1", "port mlx5_8/1"}));
  EXPECT_EQ(up, 8u);
}

TEST_F(ReferenceHostLogs, AllActivePortsAreNoFinding) {
  READ("ibstat/h100-all-active-0.txt", kIbstat);
  EXPECT_EQ(Findings(report_), Expected{});
  EXPECT_EQ(report_.evidence.size(), 12u);
}

TEST_F(ReferenceHostLogs, PowerBrakeIsActiveOnAllEightGpus) {
  READ("nvidia_smi/q-8gpu-hw-power-brake-all.txt", kNvidiaSmi);
  const Expected findings = Findings(report_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.begin()->first, "gpu_throttled hw_power_brake_slowdown");
  EXPECT_EQ(findings.begin()->second.size(), 8u);
  EXPECT_TRUE(findings.begin()->second.contains("gpu 0000:19:00"));
}

TEST_F(ReferenceHostLogs, PowerCapIsActiveOnTheTwoLoadedGpus) {
  READ("nvidia_smi/q-8gpu-sw-power-cap-two.txt", kNvidiaSmi);
  const Expected findings = Findings(report_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.begin()->first, "gpu_throttled sw_power_cap");
  EXPECT_EQ(findings.begin()->second.size(), 2u);
  std::set<double> temperatures;
  for (const HostEvidence& record : report_.evidence) {
    if (record.kind != "gpu_throttled") continue;
    EXPECT_EQ(record.severity, Severity::kWarning);
    temperatures.insert(record.values.at("temperature_c"));
  }
  EXPECT_EQ(temperatures, (std::set<double>{72, 76}));
}

TEST_F(ReferenceHostLogs, IdleGpusAtGenerationOneAreNoFinding) {
  READ("nvidia_smi/q-8gpu-idle-healthy-gen1.txt", kNvidiaSmi);
  EXPECT_EQ(Findings(report_), Expected{});
  size_t gpus = 0;
  for (const HostEvidence& record : report_.evidence) {
    if (record.kind != "gpu_state") continue;
    ++gpus;
    EXPECT_EQ(record.values.at("pcie_generation"), 1);
  }
  EXPECT_EQ(gpus, 8u);
}

TEST_F(ReferenceHostLogs, EqualNvlinkSpeedsAreNoFinding) {
  READ("nvidia_smi/nvlink-status-a100.txt", kNvlinkStatus);
  EXPECT_EQ(Findings(report_), Expected{});
  EXPECT_EQ(report_.evidence.size(), 8u);
  EXPECT_EQ(report_.evidence[0].values.at("links_up"), 12);
  EXPECT_EQ(report_.evidence[0].values.at("link_gb_per_s"), 25);
}

#undef READ

}  // namespace
}  // namespace stepslack::trace
