// Prediction intervals from residuals on validation families, and the share of unseen
// families' pixels that they really hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/result.h"
#include "stepslack/quality/map_quality.h"

namespace stepslack::quality {

// Split conformal quantile (Papadopoulos 2002; Lei et al. 2018) of exchangeable scores:
// the k-th smallest, k = ceil((n + 1) level); infinite when k > n. NaN for no scores or
// a level outside (0, 1).
double ConformalQuantile(std::span<const double> scores, double level);

struct CalibrationOptions {
  double level = 0.9;  // in (0, 1): wanted coverage
  std::string target_unit = "mV";
  stats::BootstrapOptions bootstrap;  // for the coverage; `unit` is set
};

struct GroupCoverage {
  std::string group;
  int64_t pixels = 0;
  double covered = 0;  // share of pixels inside
};

struct Calibration {
  // Interval of a pixel: prediction +- half_width_factor * mean |prediction| of its
  // map.
  double half_width_factor = 0;
  int64_t calibration_groups = 0;
  // True when there were enough families for the finite-sample rule; else the factor is
  // the plain quantile over families and promises nothing: read `coverage`.
  bool guaranteed = false;
  base::Estimate coverage;  // mean over test families of their share of covered pixels
  base::Estimate half_width;  // mean half width on the test maps, in target_unit
  std::vector<GroupCoverage> groups;  // test families, least covered first
};

// Families, not pixels, are exchangeable. Every validation family gets the same weight
// (pooled distributions of Dunn, Wasserman and Ramdas 2023), and a family yet unseen
// gets one such weight at infinity: the factor is the smallest q with sum over families
// of share(score <= q) >= level * (families + 1). With fewer families than level / (1 -
// level) no finite q meets that; then the + 1 is dropped and `guaranteed` is false.
// Score: |error| / mean |prediction| of the map. Errors: QUAL-0020 level out of range;
// QUAL-0021 all predictions of a map are zero but its labels are not; QUAL-0022 a
// family is in both sets; those of ScoreMaps for maps.
base::Result<Calibration> Calibrate(std::span<const MapView> validation,
                                    std::span<const MapView> test,
                                    const CalibrationOptions& options);

}  // namespace stepslack::quality
