#include "stepslack/trace/host_log_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "line_template.h"
#include "shipped_host_log_patterns.h"
#include "stepslack/base/config.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

using base::ConfigTable;

constexpr std::array<std::string_view, 4> kLayers = {"data", "model", "runtime",
                                                     "hardware"};

Severity ReadSeverity(ConfigTable& table) {
  const std::string text = table.String("severity");
  for (const Severity severity :
       {Severity::kInfo, Severity::kWarning, Severity::kError}) {
    if (text == ToString(severity)) return severity;
  }
  if (table.Has("severity")) {
    table.Reject("severity", fmt::format("`{}` is not a severity", text),
                 "use info, warning or error");
  }
  return Severity::kInfo;
}

std::string ReadLayer(ConfigTable& table, std::optional<std::string> fallback) {
  std::string layer = table.String("layer", std::move(fallback));
  if (table.Has("layer") && std::ranges::find(kLayers, layer) == kLayers.end()) {
    table.Reject("layer", fmt::format("`{}` is not a layer", layer),
                 fmt::format("use one of {}", fmt::join(kLayers, ", ")));
  }
  return layer;
}

// Every "{name}" of `text` must be a hole of the match.
void RequireHoles(ConfigTable& table, std::string_view key, std::string_view text,
                  const std::vector<std::string>& names) {
  for (size_t at = text.find('{'); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    const size_t end = text.find('}', at);
    const std::string_view name = end == std::string_view::npos
                                      ? text.substr(at + 1)
                                      : text.substr(at + 1, end - at - 1);
    if (std::ranges::find(names, name) != names.end()) continue;
    table.Reject(key, fmt::format("`{}` is not a hole of `match`", name),
                 fmt::format("holes: {}", fmt::join(names, ", ")));
  }
}

HostLogPattern ReadPattern(ConfigTable& table) {
  HostLogPattern pattern;
  pattern.id = table.String("id");
  pattern.match = table.String("match");
  pattern.subject = table.String("subject");
  pattern.code = table.String("code", "");
  pattern.severity = ReadSeverity(table);
  pattern.layer = ReadLayer(table, {});
  pattern.cause = table.String("cause", "");
  pattern.meaning = table.String("meaning");
  std::string why;
  auto compiled = LineTemplate::Parse(pattern.match, why);
  if (!compiled) {
    compiled.emplace();
    if (table.Has("match")) {
      table.Reject("match", "not a pattern: " + why,
                   "see the head of knowledge/hostlogs.toml for the form");
    }
  }
  RequireHoles(table, "subject", pattern.subject, compiled->Names());
  RequireHoles(table, "code", pattern.code, compiled->Names());
  pattern.compiled = std::make_shared<const LineTemplate>(*std::move(compiled));
  for (ConfigTable* code : table.Tables("codes")) {
    pattern.codes.push_back({.code = code->String("code"),
                             .severity = ReadSeverity(*code),
                             .layer = ReadLayer(*code, ""),
                             .cause = code->String("cause", ""),
                             .meaning = code->String("meaning")});
  }
  return pattern;
}

base::Result<HostLogPatterns> ReadPatterns(ConfigTable root, std::string_view name) {
  HostLogPatterns result;
  for (ConfigTable* table : root.Tables("pattern")) {
    result.patterns.push_back(ReadPattern(*table));
  }
  SS_RETURN_IF_ERROR(root.Finish());
  if (result.patterns.empty()) {
    return base::Fail("TRACE-0176", base::ExitCode::kUsage,
                      "the file names no pattern for log lines", std::string(name),
                      "add [[pattern]] tables; knowledge/hostlogs.toml shows many");
  }
  return result;
}

}  // namespace

const HostLogCode* HostLogPatterns::FindCode(std::string_view id,
                                             std::string_view code) const {
  for (const HostLogPattern& pattern : patterns) {
    if (pattern.id != id) continue;
    const auto found = std::ranges::find(pattern.codes, code, &HostLogCode::code);
    if (found != pattern.codes.end()) return &*found;
  }
  return nullptr;
}

base::Result<HostLogPatterns> ParseHostLogPatterns(std::string_view text,
                                                   std::string_view name) {
  SS_TRY(ConfigTable root, ConfigTable::Parse(text, name));
  return ReadPatterns(std::move(root), name);
}

base::Result<HostLogPatterns> ShippedHostLogPatterns() {
  return ParseHostLogPatterns(ShippedHostLogText(), "hostlogs.toml (built in)");
}

base::Result<HostLogPatterns> LoadHostLogPatterns(const std::string& path) {
  SS_TRY(ConfigTable root, ConfigTable::Load(path));
  SS_TRY(HostLogPatterns own, ReadPatterns(std::move(root), path));
  SS_TRY(HostLogPatterns shipped, ShippedHostLogPatterns());
  std::ranges::move(shipped.patterns, std::back_inserter(own.patterns));
  return own;
}

}  // namespace stepslack::trace
