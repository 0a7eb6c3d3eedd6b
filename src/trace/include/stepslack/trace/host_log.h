// What the host says about itself, as evidence: `nvidia-smi -q`, `nvidia-smi nvlink
// --status`, kernel logs (dmesg, /dev/kmsg, journalctl -k, syslog), `ibstat`, and
// snapshots of /proc. Each text is told from the others, and from ordinary logs, by its
// content.
//
// A reader gives facts and what they mean alone; whether one explains slow steps is for
// the diagnosis to say. Known traps are built in: an idle GPU runs its PCIe link at a
// low generation and its clock low, and unused network ports are down.
// docs/formats_host.md lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/host_log_patterns.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

// One kind of thing about one subject, however often it was said.
struct HostEvidence {
  std::string kind;     // "xid", "gpu_throttled", "port_down"
  std::string subject;  // "gpu 0000:9b:00", "port mlx5_2/1", "host", "disk sda"
  std::string code;     // "119", "hw_power_brake_slowdown"; may be empty
  Severity severity = Severity::kInfo;  // kInfo is context, the others are findings
  std::string layer;                    // "runtime" or "hardware", as causes have it
  std::string cause;                    // id in the catalogue of causes; may be empty
  std::string meaning;
  int64_t count = 0;
  int64_t first_line = 0;  // from 1
  int64_t last_line = 0;
  std::string
      first_text;  // the line: at most 200 bytes of UTF-8, no control characters
  std::string last_text;
  std::map<std::string, double, std::less<>> values;  // unit in the name; the last ones
};

enum class HostLogKind {
  kUnknown,
  kNvidiaSmi,
  kNvlinkStatus,
  kKernelLog,
  kIbstat,
  kProcSnapshot
};
std::string_view ToString(HostLogKind kind);

struct HostReport {
  HostLogKind kind = HostLogKind::kUnknown;
  std::string name;  // of the file
  int64_t lines = 0;
  std::vector<HostEvidence> evidence;  // in the order of first appearance
  ImportStats stats;

  size_t FindingCount() const;  // warnings and errors
};

struct HostLogOptions {
  const HostLogPatterns* patterns = nullptr;  // not owned; null: the shipped ones
  // Network adapters that the job uses ("mlx5_0"), for ibstat. Empty: the ports that
  // carry the fabric are found from the text.
  std::vector<std::string> rails;
  int64_t max_bytes = int64_t{1} << 30;
};

// True for the whole output (`nvidia-smi -q`), not for the table of plain `nvidia-smi`.
bool LooksLikeNvidiaSmi(std::string_view text);
bool LooksLikeNvlinkStatus(std::string_view text);
// Most lines have a form that only the kernel's log has; or one that others have as
// well and some say what only the kernel says.
bool LooksLikeKernelLog(std::string_view text);
bool LooksLikeIbstat(std::string_view text);
bool LooksLikeProcSnapshot(std::string_view text);
HostLogKind DetectHostLog(std::string_view text);

// These never fail: what can not be read is counted in `stats`.
HostReport ParseNvidiaSmi(std::string_view text);
HostReport ParseNvlinkStatus(std::string_view text);
HostReport ParseKernelLog(std::string_view text, const HostLogPatterns& patterns);
HostReport ParseIbstat(std::string_view text,
                       const std::vector<std::string>& rails = {});
HostReport ParseProcSnapshot(std::string_view text);

// By content. Errors: TRACE-0177 (none of the known texts), and those of the patterns.
base::Result<HostReport> ParseHostLog(std::string_view text, std::string_view name,
                                      const HostLogOptions& options = {});
// Plain or gzip. Errors: also TRACE-0003, TRACE-0002 (larger than max_bytes).
base::Result<HostReport> ReadHostLog(const std::string& path,
                                     const HostLogOptions& options = {});

// {"schema": "stepslack.host_report/1", "kind": ..., "evidence": [...]}
base::Json ToJson(const HostReport& report);

}  // namespace stepslack::trace
