#include "stepslack/trace/host_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepslack/base/file.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::trace {

std::string_view ToString(HostLogKind kind) {
  switch (kind) {
    case HostLogKind::kNvidiaSmi:
      return "nvidia_smi";
    case HostLogKind::kNvlinkStatus:
      return "nvlink_status";
    case HostLogKind::kKernelLog:
      return "kernel_log";
    case HostLogKind::kIbstat:
      return "ibstat";
    case HostLogKind::kProcSnapshot:
      return "proc_snapshot";
    case HostLogKind::kUnknown:
      break;
  }
  return "unknown";
}

size_t HostReport::FindingCount() const {
  return static_cast<size_t>(std::ranges::count_if(
      evidence,
      [](const HostEvidence& record) { return record.severity != Severity::kInfo; }));
}

HostLogKind DetectHostLog(std::string_view text) {
  if (LooksLikeNvidiaSmi(text)) return HostLogKind::kNvidiaSmi;
  if (LooksLikeNvlinkStatus(text)) return HostLogKind::kNvlinkStatus;
  if (LooksLikeIbstat(text)) return HostLogKind::kIbstat;
  if (LooksLikeProcSnapshot(text)) return HostLogKind::kProcSnapshot;
  if (LooksLikeKernelLog(text)) return HostLogKind::kKernelLog;
  return HostLogKind::kUnknown;
}

base::Result<HostReport> ParseHostLog(std::string_view text, std::string_view name,
                                      const HostLogOptions& options) {
  HostReport report;
  switch (DetectHostLog(text)) {
    case HostLogKind::kNvidiaSmi:
      report = ParseNvidiaSmi(text);
      break;
    case HostLogKind::kNvlinkStatus:
      report = ParseNvlinkStatus(text);
      break;
    case HostLogKind::kIbstat:
      report = ParseIbstat(text, options.rails);
      break;
    case HostLogKind::kProcSnapshot:
      report = ParseProcSnapshot(text);
      break;
    case HostLogKind::kKernelLog:
      if (options.patterns != nullptr) {
        report = ParseKernelLog(text, *options.patterns);
      } else {
        SS_TRY(const HostLogPatterns shipped, ShippedHostLogPatterns());
        report = ParseKernelLog(text, shipped);
      }
      break;
    case HostLogKind::kUnknown:
      return base::Fail("TRACE-0177", base::ExitCode::kInput,
                        "this is none of the host texts that are read",
                        std::string(name),
                        "give the output of nvidia-smi -q, nvidia-smi nvlink --status, "
                        "dmesg, ibstat, or of cat on files of /proc");
  }
  report.name = std::string(name);
  return report;
}

base::Result<HostReport> ReadHostLog(const std::string& path,
                                     const HostLogOptions& options) {
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  SS_TRY(const std::string text, ReadAll(*source, path, options.max_bytes));
  SS_TRY(HostReport report, ParseHostLog(text, path, options));
  if (source->damaged()) {
    report.stats.Add("compressed log ends inside", Severity::kWarning,
                     static_cast<int64_t>(text.size()));
  }
  return report;
}

base::Json ToJson(const HostReport& report) {
  base::Json json;
  json.Set("schema", "stepslack.host_report/1");
  json.Set("kind", ToString(report.kind));
  json.Set("name", report.name);
  json.Set("lines", report.lines);
  json.Set("findings", static_cast<int64_t>(report.FindingCount()));
  base::Json list = base::Json::Array{};
  for (const HostEvidence& record : report.evidence) {
    base::Json values = base::Json::Object{};
    for (const auto& [name, value] : record.values) values.Set(name, value);
    base::Json item;
    item.Set("kind", record.kind);
    item.Set("subject", record.subject);
    item.Set("code", record.code);
    item.Set("severity", ToString(record.severity));
    item.Set("layer", record.layer);
    item.Set("cause", record.cause);
    item.Set("meaning", record.meaning);
    item.Set("count", record.count);
    item.Set("first_line", record.first_line);
    item.Set("last_line", record.last_line);
    item.Set("first_text", record.first_text);
    item.Set("last_text", record.last_text);
    item.Set("values", std::move(values));
    list.Append(std::move(item));
  }
  json.Set("evidence", std::move(list));
  json.Set("import", ToJson(report.stats));
  return json;
}

}  // namespace stepslack::trace
