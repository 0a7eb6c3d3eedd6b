#include "stepslack/analyze/system_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/base/text.h"

namespace stepslack::analyze {
namespace {

constexpr std::string_view kMarker = ":::SYSJSON";
// A description is some kilobytes; a line that is longer is none.
constexpr size_t kLongestLine = size_t{1} << 20;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// A comma that divides thousands: three digits follow, and no fourth.
bool DividesThousands(std::string_view text, size_t comma) {
  if (comma + 3 >= text.size() || text[comma] != ',') return false;
  for (size_t i = comma + 1; i <= comma + 3; ++i) {
    if (!IsDigit(text[i])) return false;
  }
  return comma + 4 >= text.size() || !IsDigit(text[comma + 4]);
}

std::optional<int64_t> CountIn(const base::Json& value) {
  if (value.is_string()) return CountInText(value.AsString());
  if (!value.is_int()) return std::nullopt;
  const int64_t count = value.AsInt();
  if (count < 1 || count > kMostOfAKind) return std::nullopt;
  return count;
}

// "v4.0__NVIDIA__eos.json": round, submitter, system. Else the whole is the system.
void SetNames(std::string_view source, SystemDescription& system) {
  const size_t slash = source.find_last_of("/!");
  std::string_view name =
      slash == std::string_view::npos ? source : source.substr(slash + 1);
  if (name.ends_with(".json")) name.remove_suffix(5);
  const size_t first = name.find("__");
  const size_t second =
      first == std::string_view::npos ? first : name.find("__", first + 2);
  if (second != std::string_view::npos) {
    system.round = name.substr(0, first);
    system.submitter = name.substr(first + 2, second - first - 2);
    name.remove_prefix(second + 2);
  }
  system.name = name;
}

using Keep = std::function<bool(const SystemDescription&)>;

// Narrows `chosen` to those that `keep` accepts, unless it accepts none.
void Prefer(std::span<const SystemDescription> systems, const Keep& keep,
            std::vector<size_t>& chosen) {
  std::vector<size_t> kept;
  for (const size_t i : chosen) {
    if (keep(systems[i])) kept.push_back(i);
  }
  if (!kept.empty()) chosen = std::move(kept);
}

std::vector<size_t> Where(std::span<const SystemDescription> systems,
                          const Keep& keep) {
  std::vector<size_t> found;
  for (size_t i = 0; i < systems.size(); ++i) {
    if (keep(systems[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::string_view> PathParts(std::string_view source) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= source.size(); ++i) {
    const bool end = i == source.size();
    const bool mark = !end && (source[i] == '/' || source[i] == '!');
    const bool bars = !end && source.substr(i, 2) == "__";
    if (!end && !mark && !bars) continue;
    if (i > begin) parts.push_back(source.substr(begin, i - begin));
    if (bars) ++i;
    begin = i + 1;
  }
  return parts;
}

std::optional<int64_t> CountInText(std::string_view text) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  int64_t count = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (DividesThousands(text, i)) continue;
    if (!IsDigit(text[i])) break;
    count = count * 10 + (text[i] - '0');
    if (count > kMostOfAKind) return std::nullopt;
  }
  if (count == 0) return std::nullopt;
  return count;
}

base::Result<SystemDescription> ParseSystemDescription(std::string_view text,
                                                       std::string_view source) {
  const auto json = base::ParseJson(text, source);
  if (!json.has_value() || !json->is_object()) {
    return base::Fail("ANL-0180", base::ExitCode::kInput,
                      "the system description is no JSON object", std::string(source),
                      "give the systems/<system>.json that goes with the results");
  }
  SystemDescription system;
  system.source = source;
  SetNames(source, system);
  system.system_name = (*json)["system_name"].AsString();
  if (system.submitter.empty()) system.submitter = (*json)["submitter"].AsString();
  const std::optional<int64_t> nodes = CountIn((*json)["number_of_nodes"]);
  const std::optional<int64_t> accelerators = CountIn((*json)["accelerators_per_node"]);
  if (!nodes || !accelerators) {
    return base::Fail("ANL-0181", base::ExitCode::kInput,
                      fmt::format("the system description has no count in \"{}\"",
                                  nodes ? "accelerators_per_node" : "number_of_nodes"),
                      std::string(source),
                      "write the count as a number, or give the world size");
  }
  system.nodes = *nodes;
  system.accelerators_per_node = *accelerators;
  return system;
}

std::optional<SystemDescription> SystemInLog(std::string_view log,
                                             std::string_view source) {
  for (size_t at = log.find(kMarker); at != std::string_view::npos;
       at = log.find(kMarker, at + kMarker.size())) {
    const size_t end = std::min(log.find('\n', at), log.size());
    if (end - at > kLongestLine) continue;
    const std::string_view line = log.substr(at, end - at);
    const size_t open = line.find('{');
    const size_t close = line.rfind('}');
    if (open == std::string_view::npos || close == std::string_view::npos) continue;
    if (close < open) continue;
    auto system = ParseSystemDescription(line.substr(open, close - open + 1), source);
    if (!system.has_value()) continue;
    system->name = system->system_name;
    return *std::move(system);
  }
  return std::nullopt;
}

SystemMatch MatchSystem(std::span<const SystemDescription> systems,
                        std::string_view source, std::string_view platform,
                        std::string_view submitter) {
  const std::vector<std::string_view> parts = PathParts(source);
  const auto in_path = [&parts](std::string_view word) {
    return !word.empty() && std::any_of(parts.begin(), parts.end(), [&](auto part) {
      return SameWord(part, word);
    });
  };
  const size_t digits =
      std::min(platform.find_first_not_of("0123456789"), platform.size());
  const bool counted =
      digits > 0 && digits < platform.size() && platform[digits] == 'x';
  const std::string_view machine = counted ? platform.substr(digits + 1) : platform;

  std::vector<size_t> chosen =
      Where(systems, [&](const SystemDescription& s) { return in_path(s.name); });
  if (chosen.empty()) {
    chosen = Where(systems, [&](const SystemDescription& s) {
      const auto names_it = [&](std::string_view name) {
        return !name.empty() &&
               (in_path(name) || SameWord(name, platform) || SameWord(name, machine));
      };
      return names_it(s.name) || names_it(s.system_name);
    });
  }
  if (chosen.empty()) return {{}, "no system description goes with this path"};
  Prefer(
      systems, [&](const auto& s) { return in_path(s.submitter); }, chosen);
  Prefer(
      systems, [&](const auto& s) { return SameWord(s.submitter, submitter); }, chosen);
  Prefer(
      systems, [&](const auto& s) { return in_path(s.round); }, chosen);
  if (counted) {
    const std::optional<int64_t> nodes = CountInText(platform.substr(0, digits));
    Prefer(
        systems, [&](const auto& s) { return nodes && s.nodes == *nodes; }, chosen);
  }
  for (const size_t i : chosen) {
    if (systems[i].world_size() == systems[chosen[0]].world_size()) continue;
    return {{},
            fmt::format("{} system descriptions of different sizes go with this path",
                        chosen.size())};
  }
  return {chosen[0], ""};
}

}  // namespace stepslack::analyze
