// What lines of a kernel log mean: knowledge/hostlogs.toml, built into the program, and
// what a user adds to it. The file explains its keys.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

class LineTemplate;

// What one value of `code` means; empty texts are those of the pattern.
struct HostLogCode {
  std::string code;
  Severity severity = Severity::kInfo;
  std::string layer;
  std::string cause;
  std::string meaning;
};

struct HostLogPattern {
  std::string id;  // kind of the evidence: "xid", "link_down"
  std::string match;
  std::string subject;
  std::string code;
  Severity severity = Severity::kInfo;
  std::string layer;  // "data", "model", "runtime" or "hardware"
  std::string cause;  // id in the catalogue of causes; may be empty
  std::string meaning;
  std::vector<HostLogCode> codes;
  std::shared_ptr<const LineTemplate> compiled;  // of `match`; shared by copies
};

struct HostLogPatterns {
  std::vector<HostLogPattern> patterns;  // the first that matches a line takes it

  // Of any pattern of this id; null when the code has no meaning of its own.
  const HostLogCode* FindCode(std::string_view id, std::string_view code) const;
};

// Errors: CONF-0001 to CONF-0004 (with the line), TRACE-0176 (no pattern).
base::Result<HostLogPatterns> ParseHostLogPatterns(std::string_view text,
                                                   std::string_view name);

// Those built into the program.
base::Result<HostLogPatterns> ShippedHostLogPatterns();

// Those of a user's file, then the shipped ones.
base::Result<HostLogPatterns> LoadHostLogPatterns(const std::string& path);

}  // namespace stepslack::trace
