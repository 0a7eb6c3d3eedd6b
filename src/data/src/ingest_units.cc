// Unit mistakes show as a scale that is a power of ten away from a map's peers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "map_planes.h"
#include "stepslack/data/ingest.h"

namespace stepslack::data {
namespace {

constexpr size_t kFewestPeers = 3;  // with two, either could be the wrong one
constexpr int kSmallestPower = 2;   // designs of one source differ by less than this

std::string Hint(int power, bool voltage) {
  const std::string factor =
      power > 0 ? fmt::format("x1{}", std::string(static_cast<size_t>(power), '0'))
                : fmt::format("/1{}", std::string(static_cast<size_t>(-power), '0'));
  switch (std::abs(power)) {
    case 3:
      return factor + (voltage ? ": V/mV?" : ": A/mA or mA/uA?");
    case 6:
      return factor + (voltage ? ": V/uV?" : ": A/uA?");
    default:
      return factor + ": wrong unit?";
  }
}

struct Scale {
  const WholeMap* map;
  double mean;
};

void Compare(const std::vector<Scale>& scales, const std::string& plane, bool voltage,
             std::vector<UnitSuspicion>& out) {
  std::vector<double> means;
  for (const Scale& scale : scales) {
    if (scale.mean > 0) means.push_back(scale.mean);
  }
  if (means.size() < kFewestPeers) return;
  const auto middle =
      means.begin() + static_cast<std::ptrdiff_t>((means.size() - 1) / 2);
  std::nth_element(means.begin(), middle, means.end());
  const double median = *middle;
  for (const Scale& scale : scales) {
    if (scale.mean <= 0) continue;
    const int power = static_cast<int>(std::lround(std::log10(scale.mean / median)));
    if (std::abs(power) < kSmallestPower) continue;
    out.push_back(
        {scale.map->id, plane, scale.mean, median, power, Hint(power, voltage)});
  }
}

}  // namespace

std::vector<UnitSuspicion> FindUnitSuspicions(const MapCollection& collection) {
  std::map<std::string, std::vector<const WholeMap*>> sources;
  for (const WholeMap& map : collection.maps) sources[map.source].push_back(&map);
  const int current = CurrentChannel(collection.channels);
  std::vector<UnitSuspicion> out;
  for (const auto& [source, maps] : sources) {
    std::vector<Scale> currents;
    std::vector<Scale> targets;
    for (const WholeMap* map : maps) {
      if (current >= 0) {
        currents.push_back({map, MeanAbsolute(map->channels[size_t(current)])});
      }
      targets.push_back({map, MeanAbsolute(map->target)});
    }
    if (current >= 0) {
      Compare(currents, collection.channels[size_t(current)].name, false, out);
    }
    Compare(targets, collection.target_name, true, out);
  }
  return out;
}

}  // namespace stepslack::data
