#include "stepslack/trace/nccl_debug.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "json_scanner.h"
#include "log_line.h"
#include "nccl_debug_facts.h"
#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"

namespace stepslack::trace {
namespace {

constexpr std::string_view kMarks[] = {" NCCL INFO ", " NCCL WARN ", " NCCL ERROR "};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "0[0]", "1[3b000]", "8": the number in front.
std::optional<int32_t> RankOf(std::string_view word) {
  const std::optional<int64_t> rank = base::ParseInt(word.substr(0, word.find('[')));
  if (!rank || *rank < 0 || *rank > 100'000'000) return std::nullopt;
  return static_cast<int32_t>(*rank);
}

// The number after a word: "rank 3 nranks 16".
std::optional<int64_t> NumberAfter(const std::vector<std::string_view>& words,
                                   std::string_view word) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == word) return base::ParseInt(words[i + 1]);
  }
  return std::nullopt;
}

struct Origin {
  std::string_view host;
  int64_t process = 0;
  int64_t device = -1;
};

// "[2026-09-06 18:39:07] host:pid:tid [3] file.cc:303" in front of the mark.
Origin OriginOf(std::string_view front) {
  Origin origin;
  for (const std::string_view word : Words(front)) {
    const std::vector<std::string_view> parts = base::Split(word, ':');
    if (parts.size() == 3 && origin.host.empty() && !parts[0].empty()) {
      const std::optional<int64_t> process = base::ParseInt(parts[1]);
      if (process && base::ParseInt(parts[2])) {
        origin.host = parts[0];
        origin.process = *process;
      }
    } else if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
      origin.device = base::ParseInt(word.substr(1, word.size() - 2)).value_or(-1);
    }
  }
  return origin;
}

using ProcessKey = std::tuple<std::string, int64_t, int64_t>;
using LinkKey =
    std::tuple<std::string, int32_t, int32_t, std::string, std::string, bool>;

class DebugReader {
 public:
  base::Result<NcclDebugLog> Run(std::string_view text, std::string_view name);

 private:
  void ReadLine(const LogLine& line);
  void ReadInfo(std::string_view message, NcclProcess& process, int64_t offset);
  void ReadWarning(std::string_view message, const std::string& host, int64_t offset);
  bool ReadVersion(std::string_view message);
  bool ReadSetting(std::string_view message, const std::string& host, int64_t offset);
  bool ReadChannel(std::string_view message, NcclProcess& process, int64_t offset);
  bool ReadInterfaces(std::string_view message, const std::string& host);
  bool ReadCommunicator(std::string_view message, NcclProcess& process);
  void ReadRest(std::string_view message, int64_t offset);
  void Mention(const std::string& fact, int64_t offset);
  NcclProcess& ProcessOf(const Origin& origin);

  NcclDebugLog log_;
  std::map<ProcessKey, NcclProcess> processes_;
  std::map<LinkKey, NcclLink> links_;
  std::set<std::string> channel_lines_;
  std::map<std::pair<std::string, std::string>, NcclSetting> settings_;
  std::map<std::string, size_t> warning_index_;
  std::map<std::string, NcclMention> mentions_;
  int64_t lines_ = 0;
};

void DebugReader::Mention(const std::string& fact, int64_t offset) {
  NcclMention& mention = mentions_[fact];
  if (mention.lines++ == 0) mention.first_offset = offset;
}

NcclProcess& DebugReader::ProcessOf(const Origin& origin) {
  std::string host = base::ValidUtf8(origin.host);
  NcclProcess& process = processes_[ProcessKey(host, origin.process, origin.device)];
  if (process.lines++ == 0) {
    process.host = std::move(host);
    process.process = origin.process;
    process.device = origin.device;
  }
  return process;
}

// "NCCL version 2.21.5+cuda12.4", "RCCL version : 2.30.4-HEAD:2b22ab0".
bool DebugReader::ReadVersion(std::string_view message) {
  const size_t found = message.find("CCL version ");
  if (found == std::string_view::npos || found == 0) return false;
  const std::vector<std::string_view> words = Words(message.substr(found + 12));
  const size_t at = !words.empty() && words[0] == ":" ? 1 : 0;
  if (at >= words.size() || words[at][0] < '0' || words[at][0] > '9') return false;
  log_.versions.insert((message[found - 1] == 'R' ? "RCCL " : "") +
                       base::ValidUtf8(words[at]));
  return true;
}

// "NCCL_IB_DISABLE set by environment to 1.": the full stop is the sentence's.
bool DebugReader::ReadSetting(std::string_view message, const std::string& host,
                              int64_t offset) {
  constexpr std::string_view kSet = " set by environment to ";
  const size_t found = message.find(kSet);
  if (found == std::string_view::npos) return false;
  const std::vector<std::string_view> before = Words(message.substr(0, found));
  if (before.empty() || !Contains(before.back(), "CCL_")) return false;
  std::string_view value = base::Trim(message.substr(found + kSet.size()));
  if (value.ends_with('.')) value.remove_suffix(1);
  const std::string name = base::ValidUtf8(before.back());
  NcclSetting& setting = settings_[{name, base::ValidUtf8(value)}];
  if (setting.lines++ == 0) {
    setting.name = name;
    setting.value = base::ValidUtf8(value);
  }
  setting.hosts.insert(host);
  if (value == "1" && name == "NCCL_P2P_DISABLE") Mention("p2p_disabled", offset);
  if (value == "1" && name == "NCCL_SHM_DISABLE") Mention("shm_disabled", offset);
  if (value == "1" && name == "NCCL_IB_DISABLE") Mention("ib_disabled", offset);
  if (value == "0" && name == "NCCL_NET_GDR_LEVEL") {
    Mention("gpu_direct_rdma_disabled", offset);
  }
  return true;
}

// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "Ring 00 : 0 -> 1 via SHM".
bool DebugReader::ReadChannel(std::string_view message, NcclProcess& process,
                              int64_t offset) {
  const std::vector<std::string_view> words = Words(message);
  if (words.size() < 4 || (words[0] != "Channel" && words[0] != "Ring")) return false;
  const auto via = std::find(words.begin(), words.end(), "via");
  if (via == words.end()) {
    // "Channel 00/24 :    0   1   2": the order of one ring, of so many.
    const std::vector<std::string_view> parts = base::Split(words[1], '/');
    if (words[2] != ":" || parts.size() != 2) return false;
    log_.ring_channels =
        std::max(log_.ring_channels, base::ParseInt(parts[1]).value_or(0));
    return true;
  }
  const auto arrow = std::find(words.begin(), via, "->");
  if (arrow == words.begin() || arrow == via || via + 1 == words.end()) return false;
  const std::optional<int32_t> source = RankOf(*(arrow - 1));
  const std::optional<int32_t> target = RankOf(*(arrow + 1));
  if (!source || !target) return false;
  std::string direction;
  for (auto word = arrow + 1; word != via; ++word) {
    if (*word == "[send]" || *word == "[receive]") {
      direction = word->substr(1, word->size() - 2);
    }
  }
  const std::vector<std::string_view> parts = base::Split(*(via + 1), '/');
  std::string transport = base::ValidUtf8(parts[0]);
  if (parts.size() > 1 && parts[0] != "SHM") {
    transport += '/';
    transport += base::ValidUtf8(parts[1]);
  }
  const bool gpu_direct =
      std::find(parts.begin(), parts.end(), "GDRDMA") != parts.end();
  const int32_t own = direction == "receive" ? *target : *source;
  process.ranks.insert(own);
  NcclLink& link =
      links_[LinkKey(process.host, *source, *target, direction, transport, gpu_direct)];
  link = {.host = process.host,
          .source = *source,
          .target = *target,
          .direction = direction,
          .transport = transport,
          .gpu_direct = gpu_direct,
          .channels = link.channels};
  // The same channel is announced again for every further communicator.
  if (channel_lines_.insert(process.host + ' ' + std::string(message)).second) {
    ++link.channels;
  }
  if (transport == "NET/Socket") Mention("net_socket_between_ranks", offset);
  return true;
}

// "Bootstrap : Using eth0:10.0.0.1<0>", "NET/IB : Using [0]mlx5_0:1/IB [1]... [RO];
// OOB".
bool DebugReader::ReadInterfaces(std::string_view message, const std::string& host) {
  const size_t found = message.find(" : Using ");
  if (found == std::string_view::npos) return false;
  const std::string kind = base::ValidUtf8(base::Trim(message.substr(0, found)));
  std::string_view list = message.substr(found + 9);
  list = list.substr(0, list.find(';'));
  for (std::string_view word : Words(list)) {
    const size_t bracket = word.find(']');
    if (word.starts_with('[') && bracket != std::string_view::npos) {
      word.remove_prefix(bracket + 1);
    }
    if (kind != "NET/IB") word = word.substr(0, word.find(':'));
    if (word.empty()) continue;
    log_.interfaces.insert({.kind = kind, .name = base::ValidUtf8(word), .host = host});
  }
  return true;
}

// "comm 0x55ba rank 0 nranks 2 cudaDev 0 ... commId 0xab55 - Init COMPLETE".
bool DebugReader::ReadCommunicator(std::string_view message, NcclProcess& process) {
  if (!Contains(message, "comm ") || !Contains(message, " nranks ")) return false;
  const std::vector<std::string_view> words = Words(message);
  const std::optional<int64_t> rank = NumberAfter(words, "rank");
  const std::optional<int64_t> ranks = NumberAfter(words, "nranks");
  if (!rank || !ranks || *rank < 0 || *rank >= *ranks || *ranks > 100'000'000) {
    return false;
  }
  process.ranks.insert(static_cast<int32_t>(*rank));
  std::string id;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "commId") id = base::ValidUtf8(words[i + 1]);
  }
  // Old versions have no id, and the pointer differs on every rank.
  if (id.empty()) id = fmt::format("{} ranks", *ranks);
  log_.communicators[id] = *ranks;
  return true;
}

void DebugReader::ReadRest(std::string_view message, int64_t offset) {
  const std::vector<std::string_view> words = Words(message);
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (!words[i + 2].starts_with("channels")) continue;
    const int64_t count = base::ParseInt(words[i]).value_or(0);
    if (words[i + 1] == "coll") {
      log_.collective_channels = std::max(log_.collective_channels, count);
    } else if (words[i + 1] == "p2p") {
      log_.p2p_channels = std::max(log_.p2p_channels, count);
    }
  }
  if (message.starts_with("Trees ")) log_.has_trees = true;
  if (Contains(message, "NET/IB : No device found")) {
    Mention("no_ib_device", offset);
  } else if (Contains(message, "Failed to open libibverbs")) {
    Mention("no_verbs_library", offset);
  } else if (Contains(message, "P2P is disabled between connected GPUs")) {
    Mention("p2p_disabled", offset);
  } else if (Contains(message, "GPU Direct RDMA Disabled") ||
             Contains(message, "GPU Direct RDMA disabled")) {
    Mention("gpu_direct_rdma_disabled", offset);
  }
}

void DebugReader::ReadInfo(std::string_view message, NcclProcess& process,
                           int64_t offset) {
  constexpr std::string_view kNetwork = "Using network ";
  if (message.starts_with(kNetwork)) {
    process.network = base::ValidUtf8(base::Trim(message.substr(kNetwork.size())));
    if (process.network == "Socket") Mention("socket_network_chosen", offset);
    return;
  }
  if (ReadVersion(message) || ReadSetting(message, process.host, offset) ||
      ReadChannel(message, process, offset) || ReadInterfaces(message, process.host) ||
      ReadCommunicator(message, process)) {
    return;
  }
  ReadRest(message, offset);
}

void DebugReader::ReadWarning(std::string_view message, const std::string& host,
                              int64_t offset) {
  const std::string text = base::ValidUtf8(base::Trim(message));
  const auto [found, added] = warning_index_.try_emplace(text, log_.warnings.size());
  if (added) log_.warnings.push_back({.text = text, .first_offset = offset});
  NcclWarning& warning = log_.warnings[found->second];
  ++warning.lines;
  if (!host.empty()) warning.hosts.insert(host);
  if (Contains(message, "iommu=pt")) Mention("iommu_not_passthrough", offset);
}

void DebugReader::ReadLine(const LogLine& line) {
  const auto offset = static_cast<int64_t>(line.offset);
  for (const std::string_view mark : kMarks) {
    // A line may begin with the mark where a launcher cut the origin off.
    size_t found = line.text.find(mark);
    size_t length = mark.size();
    if (found == std::string_view::npos && line.text.starts_with(mark.substr(1))) {
      found = 0;
      --length;
    }
    if (found == std::string_view::npos) continue;
    ++lines_;
    const std::string_view message = line.text.substr(found + length);
    const Origin origin = OriginOf(line.text.substr(0, found));
    if (origin.host.empty()) {
      log_.stats.Add("line without host and process", Severity::kInfo, offset);
    }
    NcclProcess& process = ProcessOf(origin);
    if (mark == kMarks[0]) {
      ReadInfo(message, process, offset);
    } else {
      ReadWarning(message, process.host, offset);
    }
    return;
  }
  if (line.text.starts_with("NCCL version ") ||
      line.text.starts_with("RCCL version ")) {
    if (ReadVersion(line.text)) ++lines_;
  }
}

base::Result<NcclDebugLog> DebugReader::Run(std::string_view text,
                                            std::string_view name) {
  size_t position = 0;
  LogLine line;
  while (NextLogLine(text, position, line)) ReadLine(line);
  if (lines_ == 0) {
    return base::Fail("TRACE-0121", base::ExitCode::kInput, "no line of NCCL was found",
                      std::string(name),
                      "run with NCCL_DEBUG=INFO and give the output of all ranks");
  }
  for (auto& [key, process] : processes_) log_.processes.push_back(std::move(process));
  for (auto& [key, link] : links_) log_.links.push_back(std::move(link));
  for (auto& [key, setting] : settings_) log_.settings.push_back(std::move(setting));
  DeriveNcclFacts(mentions_, log_);
  return std::move(log_);
}

}  // namespace

bool LooksLikeNcclDebug(std::string_view head) {
  if (base::Trim(head).starts_with('{') || Contains(head, "\"ph\"")) return false;
  return Contains(head, "NCCL INFO ") || Contains(head, "NCCL WARN ");
}

base::Result<NcclDebugLog> ParseNcclDebug(std::string_view text,
                                          std::string_view name) {
  return DebugReader().Run(text, name);
}

}  // namespace stepslack::trace
