#include "stepslack/stats/rank_measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "midranks.h"
#include "sample.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

constexpr size_t kMaxKendallPairs = 20'000;

double Pearson(std::span<const double> x, std::span<const double> y) {
  const double mx = Mean(x);
  const double my = Mean(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

int Sign(double v) { return (v > 0) - (v < 0); }

double KendallTauB(std::span<const double> x, std::span<const double> y) {
  double score = 0;
  double untied_x = 0;
  double untied_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = i + 1; j < x.size(); ++j) {
      const int a = Sign(x[i] - x[j]);
      const int b = Sign(y[i] - y[j]);
      score += a * b;
      untied_x += a != 0 ? 1 : 0;
      untied_y += b != 0 ? 1 : 0;
    }
  }
  return score / std::sqrt(untied_x * untied_y);
}

bool IsConstant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](double v) { return v == values.front(); });
}

}  // namespace

RankCorrelation RankCorrelate(std::span<const double> x, std::span<const double> y) {
  RankCorrelation result;
  if (x.size() != y.size() || x.size() < 2) {
    result.method = "needs two samples of one length, two pairs at least";
  } else if (!AllFinite(x) || !AllFinite(y)) {
    result.method = "a value is not finite";
  } else if (x.size() > kMaxKendallPairs) {
    result.method = "more than 20,000 pairs";
  } else if (IsConstant(x) || IsConstant(y)) {
    result.method = "all values of a side are equal";
  }
  if (!result.method.empty()) return result;
  const double r = Pearson(Midranks(x), Midranks(y));
  result.spearman = r;
  const double degrees = static_cast<double>(x.size()) - 2;
  if (degrees > 0) {
    const double t = r * std::sqrt(degrees / std::max(0.0, 1 - r * r));
    result.spearman_p = std::fabs(r) == 1 ? 0.0 : StudentTwoSidedP(t, degrees);
  }
  result.kendall_tau_b = KendallTauB(x, y);
  result.method = "Spearman on midranks, p from Student's t; Kendall tau-b";
  return result;
}

double AucNullDeviation(double m, double n) {
  if (!(m > 0 && n > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt((m + n + 1) / (12 * m * n));
}

ClassifierDrift DomainClassifierDrift(std::span<const double> reference_scores,
                                      std::span<const double> current_scores) {
  ClassifierDrift result;
  if (reference_scores.empty() || current_scores.empty() ||
      !AllFinite(reference_scores) || !AllFinite(current_scores)) {
    result.method = "a side has no scores, or one is not finite";
    return result;
  }
  std::vector<double> pooled(current_scores.begin(), current_scores.end());
  pooled.insert(pooled.end(), reference_scores.begin(), reference_scores.end());
  const std::vector<double> ranks = Midranks(pooled);
  const double m = static_cast<double>(current_scores.size());
  const double n = static_cast<double>(reference_scores.size());
  double sum = 0;
  for (size_t i = 0; i < current_scores.size(); ++i) sum += ranks[i];
  const double auc = (sum - m * (m + 1) / 2) / (m * n);
  result.auc = auc;
  result.drift = std::max(0.0, 2 * auc - 1);
  result.null_sd = AucNullDeviation(m, n);
  result.method = "AUC with half credit for ties; drift = max(2 AUC - 1, 0)";
  return result;
}

}  // namespace stepslack::stats
