#include "map_views.h"

#include <fmt/format.h>

#include <cmath>

namespace stepslack::quality {
namespace {

using base::ExitCode;
using base::Fail;

bool SizesFit(const MapView& map) {
  constexpr int64_t kMaxSide = int64_t{1} << 20;
  if (map.height < 1 || map.width < 1) return false;
  if (map.height > kMaxSide || map.width > kMaxSide) return false;
  const auto pixels = static_cast<size_t>(map.height * map.width);
  return map.target.size() == pixels && map.prediction.size() == pixels;
}

base::Status CheckFinite(const MapView& map, std::span<const float> values,
                         const char* what, const char* help) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const auto width = static_cast<size_t>(map.width);
    return Fail("QUAL-0004", ExitCode::kInput, fmt::format("a {} is not finite", what),
                fmt::format("map {}, row {}, column {}", map.id, i / width, i % width),
                help);
  }
  return {};
}

}  // namespace

base::Status CheckMaps(std::span<const MapView> maps) {
  if (maps.empty()) {
    return Fail("QUAL-0002", ExitCode::kInput, "there is no map to score", "",
                "check that the test split is not empty");
  }
  for (const MapView& map : maps) {
    if (!SizesFit(map)) {
      return Fail(
          "QUAL-0003", ExitCode::kInput,
          fmt::format("{} labels and {} predictions do not fill {} x {} pixels",
                      map.target.size(), map.prediction.size(), map.height, map.width),
          fmt::format("map {}", map.id),
          "predict the maps of this data set, at their own size");
    }
    SS_RETURN_IF_ERROR(
        CheckFinite(map, map.target, "label", "clean the data set before scoring"));
    SS_RETURN_IF_ERROR(CheckFinite(map, map.prediction, "prediction",
                                   "the training diverged; lower the learning rate"));
  }
  return {};
}

}  // namespace stepslack::quality
