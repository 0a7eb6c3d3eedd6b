#include "nccl_debug_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stepslack::trace {
namespace {

// A rank to the one host that it is on; left out when a log mixes communicators, so
// that one number is several processes.
std::map<int32_t, std::string> HostOfRanks(const NcclDebugLog& log) {
  std::map<int32_t, std::string> host_of;
  std::set<int32_t> unclear;
  for (const NcclProcess& process : log.processes) {
    if (process.host.empty()) continue;
    for (const int32_t rank : process.ranks) {
      const auto [found, added] = host_of.try_emplace(rank, process.host);
      if (!added && found->second != process.host) unclear.insert(rank);
    }
  }
  for (const int32_t rank : unclear) host_of.erase(rank);
  return host_of;
}

class FactFinder {
 public:
  FactFinder(const std::map<std::string, NcclMention>& mentions, NcclDebugLog& log)
      : mentions_(mentions), log_(log), host_of_(HostOfRanks(log)) {}

  void Run() {
    FindMentions();
    FindNetworks();
    FindHostMemory();
    FindDisagreements();
    std::sort(log_.facts.begin(), log_.facts.end(),
              [](const NcclFact& a, const NcclFact& b) { return a.name < b.name; });
  }

 private:
  void FindMentions();
  void FindNetworks();
  void FindHostMemory();
  void FindDisagreements();
  void Add(std::string name, std::string text, int64_t lines, int64_t offset = 0) {
    log_.facts.push_back({.name = std::move(name),
                          .text = std::move(text),
                          .lines = lines,
                          .first_offset = offset});
  }
  int64_t OffsetOf(const std::string& mention) const {
    const auto found = mentions_.find(mention);
    return found == mentions_.end() ? 0 : found->second.first_offset;
  }
  bool SameHost(const NcclLink& link) const {
    const auto source = host_of_.find(link.source);
    const auto target = host_of_.find(link.target);
    return source != host_of_.end() && target != host_of_.end() &&
           source->second == target->second;
  }

  const std::map<std::string, NcclMention>& mentions_;
  NcclDebugLog& log_;
  std::map<int32_t, std::string> host_of_;
};

void FactFinder::FindMentions() {
  static constexpr std::pair<const char*, const char*> kTexts[] = {
      {"p2p_disabled", "direct access between GPUs (P2P) is switched off"},
      {"shm_disabled", "shared memory between processes is switched off"},
      {"ib_disabled", "InfiniBand and RoCE are switched off by the environment"},
      {"gpu_direct_rdma_disabled", "GPUDirect RDMA is not used for a network device"},
      {"no_ib_device", "no InfiniBand or RoCE device was found"},
      {"no_verbs_library", "the verbs library could not be opened"},
      {"socket_network_chosen", "the network in use is TCP sockets"},
      {"iommu_not_passthrough", "the kernel runs without iommu=pt"}};
  for (const auto& [name, text] : kTexts) {
    const auto found = mentions_.find(name);
    if (found == mentions_.end()) continue;
    Add(name, fmt::format("{} ({} lines)", text, found->second.lines),
        found->second.lines, found->second.first_offset);
  }
}

void FactFinder::FindNetworks() {
  int64_t sockets = 0;
  int64_t inside_host = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> direct_of;  // host: with, without
  for (const NcclLink& link : log_.links) {
    if (!link.transport.starts_with("NET/")) continue;
    if (SameHost(link)) {
      inside_host += link.channels;
    } else if (link.transport == "NET/Socket") {
      sockets += link.channels;
    }
    if (link.transport == "NET/Socket") continue;
    auto& [with, without] = direct_of[link.host];
    (link.gpu_direct ? with : without) += link.channels;
  }
  if (sockets > 0) {
    Add("net_socket_between_hosts",
        fmt::format("{} channels between ranks go over TCP sockets", sockets), sockets,
        OffsetOf("net_socket_between_ranks"));
  }
  if (inside_host > 0) {
    Add("network_inside_a_host",
        fmt::format("{} channels between ranks of one host go over the network: the "
                    "processes do not see each other's GPUs or memory",
                    inside_host),
        inside_host);
  }
  int64_t with = 0;
  int64_t without = 0;
  for (const auto& [host, counts] : direct_of) {
    with += counts.first;
    without += counts.second;
  }
  if (without > 0 && with == 0) {
    Add("no_gpu_direct_rdma",
        fmt::format("none of {} network channels uses GPUDirect RDMA", without),
        without);
  } else if (without > 0) {
    std::string hosts;
    for (const auto& [host, counts] : direct_of) {
      if (counts.second == 0) continue;
      hosts += fmt::format("{}{} {} of {}", hosts.empty() ? "" : ", ", host,
                           counts.second, counts.first + counts.second);
    }
    Add("gpu_direct_rdma_on_some_channels_only",
        fmt::format("network channels without GPUDirect RDMA: {}", hosts), without);
  }
}

void FactFinder::FindHostMemory() {
  int64_t channels = 0;
  for (const NcclLink& link : log_.links) {
    if (link.transport == "SHM") channels += link.channels;
  }
  if (channels == 0) return;
  Add("host_memory_between_gpus",
      fmt::format("{} channels inside a host go through host memory (SHM), not "
                  "directly between GPUs",
                  channels),
      channels);
}

void FactFinder::FindDisagreements() {
  if (log_.versions.size() > 1) {
    std::string list;
    for (const std::string& version : log_.versions) {
      list += (list.empty() ? "" : ", ") + version;
    }
    Add("versions_differ", fmt::format("more than one version is in use: {}", list),
        static_cast<int64_t>(log_.versions.size()));
  }
  for (size_t i = 0; i + 1 < log_.settings.size(); ++i) {
    const NcclSetting& setting = log_.settings[i];
    const NcclSetting& next = log_.settings[i + 1];
    if (setting.name != next.name) continue;
    Add("settings_differ",
        fmt::format("{} is {} and {}", setting.name, setting.value, next.value),
        setting.lines + next.lines);
  }
  if (log_.warnings.empty()) return;
  int64_t lines = 0;
  for (const NcclWarning& warning : log_.warnings) lines += warning.lines;
  Add("warnings",
      fmt::format("{} warnings, {} different; the first: {}", lines,
                  log_.warnings.size(), log_.warnings.front().text),
      lines, log_.warnings.front().first_offset);
}

}  // namespace

void DeriveNcclFacts(const std::map<std::string, NcclMention>& mentions,
                     NcclDebugLog& log) {
  FactFinder(mentions, log).Run();
}

}  // namespace stepslack::trace
