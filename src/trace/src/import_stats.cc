#include "stepslack/trace/import_stats.h"

#include <algorithm>

namespace stepslack::trace {

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

void ImportStats::Add(std::string_view name, Severity severity, int64_t offset,
                      int64_t count) {
  auto found = counts_.find(name);
  if (found == counts_.end()) {
    counts_.emplace(std::string(name), ImportCount{severity, count, offset});
    return;
  }
  found->second.count += count;
  found->second.severity = std::max(found->second.severity, severity);
}

void ImportStats::Merge(const ImportStats& other) {
  for (const auto& [name, entry] : other.counts_) {
    Add(name, entry.severity, entry.first_offset, entry.count);
  }
}

int64_t ImportStats::Count(std::string_view name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second.count;
}

int64_t ImportStats::CountOf(Severity severity) const {
  int64_t total = 0;
  for (const auto& [name, entry] : counts_) {
    if (entry.severity == severity) total += entry.count;
  }
  return total;
}

base::Json ToJson(const ImportStats& stats) {
  base::Json json = base::Json::Object{};
  for (const auto& [name, entry] : stats.counts()) {
    base::Json item;
    item.Set("severity", ToString(entry.severity));
    item.Set("count", entry.count);
    item.Set("first_offset_bytes", entry.first_offset);
    json.Set(name, std::move(item));
  }
  return json;
}

}  // namespace stepslack::trace
