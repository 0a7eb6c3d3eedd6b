// Measures that depend on the order of values only.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace stepslack::stats {

struct RankCorrelation {
  std::optional<double> spearman;  // Pearson's r of the midranks
  // t = r sqrt((n - 2) / (1 - r^2)) against Student's t with n - 2 degrees: rough below
  // ten pairs.
  std::optional<double> spearman_p;
  std::optional<double> kendall_tau_b;  // (C - D) / sqrt((n0 - n1)(n0 - n2))
  std::string method;
};

// Pairs x[i], y[i]; absent below two pairs, for unequal lengths, values that are not
// finite, one side constant, or more than 20,000 pairs (Kendall's tau counts them all).
RankCorrelation RankCorrelate(std::span<const double> x, std::span<const double> y);

struct ClassifierDrift {
  std::optional<double> auc;      // P(current scores higher) + half of ties
  std::optional<double> drift;    // max(2 AUC - 1, 0)
  std::optional<double> null_sd;  // of AUC when nothing drifted and scores are distinct
  std::string method;
};

// Standard deviation of the AUC without drift: sqrt((m + n + 1) / (12 m n)); NaN unless
// m and n are positive. A fixed limit on AUC that ignores it fires on small windows.
double AucNullDeviation(double m, double n);

// A classifier was trained to tell current rows from reference rows; its scores on
// held-out rows of each say how well it can. The scores must be held out, else the
// classifier's own overfitting looks like drift.
ClassifierDrift DomainClassifierDrift(std::span<const double> reference_scores,
                                      std::span<const double> current_scores);

}  // namespace stepslack::stats
