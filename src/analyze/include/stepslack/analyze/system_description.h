// How many accelerators a system has, from the description that goes with MLPerf
// results (systems/<system>.json, mlcommons/policies, or the same object in a log line
// ":::SYSJSON {...}"): number_of_nodes x accelerators_per_node. Submitters write both
// as strings, sometimes with words in them ("16", "8x H100", "1,024 (4 racks)").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::analyze {

struct SystemDescription {
  std::string source;       // the file or log
  std::string name;         // of the file, without round, submitter and ".json"
  std::string system_name;  // as the object says; often the same at every size
  std::string submitter;    // of the file name, else of the object; may be empty
  std::string round;        // of the file name "<round>__<submitter>__<system>.json"
  int64_t nodes = 0;        // both are 1 to kMostOfAKind
  int64_t accelerators_per_node = 0;

  int64_t world_size() const { return nodes * accelerators_per_node; }
};

constexpr int64_t kMostOfAKind = 10'000'000;

// The first whole number in a text, thousands separated by commas included. No value
// when there is none, it is 0, or it is above kMostOfAKind.
std::optional<int64_t> CountInText(std::string_view text);

// `source` names the file; its name is taken apart for system, submitter and round.
// Errors: ANL-0180 (no JSON object), ANL-0181 (no count of nodes or of accelerators).
base::Result<SystemDescription> ParseSystemDescription(std::string_view text,
                                                       std::string_view source);

// Of the first ":::SYSJSON {...}" line that can be read; no value when there is none.
std::optional<SystemDescription> SystemInLog(std::string_view log,
                                             std::string_view source);

struct SystemMatch {
  std::optional<size_t> index;  // into the descriptions
  std::string reason;           // why there is none
};

// The description that a run belongs to. First those whose `name` is a component of the
// path `source` (divided by "/", "!" and "__"); else those whose name or system_name is
// such a component or the platform ("8xNVIDIA DGX A100" without its "8x" too). Of
// several, those stay that also agree in submitter, round and the node count before the
// "x" of the platform, as long as any does. Still different sizes: no match.
SystemMatch MatchSystem(std::span<const SystemDescription> systems,
                        std::string_view source, std::string_view platform,
                        std::string_view submitter);

// Components of the path of an input, divided by "/", "!" and "__".
std::vector<std::string_view> PathParts(std::string_view source);

}  // namespace stepslack::analyze
