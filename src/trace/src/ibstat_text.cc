// `ibstat`: adapters and their ports. A port that is down matters when the job needs
// it: servers have ports that nobody uses.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "host_evidence.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

constexpr size_t kMostPorts = 4096;

struct Port {
  std::string_view adapter;
  std::string_view adapter_type;  // "MT4129"
  std::string_view number;
  std::string_view state;           // "Active", "Down", "Initializing"
  std::string_view physical_state;  // "LinkUp", "Disabled", "Polling"
  std::string_view link_layer;
  double rate_gbit_per_s = 0;
  EvidenceLine line;  // of the state

  bool active() const { return state == "Active"; }
};

std::string_view Unquoted(std::string_view text) {
  text = base::Trim(text);
  if (text.starts_with('\'')) text.remove_prefix(1);
  return text.substr(0, text.find('\''));
}

void ReadPortField(std::string_view name, std::string_view value,
                   const EvidenceLine& line, Port& port) {
  if (name == "State") {
    port.state = value;
    port.line = line;
  }
  if (name == "Physical state") port.physical_state = value;
  if (name == "Rate") port.rate_gbit_per_s = LeadingNumber(value, 0);
  if (name == "Link layer") port.link_layer = value;
}

std::vector<Port> ReadPorts(std::string_view text, HostReport& report) {
  std::vector<Port> ports;
  std::string_view adapter;
  std::string_view adapter_type;
  bool in_port = false;
  LineReader reader(text);
  std::string_view line;
  while (reader.Next(line)) {
    const EvidenceLine here{reader.number(), line};
    const std::string_view trimmed = base::Trim(line);
    std::string_view name;
    std::string_view value;
    if (trimmed.empty()) continue;
    if (trimmed.starts_with("CA '")) {
      adapter = Unquoted(trimmed.substr(3));
      adapter_type = {};
      in_port = false;
    } else if (adapter.empty() || !SplitField(trimmed, name, value)) {
      report.stats.Add("line of unexpected form", Severity::kInfo, here.number);
    } else if (name == "CA type") {
      adapter_type = value;
    } else if (name.starts_with("Port ") && value.empty()) {
      if (ports.size() >= kMostPorts) {
        report.stats.Add("port beyond the first 4096 not read", Severity::kWarning,
                         here.number);
        in_port = false;
        continue;
      }
      in_port = true;
      ports.push_back({.adapter = adapter,
                       .adapter_type = adapter_type,
                       .number = base::Trim(name.substr(5)),
                       .line = here});
    } else if (in_port) {
      ReadPortField(name, value, here, ports.back());
    }
  }
  report.lines = reader.number();
  return ports;
}

// The ports that carry the fabric: of all active ports, those of one adapter type and
// rate with the most bandwidth together. A port that is down shows a default rate and
// layer, so its adapter's type decides whether it belongs to them.
struct Fabric {
  std::string_view adapter_type;
  double rate_gbit_per_s = 0;
  int64_t active = 0;
};

Fabric FindFabric(const std::vector<Port>& ports) {
  std::map<std::pair<std::string_view, double>, int64_t> classes;
  for (const Port& port : ports) {
    if (port.active()) ++classes[{port.adapter_type, port.rate_gbit_per_s}];
  }
  Fabric fabric;
  for (const auto& [key, count] : classes) {
    if (key.second * static_cast<double>(count) >
        fabric.rate_gbit_per_s * static_cast<double>(fabric.active)) {
      fabric = {key.first, key.second, count};
    }
  }
  return fabric;
}

// On adapters with two ports the second is often not connected anywhere.
bool PortNumberInUse(const std::vector<Port>& ports, const Fabric& fabric,
                     std::string_view number) {
  return std::ranges::any_of(ports, [&](const Port& port) {
    return port.active() && port.adapter_type == fabric.adapter_type &&
           port.rate_gbit_per_s == fabric.rate_gbit_per_s && port.number == number;
  });
}

EvidenceKind Judge(const Port& port, const Fabric& fabric, bool expected) {
  if (port.active() && (!expected || port.rate_gbit_per_s >= fabric.rate_gbit_per_s)) {
    return {.kind = "port_up",
            .layer = "hardware",
            .meaning = expected ? "A port that carries the job's traffic is up"
                                : "A port is up that the job does not need"};
  }
  if (port.active()) {
    return {.kind = "port_slow",
            .severity = Severity::kWarning,
            .layer = "hardware",
            .cause = "H09",
            .meaning = "A port of the fabric is slower than its equals"};
  }
  if (!expected) {
    return {.kind = "port_unused",
            .code = port.physical_state,
            .layer = "hardware",
            .meaning = "A port is down that does not belong to the fabric"};
  }
  const bool waiting = port.physical_state == "LinkUp";
  return {.kind = "port_down",
          .code = port.physical_state,
          .severity = Severity::kError,
          .layer = "hardware",
          .cause = "H09",
          .meaning = waiting ? "The link is up and the port not active: ask the subnet "
                               "manager"
                             : "A port that the job needs is down: cable, module or "
                               "switch"};
}

}  // namespace

bool LooksLikeIbstat(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  bool adapter = false;
  while (reader.number() < 60 && reader.Next(line)) {
    if (line.starts_with("CA '")) adapter = true;
    const std::string_view trimmed = base::Trim(line);
    if (adapter &&
        (trimmed.starts_with("CA type:") || trimmed.starts_with("Physical state:") ||
         trimmed.starts_with("Number of ports:"))) {
      return true;
    }
  }
  return false;
}

HostReport ParseIbstat(std::string_view text, const std::vector<std::string>& rails) {
  HostReport report;
  report.kind = HostLogKind::kIbstat;
  EvidenceCollector collector(report);
  const std::vector<Port> ports = ReadPorts(text, report);
  Fabric fabric = FindFabric(ports);
  if (!rails.empty()) {
    fabric.rate_gbit_per_s = 0;
    for (const Port& port : ports) {
      if (std::ranges::find(rails, port.adapter) == rails.end()) continue;
      if (port.active()) {
        fabric.rate_gbit_per_s = std::max(fabric.rate_gbit_per_s, port.rate_gbit_per_s);
      }
    }
  }
  for (const Port& port : ports) {
    const bool expected =
        rails.empty() ? fabric.active > 0 && port.adapter_type == fabric.adapter_type &&
                            PortNumberInUse(ports, fabric, port.number)
                      : std::ranges::find(rails, port.adapter) != rails.end();
    HostEvidence& record =
        collector.Add(Judge(port, fabric, expected),
                      fmt::format("port {}/{}", port.adapter, port.number), port.line);
    record.values = {{"rate_gbit_per_s", port.rate_gbit_per_s},
                     {"fabric_rate_gbit_per_s", fabric.rate_gbit_per_s}};
  }
  for (const std::string& rail : rails) {
    if (std::ranges::any_of(ports, [&](const Port& p) { return p.adapter == rail; })) {
      continue;
    }
    collector.Add({.kind = "port_missing",
                   .severity = Severity::kError,
                   .layer = "hardware",
                   .cause = "H09",
                   .meaning = "An adapter that the job needs is not in the host"},
                  "port " + rail, {1, "not listed: " + rail});
  }
  if (rails.empty() && fabric.active == 0 && !ports.empty()) {
    collector.Add(
        {.kind = "port_down",
         .code = "all",
         .severity = Severity::kWarning,
         .layer = "hardware",
         .cause = "H09",
         .meaning = "No port is active; which ones the job needs is not known"},
        "host", ports.front().line);
  }
  return report;
}

}  // namespace stepslack::trace
