#include "stepslack/quality/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "map_views.h"

namespace stepslack::quality {
namespace {

using base::ExitCode;
using base::Fail;

// Mean |prediction|: known when the interval is used, unlike anything about the label.
double ScaleOf(const MapView& map) {
  double sum = 0;
  for (float v : map.prediction) sum += std::fabs(static_cast<double>(v));
  return sum / static_cast<double>(map.prediction.size());
}

double ErrorAt(const MapView& map, size_t i) {
  return std::fabs(static_cast<double>(map.prediction[i]) -
                   static_cast<double>(map.target[i]));
}

std::map<std::string_view, int64_t> PixelsByGroup(std::span<const MapView> maps) {
  std::map<std::string_view, int64_t> pixels;
  for (const MapView& map : maps) pixels[map.group] += map.height * map.width;
  return pixels;
}

base::Status CheckScales(std::span<const MapView> maps) {
  for (const MapView& map : maps) {
    if (ScaleOf(map) > 0) continue;
    for (float label : map.target) {
      if (label == 0) continue;
      return Fail("QUAL-0021", ExitCode::kInput, "all predictions are zero",
                  fmt::format("map {}", map.id),
                  "an interval in proportion to the prediction needs one; check the "
                  "training");
    }
  }
  return {};
}

base::Status CheckApart(std::span<const MapView> validation,
                        std::span<const MapView> test) {
  const auto calibration_groups = PixelsByGroup(validation);
  for (const MapView& map : test) {
    if (!calibration_groups.contains(map.group)) continue;
    return Fail("QUAL-0022", ExitCode::kInput,
                "this family is in the validation and in the test set",
                fmt::format("family {}", map.group), "split by family first");
  }
  return {};
}

struct Factor {
  double value = 0;
  int64_t groups = 0;
  bool guaranteed = false;
};

Factor FindFactor(std::span<const MapView> validation, double level) {
  const auto pixels = PixelsByGroup(validation);
  std::vector<std::pair<double, double>> scores;  // score, share of its family
  for (const MapView& map : validation) {
    const double scale = ScaleOf(map);
    const double share = 1.0 / static_cast<double>(pixels.at(map.group));
    for (size_t i = 0; i < map.target.size(); ++i) {
      scores.emplace_back(scale > 0 ? ErrorAt(map, i) / scale : 0.0, share);
    }
  }
  std::sort(scores.begin(), scores.end());
  Factor factor;
  factor.groups = static_cast<int64_t>(pixels.size());
  const double families = static_cast<double>(factor.groups);
  factor.guaranteed = level * (families + 1) <= families + 1e-9;
  // Shares are added in floating point; the last bits must not move the quantile.
  const double wanted =
      level * (factor.guaranteed ? families + 1 : families) - 1e-9 * families;
  double running = 0;
  for (const auto& [score, share] : scores) {
    running += share;
    factor.value = score;
    if (running >= wanted) break;
  }
  return factor;
}

}  // namespace

double ConformalQuantile(std::span<const double> scores, double level) {
  if (scores.empty() || !(level > 0 && level < 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double n = static_cast<double>(scores.size());
  // (19 + 1) * 0.9 is 18, whatever the last bit of the product says.
  const double rank = std::ceil((n + 1) * level - 1e-9);
  if (rank > n) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

base::Result<Calibration> Calibrate(std::span<const MapView> validation,
                                    std::span<const MapView> test,
                                    const CalibrationOptions& options) {
  if (!(options.level > 0 && options.level < 1)) {
    return Fail("QUAL-0020", ExitCode::kUsage,
                fmt::format("the level {} is not between 0 and 1", options.level),
                "calibration", "give the wanted coverage, such as 0.9");
  }
  SS_RETURN_IF_ERROR(CheckMaps(validation));
  SS_RETURN_IF_ERROR(CheckMaps(test));
  SS_RETURN_IF_ERROR(CheckScales(validation));
  SS_RETURN_IF_ERROR(CheckScales(test));
  SS_RETURN_IF_ERROR(CheckApart(validation, test));
  const Factor factor = FindFactor(validation, options.level);
  Calibration calibration;
  calibration.half_width_factor = factor.value;
  calibration.calibration_groups = factor.groups;
  calibration.guaranteed = factor.guaranteed;
  std::map<std::string_view, stats::ClusterSums> inside;
  std::map<std::string_view, stats::ClusterSums> widths;
  for (const MapView& map : test) {
    const double half_width = factor.value * ScaleOf(map);
    // Rounding of score * scale must not push the calibrating pixel itself outside.
    const double reach = half_width * (1 + 1e-12);
    stats::ClusterSums& group = inside[map.group];
    for (size_t i = 0; i < map.target.size(); ++i) {
      group.numerator += ErrorAt(map, i) <= reach ? 1.0 : 0.0;
      group.denominator += 1;
    }
    widths[map.group].numerator += half_width;
    widths[map.group].denominator += 1;
  }
  std::vector<stats::ClusterSums> shares;
  std::vector<stats::ClusterSums> width_sums;
  for (const auto& [name, sums] : inside) {
    const double share = sums.numerator / sums.denominator;
    shares.push_back({share, 1.0});
    width_sums.push_back(widths.at(name));
    calibration.groups.push_back(
        {std::string(name), static_cast<int64_t>(sums.denominator), share});
  }
  std::stable_sort(calibration.groups.begin(), calibration.groups.end(),
                   [](const GroupCoverage& a, const GroupCoverage& b) {
                     return a.covered < b.covered;
                   });
  stats::BootstrapOptions bootstrap = options.bootstrap;
  bootstrap.unit = "1";
  calibration.coverage = stats::ClusterShare(shares, bootstrap);
  bootstrap.unit = options.target_unit;
  calibration.half_width = stats::ClusterRatio(width_sums, bootstrap);
  return calibration;
}

}  // namespace stepslack::quality
