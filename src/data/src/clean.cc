#include "stepslack/data/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "map_planes.h"

namespace stepslack::data {
namespace {

struct Rule {
  std::string id;
  std::string description;
  std::function<bool(const WholeMap&)> broken;
};

bool WrongPlaneSize(const WholeMap& map, size_t channels) {
  if (map.height <= 0 || map.width <= 0 || map.channels.size() != channels) return true;
  const size_t size = static_cast<size_t>(map.height) * static_cast<size_t>(map.width);
  const auto planes = PlanesOf(map);
  return std::any_of(planes.begin(), planes.end(),
                     [&](const auto* plane) { return plane->size() != size; });
}

bool AnyNotFinite(const WholeMap& map) {
  for (const auto* plane : PlanesOf(map)) {
    for (const float v : *plane) {
      if (!std::isfinite(v)) return true;
    }
  }
  return false;
}

bool AnyBelow(const std::vector<float>& plane, double bound) {
  return std::any_of(plane.begin(), plane.end(),
                     [&](float v) { return static_cast<double>(v) < bound; });
}

bool AnyBadClass(const WholeMap& map, const std::vector<Channel>& channels) {
  for (size_t c = 0; c < channels.size() && c < map.channels.size(); ++c) {
    if (!channels[c].categorical) continue;
    for (const float v : map.channels[c]) {
      if (v < 0 || v != std::floor(v)) return true;
    }
  }
  return false;
}

std::vector<Rule> DeclareRules(const std::vector<Channel>& channels,
                               const CleanOptions& options) {
  const int current = CurrentChannel(channels);
  const int64_t tile = options.tile;
  std::vector<Rule> rules;
  rules.push_back({"plane_size", "a plane does not have height x width values",
                   [count = channels.size()](const WholeMap& map) {
                     return WrongPlaneSize(map, count);
                   }});
  rules.push_back({"non_finite", "a value is NaN or infinite", AnyNotFinite});
  rules.push_back(
      {"negative_drop",
       fmt::format("a target value is below -{} mV", options.drop_tolerance),
       [tolerance = options.drop_tolerance](const WholeMap& map) {
         return AnyBelow(map.target, -tolerance);
       }});
  rules.push_back({"negative_current", "a current value is below zero",
                   [current](const WholeMap& map) {
                     const auto c = static_cast<size_t>(current);
                     return current >= 0 && c < map.channels.size() &&
                            AnyBelow(map.channels[c], 0.0);
                   }});
  rules.push_back({"constant_target", "the target is the same value everywhere",
                   [](const WholeMap& map) {
                     return map.target.empty() || IsConstant(map.target);
                   }});
  rules.push_back(
      {"class_not_integer", "a class is not a whole number from 0 on",
       [channels](const WholeMap& map) { return AnyBadClass(map, channels); }});
  rules.push_back(
      {"below_tile_size",
       fmt::format("height or width is below the tile size {}", tile),
       [tile](const WholeMap& map) { return map.height < tile || map.width < tile; }});
  return rules;
}

}  // namespace

CleanResult Clean(MapCollection collection, const CleanOptions& options) {
  CleanResult result;
  result.options = options;
  const std::vector<Rule> rules = DeclareRules(collection.channels, options);
  for (const Rule& rule : rules) {
    result.rules.push_back({rule.id, rule.description, 0, {}});
  }
  result.kept.channels = collection.channels;
  result.kept.target_name = collection.target_name;
  result.kept.target_unit = collection.target_unit;
  std::stable_sort(collection.maps.begin(), collection.maps.end(),
                   [](const WholeMap& a, const WholeMap& b) { return a.id < b.id; });
  for (WholeMap& map : collection.maps) {
    std::vector<std::string> broken;
    for (size_t r = 0; r < rules.size(); ++r) {
      if (!rules[r].broken(map)) continue;
      broken.push_back(rules[r].id);
      RuleFinding& finding = result.rules[r];
      ++finding.count;
      if (static_cast<int64_t>(finding.examples.size()) < options.max_examples) {
        finding.examples.push_back(map.id);
      }
    }
    if (broken.empty()) {
      result.kept.maps.push_back(std::move(map));
    } else {
      result.quarantined.push_back({std::move(map), std::move(broken)});
    }
  }
  return result;
}

base::Json ToJson(const CleanResult& result) {
  base::Json json;
  json.Set("kept", static_cast<int64_t>(result.kept.maps.size()));
  base::Json options;
  options.Set("drop_tolerance_mV", result.options.drop_tolerance);
  options.Set("tile", result.options.tile);
  json.Set("options", std::move(options));
  base::Json rules(base::Json::Array{});
  for (const RuleFinding& finding : result.rules) {
    base::Json one;
    one.Set("id", finding.id).Set("description", finding.description);
    one.Set("count", finding.count);
    base::Json examples(base::Json::Array{});
    for (const std::string& id : finding.examples) examples.Append(id);
    one.Set("examples", std::move(examples));
    rules.Append(std::move(one));
  }
  json.Set("rules", std::move(rules));
  base::Json quarantined(base::Json::Array{});
  for (const QuarantinedMap& entry : result.quarantined) {
    base::Json one;
    one.Set("map", entry.map.id);
    base::Json ids(base::Json::Array{});
    for (const std::string& id : entry.rules) ids.Append(id);
    one.Set("rules", std::move(ids));
    quarantined.Append(std::move(one));
  }
  json.Set("quarantined", std::move(quarantined));
  return json;
}

std::string Describe(const CleanResult& result) {
  std::string text = fmt::format("{} maps kept, {} in quarantine; {} rules checked\n",
                                 result.kept.maps.size(), result.quarantined.size(),
                                 result.rules.size());
  for (const RuleFinding& finding : result.rules) {
    if (finding.count == 0) continue;
    text += fmt::format("  {}: {} maps ({}), such as {}\n", finding.id, finding.count,
                        finding.description, fmt::join(finding.examples, ", "));
  }
  return text;
}

}  // namespace stepslack::data
