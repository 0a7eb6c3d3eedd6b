#include "stepslack/stats/calibration_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxBins = 10'000;

bool Usable(std::span<const double> p, std::span<const int> y) {
  if (p.empty() || p.size() != y.size()) return false;
  const bool forecasts =
      std::all_of(p.begin(), p.end(), [](double v) { return v >= 0 && v <= 1; });
  return forecasts &&
         std::all_of(y.begin(), y.end(), [](int v) { return v == 0 || v == 1; });
}

// Bin of every forecast.
std::vector<size_t> AssignBins(std::span<const double> p, int bins,
                               CalibrationBins kind) {
  const auto count = static_cast<size_t>(bins);
  std::vector<size_t> bin(p.size());
  if (kind == CalibrationBins::kEqualMass) {
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return p[a] < p[b]; });
    for (size_t b = 0; b < count; ++b) {
      const size_t end = (b + 1) * p.size() / count;
      for (size_t i = b * p.size() / count; i < end; ++i) bin[order[i]] = b;
    }
    return bin;
  }
  // Edges are compared as b / bins, so a forecast that is written like an edge is on
  // it.
  const auto edge = [&](size_t b) {
    return static_cast<double>(b) / static_cast<double>(bins);
  };
  for (size_t i = 0; i < p.size(); ++i) {
    auto b = std::min(static_cast<size_t>(p[i] * bins), count - 1);
    if (kind == CalibrationBins::kWidthRightClosed) {
      while (b > 0 && p[i] <= edge(b)) --b;
      while (b + 1 < count && p[i] > edge(b + 1)) ++b;
    } else {
      while (b > 0 && p[i] < edge(b)) --b;
      while (b + 1 < count && p[i] >= edge(b + 1)) ++b;
    }
    bin[i] = b;
  }
  return bin;
}

// Least k with P(K <= k) >= level, over n.
double BinomialQuantileShare(double level, int64_t n, double p) {
  int64_t low = 0;
  int64_t high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (BinomialCdf(middle, n, p) >= level) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<double>(low) / static_cast<double>(n);
}

std::vector<ReliabilityBin> FillBins(std::span<const double> p, std::span<const int> y,
                                     int bins, CalibrationBins kind) {
  const std::vector<size_t> bin_of = AssignBins(p, bins, kind);
  std::vector<ReliabilityBin> all(static_cast<size_t>(bins));
  for (size_t i = 0; i < p.size(); ++i) {
    ReliabilityBin& bin = all[bin_of[i]];
    ++bin.n;
    bin.mean_forecast += p[i];
    bin.observed += y[i];
  }
  std::erase_if(all, [](const ReliabilityBin& bin) { return bin.n == 0; });
  for (ReliabilityBin& bin : all) {
    const double n = static_cast<double>(bin.n);
    bin.mean_forecast = std::min(1.0, bin.mean_forecast / n);
    bin.observed /= n;
    bin.bar_low = BinomialQuantileShare(0.05, bin.n, bin.mean_forecast);
    bin.bar_high = BinomialQuantileShare(0.95, bin.n, bin.mean_forecast);
  }
  return all;
}

}  // namespace

std::string_view ToString(CalibrationBins bins) {
  switch (bins) {
    case CalibrationBins::kEqualMass:
      return "equal mass";
    case CalibrationBins::kWidthRightClosed:
      return "equal width, (lo, hi]";
    case CalibrationBins::kWidthLeftClosed:
      return "equal width, [lo, hi)";
  }
  return "";
}

CalibrationError ComputeCalibrationError(std::span<const double> p,
                                         std::span<const int> y, int bins,
                                         CalibrationBins kind) {
  CalibrationError error;
  if (!Usable(p, y) || bins < 1 || bins > kMaxBins) {
    error.method = "needs forecasts in [0, 1], one 0 or 1 for each, 1 to 10,000 bins";
    return error;
  }
  error.bins = FillBins(p, y, bins, kind);
  const double n = static_cast<double>(p.size());
  double ece = 0;
  double mce = 0;
  double squares = 0;
  double bias = 0;
  bool single = false;
  for (const ReliabilityBin& bin : error.bins) {
    const double weight = static_cast<double>(bin.n) / n;
    const double gap = std::fabs(bin.mean_forecast - bin.observed);
    ece += weight * gap;
    mce = std::max(mce, gap);
    squares += weight * gap * gap;
    single = single || bin.n == 1;
    if (bin.n > 1) {
      bias +=
          weight * bin.observed * (1 - bin.observed) / static_cast<double>(bin.n - 1);
    }
  }
  error.ece = ece;
  error.mce = mce;
  error.l2 = std::sqrt(squares);
  if (!single) {
    error.squared_debiased = squares - bias;
    error.l2_debiased = std::sqrt(std::max(0.0, squares - bias));
  }
  error.method = fmt::format("{} bins, {}{}", bins, ToString(kind),
                             single ? "; a bin of one value is not debiased" : "");
  return error;
}

double BrierScore(std::span<const double> p, std::span<const int> y) {
  if (!Usable(p, y)) return kNan;
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += (p[i] - y[i]) * (p[i] - y[i]);
  return sum / static_cast<double>(p.size());
}

double BrierSkill(std::span<const double> p, std::span<const int> y) {
  if (!Usable(p, y)) return kNan;
  const double share =
      std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  if (share == 0 || share == 1) return kNan;
  return 1 - BrierScore(p, y) / (share * (1 - share));
}

double LogLoss(std::span<const double> p, std::span<const int> y, double clip) {
  if (!Usable(p, y) || !(clip >= 0 && clip < 0.5)) return kNan;
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double clipped = std::clamp(p[i], clip, 1 - clip);
    sum -= y[i] == 1 ? std::log(clipped) : std::log1p(-clipped);
  }
  return sum / static_cast<double>(p.size());
}

std::optional<MurphyParts> DecomposeBrier(std::span<const double> p,
                                          std::span<const int> y) {
  if (!Usable(p, y)) return std::nullopt;
  struct Group {
    double n = 0;
    double ones = 0;
  };
  std::map<double, Group> groups;
  double ones = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    Group& group = groups[p[i]];
    group.n += 1;
    group.ones += y[i];
    ones += y[i];
  }
  const double n = static_cast<double>(p.size());
  const double share = ones / n;
  MurphyParts parts;
  for (const auto& [forecast, group] : groups) {
    const double observed = group.ones / group.n;
    parts.reliability += group.n / n * (forecast - observed) * (forecast - observed);
    parts.resolution += group.n / n * (observed - share) * (observed - share);
  }
  parts.uncertainty = share * (1 - share);
  return parts;
}

std::vector<double> RoundForecasts(std::span<const double> p, int parts) {
  std::vector<double> rounded;
  if (parts < 1) return rounded;
  for (double v : p) {
    const double scaled = v * parts;
    double whole = std::floor(scaled);
    const double rest = scaled - whole;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)) whole += 1;
    rounded.push_back(whole / parts);
  }
  return rounded;
}

SpiegelhalterResult SpiegelhalterTest(std::span<const double> p,
                                      std::span<const int> y) {
  SpiegelhalterResult result;
  if (!Usable(p, y)) {
    result.method = "needs forecasts in [0, 1] and one 0 or 1 for each";
    return result;
  }
  double sum = 0;
  double variance = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double slope = 1 - 2 * p[i];
    sum += (y[i] - p[i]) * slope;
    variance += slope * slope * p[i] * (1 - p[i]);
  }
  if (!(variance > 0)) {
    result.method = "all forecasts are 0, 1/2 or 1";
    return result;
  }
  const double z = sum / std::sqrt(variance);
  result.z = z;
  result.p = 2 * NormalCdf(-std::fabs(z));
  result.method = "Spiegelhalter Z, two-sided normal p";
  return result;
}

}  // namespace stepslack::stats
