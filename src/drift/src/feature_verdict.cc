#include "feature_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepslack/stats/bootstrap.h"

namespace stepslack::drift {
namespace {

using Bin = RadixHistogram::Bin;

double ShareOfSecond(const Bins& bins) {
  return bins[1].count / (bins[0].count + bins[1].count);
}

// Current minus reference, in the column's unit; NaN for text.
double ShiftOf(const FeatureCells& cells, const Bins& x, const Bins& y) {
  if (cells.kind == DriftKind::kText) return std::nan("");
  if (cells.kind == DriftKind::kMissingShare)
    return ShareOfSecond(y) - ShareOfSecond(x);
  return (QuantileOfBins(y, 0.5) - QuantileOfBins(x, 0.5)) * cells.scale.scale;
}

struct Replicates {
  std::vector<double> distance;
  std::vector<double> shift;
};

Replicates Resampled(const FeatureCells& cells,
                     const std::vector<std::vector<double>>& weights) {
  Replicates out;
  for (const std::vector<double>& weight : weights) {
    const Bins x = cells.Weighted(weight, 0);
    const Bins y = cells.Weighted(weight, 1);
    const double distance = cells.DistanceOf(x, y);
    if (std::isnan(distance)) continue;
    out.distance.push_back(distance * cells.scale.scale);
    const double shift = ShiftOf(cells, x, y);
    if (!std::isnan(shift)) out.shift.push_back(shift);
  }
  std::sort(out.distance.begin(), out.distance.end());
  std::sort(out.shift.begin(), out.shift.end());
  return out;
}

double MeanOf(const std::vector<double>& values) {
  double mean = 0;
  for (double v : values) mean += v / static_cast<double>(values.size());
  return mean;
}

// Percentile limits, moved by `bias`; `least` bounds them from below.
void SetInterval(const std::vector<double>& sorted, double bias, double least,
                 double confidence, base::Estimate& out) {
  if (sorted.size() < 100) return;
  const double tail = (1 - confidence) / 2;
  out.low = std::max(least, stats::QuantileOfSorted(sorted, tail) - bias);
  out.high = std::max(least, stats::QuantileOfSorted(sorted, 1 - tail) - bias);
  out.low = std::min(*out.low, *out.value);
  out.high = std::max(*out.high, *out.value);
}

// Robust standard deviation of the reference: interquartile range / 1.349, else the
// plain one.
double SpreadOf(const FeatureCells& cells) {
  const auto& bins = cells.reference;
  const double robust =
      (QuantileOfBins(bins, 0.75) - QuantileOfBins(bins, 0.25)) / 1.349;
  return (robust > 0 ? robust : DeviationOfBins(bins)) * cells.scale.scale;
}

// A side with one group has no spread between groups to draw from.
bool CanResample(const GroupDesign& design) {
  const auto enough = [&](int64_t own) {
    return own >= 2 || (own == 0 && design.shared() >= 2);
  };
  return enough(design.reference_only()) && enough(design.current_only());
}

std::string Number(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

void Measure(const FeatureCells& cells, const data::Column& reference,
             const GroupDesign& design, const std::vector<std::vector<double>>& weights,
             const DriftOptions& options, FeatureDrift& out) {
  const bool number = cells.kind == DriftKind::kNumber;
  const int64_t groups =
      design.reference_only() + design.current_only() + design.shared();
  out.effect.unit = number && !reference.unit.empty() ? reference.unit : "1";
  if (number && reference.unit.empty()) out.effect.unit = "unit of the column";
  out.effect.confidence = options.confidence;
  out.effect.n = groups;
  out.effect.n_of = "groups";
  out.shift = out.effect;
  out.margin = number ? options.margin * SpreadOf(cells) : options.share_margin;
  const double distance = cells.DistanceOf(cells.reference, cells.current);
  if (std::isnan(distance)) {
    out.effect.method = "a side has no value";
    return;
  }
  out.effect.value = distance * cells.scale.scale;
  const double shift = ShiftOf(cells, cells.reference, cells.current);
  if (!std::isnan(shift)) out.shift.value = shift;
  const std::string_view what = number ? "Wasserstein-1" : "total variation";
  if (!CanResample(design)) {
    out.effect.method = fmt::format("{}; no interval: a side has one group", what);
    return;
  }
  const Replicates replicates = Resampled(cells, weights);
  const double bias =
      replicates.distance.empty() ? 0 : MeanOf(replicates.distance) - *out.effect.value;
  SetInterval(replicates.distance, bias, 0, options.confidence, out.effect);
  out.effect.method =
      fmt::format("{}; bias-corrected group bootstrap, seed {}", what, options.seed);
  if (out.shift.value) {
    SetInterval(replicates.shift, 0, -std::numeric_limits<double>::infinity(),
                options.confidence, out.shift);
    out.shift.method =
        fmt::format("difference of {}; group bootstrap", number ? "medians" : "shares");
  }
}

void Judge(const DriftOptions& options, double least_p, FeatureDrift& out) {
  if (!out.reason.empty()) return;  // abstained already
  if (!out.effect.value || !out.p_adjusted) {
    out.reason = "one of the tables has no value";
    return;
  }
  const double effect = *out.effect.value;
  const bool significant = *out.p_adjusted <= options.alpha;
  const std::string sizes =
      fmt::format("{} of margin {}", Number(effect), Number(out.margin));
  if (significant && effect >= out.margin && effect > 0) {
    out.verdict = DriftVerdict::kDrifted;
    out.reason =
        fmt::format("effect {} and adjusted p {}", sizes, Number(*out.p_adjusted));
    return;
  }
  const bool small =
      effect == 0 || (out.effect.high.has_value() && *out.effect.high < out.margin);
  if (small) {
    out.verdict = DriftVerdict::kNoDrift;
    out.reason = effect == 0 ? "nothing differs"
                 : significant
                     ? fmt::format("a difference is seen, but its effect is {}", sizes)
                     : "the whole interval is below the margin";
    return;
  }
  out.verdict = DriftVerdict::kInconclusive;
  if (least_p > options.alpha) {
    out.reason =
        fmt::format("too few groups: no p below {} can be reached", Number(least_p));
  } else if (!out.effect.high) {
    out.reason = "no interval: a side has one group";
  } else if (effect >= out.margin) {
    out.reason = fmt::format(
        "effect {}, but groups differ as much among themselves (adjusted p {})", sizes,
        Number(*out.p_adjusted));
  } else {
    out.reason = fmt::format("the interval, up to {}, contains the margin {}",
                             Number(*out.effect.high), Number(out.margin));
  }
}

}  // namespace stepslack::drift
