// Any bytes either are refused or give a world size that is a product of sane counts.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepslack/analyze/system_description.h"
#include "stepslack/base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace analyze = stepslack::analyze;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](const analyze::SystemDescription& system) {
    SS_CHECK(system.nodes >= 1 && system.nodes <= analyze::kMostOfAKind);
    SS_CHECK(system.world_size() >= system.nodes);
  };
  // The first line stands for the path of an input.
  const std::string_view path = text.substr(0, text.find('\n'));
  for (const std::string_view part : analyze::PathParts(path)) SS_CHECK(!part.empty());
  std::vector<analyze::SystemDescription> systems;
  if (const auto in_log = analyze::SystemInLog(text, path)) {
    check(*in_log);
    systems.push_back(*in_log);
  }
  const auto system = analyze::ParseSystemDescription(text, path);
  if (system.has_value()) {
    check(*system);
    systems.push_back(*system);
  }
  const auto match = analyze::MatchSystem(systems, path, path, path);
  SS_CHECK(!match.index || *match.index < systems.size());
  SS_CHECK(match.index.has_value() == match.reason.empty());
  return 0;
}
