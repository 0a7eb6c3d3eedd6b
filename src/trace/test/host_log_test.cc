// Every text here is of our own making, in the form of the tools.
#include "stepslack/trace/host_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "host_evidence.h"
#include "kernel_line.h"
#include "pci_address.h"

namespace stepslack::trace {
namespace {

HostReport Kernel(const std::string& text) {
  const auto patterns = ShippedHostLogPatterns();
  EXPECT_TRUE(patterns.has_value());
  return patterns.has_value() ? ParseKernelLog(text, *patterns) : HostReport{};
}

// "kind subject code" of the findings.
std::vector<std::string> Findings(const HostReport& report) {
  std::vector<std::string> findings;
  for (const HostEvidence& record : report.evidence) {
    if (record.severity == Severity::kInfo) continue;
    findings.push_back(record.kind + " " + record.subject +
                       (record.code.empty() ? "" : " " + record.code));
  }
  return findings;
}

using Texts = std::vector<std::string>;

const HostEvidence* Find(const HostReport& report, std::string_view kind) {
  for (const HostEvidence& record : report.evidence) {
    if (record.kind == kind) return &record;
  }
  return nullptr;
}

TEST(KernelLog, CountsEqualXidLinesAndKeepsTheFirstAndTheLast) {
  const HostReport report = Kernel(
      "[  1.000001] usb 1-1: new device\n"
      "[  2.000001] NVRM: Xid (PCI:0000:9B:00): 119, pid=7, name=a, Timeout\n"
      "[  3.000001] NVRM: Xid (PCI:0000:9b:00): 119, pid=8, name=b, Timeout\n"
      "[  4.000001] NVRM: Xid (PCI:0000:1a:00): 119, pid=9, name=c, Timeout\n"
      "[  5.000001] NVRM: Xid (0000:1a:00): 79, GPU has fallen off the bus.\n");
  ASSERT_EQ(Findings(report), (Texts{"xid gpu 0000:9b:00 119", "xid gpu 0000:1a:00 119",
                                     "xid gpu 0000:1a:00 79"}));
  const HostEvidence& first = report.evidence[0];
  EXPECT_EQ(first.count, 2);
  EXPECT_EQ(first.first_line, 2);
  EXPECT_EQ(first.last_line, 3);
  EXPECT_NE(first.first_text.find("name=a"), std::string::npos);
  EXPECT_NE(first.last_text.find("name=b"), std::string::npos);
  EXPECT_EQ(first.cause, "H03");
  EXPECT_EQ(report.evidence[2].cause, "H10");  // known by its number in both forms
  EXPECT_EQ(report.lines, 5);
}

TEST(KernelLog, KnowsWhatBreaksTrainingJobs) {
  const HostReport report = Kernel(
      "[1.000] NVRM: GPU 0000:4c:00.0: GPU has fallen off the bus.\n"
      "[1.000] NVRM: GPU at PCI:0000:4d:00: x has fallen off the bus\n"
      "[1.000] Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:8kB\n"
      "[1.000] Memory cgroup out of memory: Killed process 78 (pt main) total-vm:9kB\n"
      "[1.000] python3[5]: segfault at 0 ip 00 sp 00 error 4 in libnccl.so.2.18[7f+9]\n"
      "[1.000] Xorg[6]: segfault at 0 ip 00 sp 00 error 4 in libc.so.6[7f+9]\n"
      "[1.000] mlx5_core 0000:5e:00.0 ens3f0np0: Link down\n"
      "[1.000] mlx5_core 0000:5e:00.1: Port module event[error]: module 1, Bad cable\n"
      "[1.000] mce: [Hardware Error]: CPU 7: Machine Check: 0 Bank 5: be0000\n"
      "[1.000] nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 24007, Fatal, Link 28 x\n"
      "[1.000] nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 32\n"
      "[1.000] blk_update_request: I/O error, dev sdb, sector 4096 op 0x0\n"
      "[1.000] INFO: task kworker/3:1:991 blocked for more than 120 seconds.\n"
      "[1.000] pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Data\n"
      "[1.000] NETDEV WATCHDOG: eth0 (ice): transmit queue 3 timed out\n"
      "[1.000] {3}[Hardware Error]: event severity: fatal\n"
      "[1.000] nfs: server store-1 not responding, still trying\n");
  EXPECT_EQ(Findings(report),
            (Texts{"gpu_lost gpu 0000:4c:00", "gpu_lost gpu 0000:4d:00",
                   "out_of_memory host python3", "out_of_memory host pt main",
                   "segfault host libnccl", "segfault host Xorg",
                   "link_down port ens3f0np0 mlx5",
                   "port_module_error nic 0000:5e:00 Bad cable", "machine_check host",
                   "nvswitch_sxid nvswitch 0000:86:00 24007",
                   "nvswitch_sxid nvswitch 0000:85:00 12028", "io_error disk sdb",
                   "hung_task host kworker/3:1", "pcie_error pci 0000:00:1c corrected",
                   "transmit_timeout port eth0 ice", "hardware_error host fatal",
                   "storage_server storage store-1 nfs"}));
  EXPECT_EQ(Find(report, "hung_task")->values.at("seconds"), 120);
  EXPECT_EQ(Find(report, "nvswitch_sxid")->severity, Severity::kError);
}

TEST(KernelLog, ReadsTheHeadsOfAllItsForms) {
  const std::string body = "NVRM: Xid (PCI:0000:19:00): 48, x";
  for (const char* head :
       {"[12345.678901] ", "[    0.000000][    T0] ", "[Sun Feb 23 16:24:18 2025] ",
        "kern  :warn  : [Sun Feb 23 16:24:18 2025] ",
        "kern  :err   : 2025-01-21T04:41:44,285060+00:00 ",
        "2024-11-15T12:02:03,470068+00:00 ", "6,3964,206764307,-;",
        "3,3964,206764307,-,caller=T1;", "<3>[   12.300000] ",
        "Jan  2 04:05:06 node-1 kernel: [  12.300000] ", "Jan 12 04:05:06 n kernel: ",
        "2024-11-15T12:02:03.470068+00:00 node kernel: "}) {
    const std::string text = head + body;
    const KernelLine line = SplitKernelLine(text);
    EXPECT_EQ(line.body, body) << head;
    EXPECT_TRUE(line.form == KernelLine::Form::kSure ||
                line.form == KernelLine::Form::kWeak)
        << head;
    EXPECT_TRUE(LooksLikeKernelLog(text)) << head;
  }
}

TEST(KernelLog, DoesNotBelieveOtherPrograms) {
  const HostReport report = Kernel(
      "Jan 12 04:05:06 node agent[12]: NVRM: Xid (PCI:0000:19:00): 48, quoted\n"
      "Jan 12 04:05:06 node kernel: usb 1-1: fine\n"
      "user  :warn  : [ 1.000000] NVRM: Xid (PCI:0000:19:00): 48, written by a user\n"
      "Jan 12 04:05:06 node kernel: saw NVRM: Xid (PCI:0000:19:00): 48\n"
      " SUBSYSTEM=pci\n");
  EXPECT_EQ(Findings(report), Texts{});
  EXPECT_EQ(report.stats.Count("line of another program"), 2);
}

TEST(KernelLog, IsNotMistakenForOtherLogs) {
  for (const char* text : {
           "",
           "2024-11-15 12:02:03,470 INFO train: step 3 loss 1.2\n",
           "[2024-11-15 12:02:03,470] [INFO] [engine.py:3] segfault at the sea\n",
           "[Sun Feb 23 16:24:18 2025] [error] [client 1.2.3.4] File not found\n",
           "[   12.345] (II) LoadModule: \"glx\"\n[   12.346] (II) done\n",
           "[12.345678] epoch 3 done\n",
           "2024-11-15T12:02:03,470068+00:00 started worker\n",
           "Jan 12 04:05:06 node sshd[12]: Accepted publickey\n",
           "node1:12:34 [0] NCCL INFO Channel 00/02 : 0 1\n",
           "{\"step\": 3}\n",
           ":::MLLOG {\"namespace\": \"\"}\n",
           "kernel panic is what the report calls it\n",
           "1,2,3\n4,5,6\n",
       }) {
    EXPECT_EQ(DetectHostLog(text), HostLogKind::kUnknown) << text;
  }
}

TEST(KernelLog, AHealthyBootHasNoFinding) {
  const HostReport report = Kernel(
      "6,1,1,-;Linux version 6.8.0\n"
      "6,2,2,-;IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready\n"
      "6,3,3,-;nvidia-nvswitch0: open (major=510)\n"
      "6,4,4,-;mlx5_core 0000:5e:00.0 eth2: Link up\n"
      "6,5,5,-;perf: interrupt took too long (2509 > 2500)\n"
      "4,6,6,-;nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
      "context, skipping further processing\n");
  EXPECT_EQ(Findings(report), Texts{});
  ASSERT_EQ(report.evidence.size(), 1u);  // said, and not held against anybody
  EXPECT_EQ(report.evidence[0].kind, "peer_memory_noise");
}

struct SmiGpu {
  std::string bus = "00000000:19:00.0";
  std::string state = "P0";
  std::string idle = "Not Active";
  std::string hw_slowdown = "Not Active";
  std::string power_brake = "Not Active";
  std::string power_cap = "Not Active";
  int utilization = 95;
  int generation = 5;
  int width = 16;
  int margin_c = 30;
  int volatile_errors = 0;
  std::string remap_pending = "No";
  std::string power = "500.00 W";
};

std::string Smi(const std::vector<SmiGpu>& gpus) {
  std::string text = fmt::format(
      "\n==============NVSMI LOG==============\n\nTimestamp      : Wed Jul 31 2024\n"
      "Driver Version : 535.161.08\n\nAttached GPUs  : {}\n",
      gpus.size());
  for (const SmiGpu& gpu : gpus) {
    text += fmt::format(R"(GPU {}
    Product Name                          : Test GPU
    PCI
        Bus Id                            : {}
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : {}
                Host Max                  : 5
            Link Width
                Max                       : 16x
                Current                   : {}x
        Replays Since Reset               : 3
    Performance State                     : {}
    Clocks Event Reasons
        Idle                              : {}
        SW Power Cap                      : {}
        HW Slowdown                       : {}
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : {}
    Utilization
        Gpu                               : {} %
    ECC Errors
        Volatile
            DRAM Uncorrectable            : {}
        Aggregate
            DRAM Uncorrectable            : {}
            SRAM Threshold Exceeded       : No
    Remapped Rows
        Pending                           : {}
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 60 C
        GPU T.Limit Temp                  : {} C
    GPU Power Readings
        Power Draw                        : {}
        Current Power Limit               : 700.00 W
    Clocks
        SM                                : 1980 MHz
    Max Clocks
        SM                                : 1980 MHz
    Processes                             : None

)",
                        gpu.bus, gpu.bus, gpu.generation, gpu.width, gpu.state,
                        gpu.idle, gpu.power_cap, gpu.hw_slowdown, gpu.power_brake,
                        gpu.utilization, gpu.volatile_errors, gpu.volatile_errors,
                        gpu.remap_pending, gpu.margin_c, gpu.power);
  }
  return text;
}

TEST(NvidiaSmi, MeasuresAGpuAndFindsNothingOnAHealthyOne) {
  const std::string text = Smi({SmiGpu{}});
  EXPECT_EQ(DetectHostLog(text), HostLogKind::kNvidiaSmi);
  const HostReport report = ParseNvidiaSmi(text);
  EXPECT_EQ(Findings(report), Texts{});
  ASSERT_EQ(report.evidence.size(), 1u);
  const HostEvidence& state = report.evidence[0];
  EXPECT_EQ(state.subject, "gpu 0000:19:00");
  EXPECT_EQ(state.values.at("temperature_c"), 60);
  EXPECT_EQ(state.values.at("power_w"), 500);
  EXPECT_EQ(state.values.at("power_limit_w"), 700);
  EXPECT_EQ(state.values.at("sm_clock_mhz"), 1980);
  EXPECT_EQ(state.values.at("utilization_percent"), 95);
  EXPECT_EQ(state.values.at("pcie_generation"), 5);
  EXPECT_EQ(state.values.at("pcie_width"), 16);
  EXPECT_EQ(state.values.at("pcie_replays"), 3);
  EXPECT_EQ(report.stats.CountOf(Severity::kWarning), 0);
}

TEST(NvidiaSmi, JudgesTheLinkOfABusyGpuOnly) {
  SmiGpu idle{.state = "P8", .idle = "Active", .utilization = 0, .generation = 1};
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({idle}))), Texts{});
  SmiGpu busy{.generation = 3};
  const HostReport report = ParseNvidiaSmi(Smi({busy}));
  EXPECT_EQ(Findings(report), Texts{"pcie_slow gpu 0000:19:00 generation"});
  EXPECT_EQ(Find(report, "pcie_slow")->values.at("pcie_generation"), 3);
  EXPECT_EQ(Find(report, "pcie_slow")->values.at("pcie_generation_max"), 5);
  idle.width = 8;
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({idle}))), Texts{});
  busy = SmiGpu{.width = 8};
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({busy}))),
            Texts{"pcie_slow gpu 0000:19:00 width"});
}

TEST(NvidiaSmi, NamesTheReasonsForLowClocks) {
  const SmiGpu brake{.power_brake = "Active", .utilization = 0};
  SmiGpu both = brake;
  both.hw_slowdown = "Active";
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({both}))),
            Texts{"gpu_throttled gpu 0000:19:00 hw_power_brake_slowdown"});
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({SmiGpu{.hw_slowdown = "Active"}}))),
            Texts{"gpu_throttled gpu 0000:19:00 hw_slowdown"});
  const SmiGpu capped{.bus = "00000000:3B:00.0", .power_cap = "Active"};
  const HostReport report = ParseNvidiaSmi(Smi({SmiGpu{}, capped}));
  EXPECT_EQ(Findings(report), Texts{"gpu_throttled gpu 0000:3b:00 sw_power_cap"});
  EXPECT_EQ(Find(report, "gpu_throttled")->severity, Severity::kWarning);
  EXPECT_EQ(Find(report, "gpu_throttled")->values.at("gpu_index"), 1);
  const SmiGpu resting{
      .state = "P8", .idle = "Active", .power_cap = "Active", .utilization = 0};
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({resting}))), Texts{});
}

TEST(NvidiaSmi, FindsMemoryErrorsHeatAndUnreadableGpus) {
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({SmiGpu{.volatile_errors = 2}}))),
            Texts{"gpu_memory_error gpu 0000:19:00 uncorrected"});
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({SmiGpu{.remap_pending = "Yes"}}))),
            Texts{"gpu_memory_rows gpu 0000:19:00 remap_pending"});
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({SmiGpu{.margin_c = -1}}))),
            Texts{"gpu_hot gpu 0000:19:00"});
  EXPECT_EQ(Findings(ParseNvidiaSmi(Smi({SmiGpu{.power = "[Unknown Error]"}}))),
            Texts{"gpu_unreadable gpu 0000:19:00"});
  // A feature that is not there reads so on healthy GPUs.
  std::string feature = Smi({SmiGpu{}});
  feature.replace(feature.find("Test GPU"), 8, "Unknown Error");
  EXPECT_EQ(Findings(ParseNvidiaSmi(feature)), Texts{});
  const HostReport lost = ParseNvidiaSmi(
      "Unable to determine the device handle for GPU 0000:9B:00.0: GPU is lost.  "
      "Reboot "
      "the system to recover this GPU\n");
  EXPECT_EQ(Findings(lost), Texts{"gpu_lost gpu 0000:9b:00"});
}

TEST(NvidiaSmi, CountsSnapshotsOfOneGpu) {
  const HostReport report =
      ParseNvidiaSmi(Smi({SmiGpu{.hw_slowdown = "Active"}}) + Smi({SmiGpu{}}) +
                     Smi({SmiGpu{.hw_slowdown = "Active"}}));
  ASSERT_EQ(report.FindingCount(), 1u);
  EXPECT_EQ(Find(report, "gpu_throttled")->count, 2);
  EXPECT_EQ(Find(report, "gpu_state")->count, 3);
}

TEST(Nvlink, MissesALinkThatOtherGpusHave) {
  const std::string text =
      "GPU 0: Test (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n"
      "\t Link 2: <inactive>\n"
      "GPU 1: Test (UUID: GPU-2)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
      "\t Link 2: <inactive>\n"
      "GPU 2: Test (UUID: GPU-3)\n\t Link 0: 25 GB/s\n\t Link 1: 12.5 GB/s\n";
  EXPECT_EQ(DetectHostLog(text), HostLogKind::kNvlinkStatus);
  EXPECT_EQ(Findings(ParseNvlinkStatus(text)),
            (Texts{"nvlink_down gpu 1 link 1", "nvlink_down gpu 1 link 2",
                   "nvlink_slow gpu 2 link 1"}));
  // Without a bridge no GPU has links, and none is missed.
  const HostReport none = ParseNvlinkStatus(
      "GPU 0: A (UUID: GPU-1)\n\t Link 0: <inactive>\nGPU 1: A (UUID: GPU-2)\n"
      "\t Link 0: <inactive>\n");
  EXPECT_EQ(Findings(none), Texts{});
  const HostReport errors = ParseNvlinkStatus(
      "GPU 0: A (UUID: GPU-1)\n\t Link 0: Replay Errors: 0\n\t Link 1: CRC Errors: "
      "4\n");
  EXPECT_EQ(Findings(errors), Texts{"nvlink_errors gpu 0 link 1 CRC Errors"});
}

std::string Adapter(std::string_view name, std::string_view type,
                    std::string_view state, std::string_view physical, int rate,
                    int ports = 1) {
  std::string text =
      fmt::format("CA '{}'\n\tCA type: {}\n\tNumber of ports: {}\n", name, type, ports);
  for (int port = 1; port <= ports; ++port) {
    const bool second = port > 1;
    text += fmt::format(
        "\tPort {}:\n\t\tState: {}\n\t\tPhysical state: {}\n\t\tRate: {}\n"
        "\t\tLink layer: InfiniBand\n",
        port, second ? "Down" : state, second ? "Disabled" : physical,
        second ? 10 : rate);
  }
  return text;
}

TEST(Ibstat, MissesAPortOfTheFabricAndNoOther) {
  const std::string rails = Adapter("mlx5_0", "MT4129", "Active", "LinkUp", 400) +
                            Adapter("mlx5_1", "MT4129", "Active", "LinkUp", 400);
  const std::string unused = Adapter("mlx5_2", "MT4125", "Down", "Disabled", 40) +
                             Adapter("mlx5_3", "MT4125", "Active", "LinkUp", 100);
  EXPECT_EQ(DetectHostLog(rails + unused), HostLogKind::kIbstat);
  EXPECT_EQ(Findings(ParseIbstat(rails + unused)), Texts{});
  // A port of the fabric that is down shows a default rate.
  const std::string broken = Adapter("mlx5_9", "MT4129", "Down", "Polling", 10);
  const HostReport report = ParseIbstat(rails + unused + broken);
  EXPECT_EQ(Findings(report), Texts{"port_down port mlx5_9/1 Polling"});
  EXPECT_EQ(Find(report, "port_down")->values.at("fabric_rate_gbit_per_s"), 400);
  EXPECT_EQ(Findings(ParseIbstat(rails +
                                 Adapter("mlx5_9", "MT4129", "Active", "LinkUp", 200))),
            Texts{"port_slow port mlx5_9/1"});
}

TEST(Ibstat, BelievesTheUserAboutTheRails) {
  const std::string text = Adapter("mlx5_0", "MT4129", "Active", "LinkUp", 400) +
                           Adapter("mlx5_2", "MT4125", "Down", "Disabled", 40);
  EXPECT_EQ(Findings(ParseIbstat(text, {"mlx5_0", "mlx5_2", "mlx5_7"})),
            (Texts{"port_down port mlx5_2/1 Disabled", "port_missing port mlx5_7"}));
}

TEST(Ibstat, LeavesSecondPortsAloneAndSaysWhenNothingIsUp) {
  EXPECT_EQ(
      Findings(ParseIbstat(Adapter("mlx5_0", "MT4123", "Active", "LinkUp", 200, 2) +
                           Adapter("mlx5_1", "MT4123", "Active", "LinkUp", 200, 2))),
      Texts{});
  EXPECT_EQ(Findings(ParseIbstat(Adapter("mlx5_0", "MT4123", "Down", "Polling", 10))),
            Texts{"port_down host all"});
}

TEST(ProcSnapshot, ReadsPressureMemoryAndLoad) {
  const std::string text =
      "==> /proc/pressure/cpu <==\n"
      "some avg10=35.20 avg60=30.00 avg300=20.00 total=123456\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
      "==> /proc/pressure/io <==\n"
      "some avg10=1.00 avg60=0.50 avg300=0.10 total=99\n"
      "==> /proc/loadavg <==\n0.52 0.58 0.59 3/1024 12345\n"
      "==> /proc/meminfo <==\nMemTotal:       1000000 kB\nMemFree:  1000 kB\n"
      "MemAvailable:     20000 kB\nSwapTotal:  500000 kB\nSwapFree:  300000 kB\n"
      "==> /proc/vmstat <==\nnr_free_pages 250\noom_kill 2\n";
  EXPECT_EQ(DetectHostLog(text), HostLogKind::kProcSnapshot);
  const HostReport report = ParseProcSnapshot(text);
  EXPECT_EQ(Findings(report),
            (Texts{"pressure_cpu host some", "memory host short", "memory host swapped",
                   "out_of_memory host since_boot"}));
  EXPECT_EQ(Find(report, "pressure_cpu")->values.at("avg10_percent"), 35.2);
  EXPECT_EQ(Find(report, "pressure_io")->values.at("avg60_percent"), 0.5);
  EXPECT_EQ(Find(report, "load")->values.at("load_5_min"), 0.58);
  EXPECT_EQ(Find(report, "load")->values.at("running_tasks"), 3);
  EXPECT_EQ(Find(report, "memory")->values.at("available_bytes"), 20000 * 1024.0);
  EXPECT_EQ(Find(report, "memory")->values.at("swap_used_bytes"), 200000 * 1024.0);
}

TEST(ProcSnapshot, IsNotMistakenForOtherTexts) {
  EXPECT_FALSE(LooksLikeProcSnapshot("loss 3\nstep 4\n"));
  EXPECT_FALSE(LooksLikeProcSnapshot("a note about /proc/meminfo\n"));
  EXPECT_TRUE(LooksLikeProcSnapshot("0.52 0.58 0.59 1/1024 12345\n"));
  EXPECT_FALSE(LooksLikeProcSnapshot("1 2 3 1/1024 12345\n"));
}

TEST(HostLog, RefusesWhatItDoesNotKnow) {
  const auto report = ParseHostLog("step 1\nstep 2\n", "train.log");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "TRACE-0177");
  EXPECT_EQ(report.error().where, "train.log");
}

TEST(HostLog, JsonHasTheRecordsAndTheirCount) {
  const auto report = ParseHostLog(
      "[ 1.000001] NVRM: Xid (PCI:0000:19:00): 31, pid=5, name=x\n", "dmesg.txt");
  ASSERT_TRUE(report.has_value());
  const base::Json json = ToJson(*report);
  EXPECT_EQ(json["schema"].AsString(), "stepslack.host_report/1");
  EXPECT_EQ(json["kind"].AsString(), "kernel_log");
  EXPECT_EQ(json["findings"].AsInt(), 1);
  const base::Json& record = json["evidence"].AsArray().at(0);
  EXPECT_EQ(record["code"].AsString(), "31");
  EXPECT_EQ(record["severity"].AsString(), "warning");
  EXPECT_EQ(record["layer"].AsString(), "model");
}

TEST(HostEvidence, KeepsTextShortAndClean) {
  EXPECT_EQ(CleanText("a\tb\x01\x7f\xffz"), "a b???z");
  EXPECT_EQ(CleanText("\xc3\xa9\xe2\x82\xac"), "\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(CleanText("\xc0\x80\xed\xa0\x80"), "?????");  // overlong, surrogate
  EXPECT_EQ(CleanText("\xc2\x85x"), "?x");                // a control character
  EXPECT_EQ(CleanText("abc\xe2\x82\xac", 5), "abc");      // no half character
  EXPECT_EQ(CleanText(std::string(300, 'x')).size(), 200u);
}

TEST(HostEvidence, MemoryFollowsTheDistinctThings) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += fmt::format("[1.000] Out of memory: Killed process 7 (p{})\n", i);
  }
  const HostReport report = Kernel(text);
  EXPECT_EQ(report.evidence.size(), 4096u);
  EXPECT_EQ(report.stats.Count("evidence beyond 4096 records not kept"), 904);
}

TEST(PciAddresses, AreOneSpelling) {
  EXPECT_EQ(PciAddress("00000000:9B:00.0"), "0000:9b:00");
  EXPECT_EQ(PciAddress("0000:9b:00"), "0000:9b:00");
  EXPECT_EQ(PciAddress("9B:00.0"), "9b:00");
}

RC_GTEST_PROP(HostLogProperty, EveryTextIsReadToItsEnd, (const std::string& text)) {
  const auto lines = static_cast<int64_t>(std::ranges::count(text, '\n')) +
                     (text.empty() || text.back() == '\n' ? 0 : 1);
  RC_ASSERT(ParseNvidiaSmi(text).lines == lines);
  RC_ASSERT(ParseIbstat(text).lines == lines);
  RC_ASSERT(ParseNvlinkStatus(text).lines == lines);
  RC_ASSERT(ParseProcSnapshot(text).lines == lines);
}

}  // namespace
}  // namespace stepslack::trace
