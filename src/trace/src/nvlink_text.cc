// `nvidia-smi nvlink --status` (speed of each link) and `--errorcounters`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host_evidence.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

constexpr size_t kMostGpus = 1024;
constexpr size_t kMostLinks = 64;

struct Link {
  int64_t number = 0;
  double gb_per_s = 0;  // 0: inactive
  EvidenceLine line;
};

struct Gpu {
  std::string subject;
  EvidenceLine line;
  std::vector<Link> links;
};

// "GPU 3: NVIDIA A100-SXM4-80GB (UUID: ...)" to 3.
std::optional<int64_t> GpuNumber(std::string_view line) {
  if (!line.starts_with("GPU ")) return std::nullopt;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = base::ParseInt(line.substr(4, colon - 4));
  return number && *number >= 0 ? number : std::nullopt;
}

// "Link 5: 25 GB/s" to (5, "25 GB/s").
std::optional<int64_t> LinkNumber(std::string_view line, std::string_view& rest) {
  std::string_view name;
  if (!SplitField(line, name, rest) || !name.starts_with("Link ")) return std::nullopt;
  const auto number = base::ParseInt(name.substr(5));
  return number && *number >= 0 ? number : std::nullopt;
}

void JudgeErrors(EvidenceCollector& collector, const Gpu& gpu, int64_t link,
                 std::string_view rest, const EvidenceLine& line) {
  std::string_view name;
  std::string_view value;
  if (!SplitField(rest, name, value)) return;
  const double count = LeadingNumber(value, 0);
  if (count <= 0) return;
  collector
      .Add({.kind = "nvlink_errors",
            .code = name,
            .severity = Severity::kWarning,
            .layer = "hardware",
            .cause = "H09",
            .meaning = "Transfers on an NVLink connection were repeated or lost"},
           fmt::format("{} link {}", gpu.subject, link), line)
      .values["errors"] = count;
}

// A link is missed when other GPUs of the host have more links up: bridges and boards
// leave the same ones unused on every GPU.
void JudgeLinks(EvidenceCollector& collector, const std::vector<Gpu>& gpus) {
  size_t most = 0;
  double fastest = 0;
  const auto active = [](const Gpu& gpu) {
    return static_cast<size_t>(std::ranges::count_if(
        gpu.links, [](const Link& link) { return link.gb_per_s > 0; }));
  };
  for (const Gpu& gpu : gpus) {
    most = std::max(most, active(gpu));
    for (const Link& link : gpu.links) fastest = std::max(fastest, link.gb_per_s);
  }
  for (const Gpu& gpu : gpus) {
    collector
        .Add({.kind = "nvlink_state",
              .layer = "hardware",
              .meaning = "NVLink connections that are up, and their speed"},
             gpu.subject, gpu.line)
        .values = {{"links_up", static_cast<double>(active(gpu))},
                   {"link_gb_per_s", fastest}};
    const bool missing = active(gpu) < most;
    for (const Link& link : gpu.links) {
      if (link.gb_per_s == 0 && !missing) continue;
      if (link.gb_per_s > 0 && link.gb_per_s >= fastest) continue;
      const bool down = link.gb_per_s == 0;
      collector
          .Add({.kind = down ? "nvlink_down" : "nvlink_slow",
                .severity = down ? Severity::kError : Severity::kWarning,
                .layer = "hardware",
                .cause = "H09",
                .meaning = down ? "An NVLink connection is down that other GPUs have up"
                                : "An NVLink connection is slower than the others"},
               fmt::format("{} link {}", gpu.subject, link.number), link.line)
          .values = {{"link_gb_per_s", link.gb_per_s}, {"others_gb_per_s", fastest}};
    }
  }
}

}  // namespace

bool LooksLikeNvlinkStatus(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  bool gpu = false;
  while (reader.number() < 60 && reader.Next(line)) {
    std::string_view rest;
    if (gpu && LinkNumber(line, rest)) return true;
    gpu = gpu || GpuNumber(line).has_value();
  }
  return false;
}

HostReport ParseNvlinkStatus(std::string_view text) {
  HostReport report;
  report.kind = HostLogKind::kNvlinkStatus;
  EvidenceCollector collector(report);
  std::vector<Gpu> gpus;
  LineReader reader(text);
  std::string_view line;
  while (reader.Next(line)) {
    const EvidenceLine here{reader.number(), line};
    std::string_view rest;
    if (const auto number = GpuNumber(line); number && gpus.size() < kMostGpus) {
      gpus.push_back({.subject = fmt::format("gpu {}", *number), .line = here});
    } else if (const auto link = LinkNumber(line, rest); link && !gpus.empty()) {
      Gpu& gpu = gpus.back();
      const bool speed = rest.ends_with("GB/s");
      if (speed || rest.find("inactive") != std::string_view::npos) {
        if (gpu.links.size() < kMostLinks) {
          gpu.links.push_back({*link, speed ? LeadingNumber(rest, 0) : 0, here});
        }
      } else {
        JudgeErrors(collector, gpu, *link, rest, here);
      }
    } else if (!base::Trim(line).empty()) {
      report.stats.Add("line of unexpected form", Severity::kInfo, here.number);
    }
  }
  report.lines = reader.number();
  JudgeLinks(collector, gpus);
  return report;
}

}  // namespace stepslack::trace
