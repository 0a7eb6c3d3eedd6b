// What an importer met and could not use as it was: named, counted, never silent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "stepslack/base/json.h"

namespace stepslack::trace {

enum class Severity { kInfo, kWarning, kError };
std::string_view ToString(Severity severity);

// Counters that others look for.
inline constexpr std::string_view kSyncOnDevice =
    "wait of the device, not counted as its work";
inline constexpr std::string_view kBytesAfterEnd = "bytes after the end, not read";
inline constexpr std::string_view kOperatorOnStream =
    "operator that names a stream, not counted as device work";

struct ImportCount {
  Severity severity = Severity::kInfo;
  int64_t count = 0;
  int64_t first_offset = 0;  // byte in the (inflated) text
};

// Counters of one import, by name: "malformed event", "negative duration set to 0".
class ImportStats {
 public:
  void Add(std::string_view name, Severity severity, int64_t offset, int64_t count = 1);

  // Adds the counters of another import; first offsets of this one win.
  void Merge(const ImportStats& other);

  int64_t Count(std::string_view name) const;  // 0 when never seen
  int64_t CountOf(Severity severity) const;
  const std::map<std::string, ImportCount, std::less<>>& counts() const {
    return counts_;
  }

 private:
  std::map<std::string, ImportCount, std::less<>> counts_;
};

// {"malformed event": {"severity": "error", "count": 2, "first_offset_bytes": 120}}
base::Json ToJson(const ImportStats& stats);

}  // namespace stepslack::trace
