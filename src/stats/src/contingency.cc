#include "stepslack/stats/contingency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sample.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

constexpr int64_t kMaxFisherTotal = 10'000'000;

struct Margins {
  std::vector<double> rows;
  std::vector<double> columns;
  double total = 0;
};

Margins SumUp(std::span<const double> table, size_t rows) {
  const size_t columns = table.size() / rows;
  Margins margins{std::vector<double>(rows, 0), std::vector<double>(columns, 0), 0};
  for (size_t i = 0; i < table.size(); ++i) {
    margins.rows[i / columns] += table[i];
    margins.columns[i % columns] += table[i];
    margins.total += table[i];
  }
  return margins;
}

double CountPositive(std::span<const double> sums) {
  return static_cast<double>(
      std::count_if(sums.begin(), sums.end(), [](double v) { return v > 0; }));
}

double CorrectedV(double chi2, double total, double r, double k) {
  if (total <= 1) return 0;
  const double bias = (r - 1) * (k - 1) / (total - 1);
  const double phi2 = std::max(0.0, chi2 / total - bias);
  const double r_corrected = r - (r - 1) * (r - 1) / (total - 1);
  const double k_corrected = k - (k - 1) * (k - 1) / (total - 1);
  const double divisor = std::min(r_corrected - 1, k_corrected - 1);
  return divisor > 0 ? std::sqrt(phi2 / divisor) : 0;
}

}  // namespace

ContingencyResult ChiSquaredTest(std::span<const double> table, size_t rows,
                                 bool yates) {
  ContingencyResult result;
  const bool negative =
      std::any_of(table.begin(), table.end(), [](double v) { return v < 0; });
  if (rows == 0 || table.empty() || table.size() % rows != 0 || negative ||
      !AllFinite(table)) {
    result.method = "the table is not rectangular, or a count is negative";
    return result;
  }
  const Margins margins = SumUp(table, rows);
  const size_t columns = margins.columns.size();
  const double r = CountPositive(margins.rows);
  const double k = CountPositive(margins.columns);
  if (r < 2 || k < 2) {
    result.method = "fewer than two rows or columns hold counts";
    return result;
  }
  result.degrees = static_cast<int64_t>((r - 1) * (k - 1));
  const bool corrected = yates && result.degrees == 1;
  double plain = 0;
  double chi2 = 0;
  result.least_expected = margins.total;
  for (size_t i = 0; i < table.size(); ++i) {
    const double expected =
        margins.rows[i / columns] * margins.columns[i % columns] / margins.total;
    if (expected <= 0) continue;
    const double gap = std::fabs(table[i] - expected);
    const double reduced = corrected ? std::max(0.0, gap - 0.5) : gap;
    plain += gap * gap / expected;
    chi2 += reduced * reduced / expected;
    result.least_expected = std::min(result.least_expected, expected);
  }
  result.chi2 = chi2;
  result.p = ChiSquaredUpperTail(chi2, static_cast<double>(result.degrees));
  result.cramers_v = std::sqrt(plain / margins.total / std::min(r - 1, k - 1));
  result.cramers_v_corrected = CorrectedV(plain, margins.total, r, k);
  result.method = corrected ? "Pearson chi-squared, Yates continuity correction"
                            : "Pearson chi-squared, no continuity correction";
  return result;
}

double FisherExactP(int64_t a, int64_t b, int64_t c, int64_t d) {
  for (int64_t count : {a, b, c, d}) {
    if (count < 0 || count > kMaxFisherTotal) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  const int64_t first_row = a + b;
  const int64_t first_column = a + c;
  const int64_t total = a + b + c + d;
  if (total > kMaxFisherTotal) return std::numeric_limits<double>::quiet_NaN();
  const int64_t low = std::max<int64_t>(0, first_row + first_column - total);
  const int64_t high = std::min(first_row, first_column);
  // Probabilities relative to the observed table, outwards from it, so that none
  // overflows: P(x + 1) / P(x) = (R - x)(C - x) / ((x + 1)(N - R - C + x + 1)).
  const auto ratio_up = [&](int64_t x) {
    return static_cast<double>(first_row - x) * static_cast<double>(first_column - x) /
           (static_cast<double>(x + 1) *
            static_cast<double>(total - first_row - first_column + x + 1));
  };
  constexpr double kAsLikely = 1 + 1e-7;
  double all = 1;
  double extreme = 1;
  const auto add = [&](double weight) {
    all += weight;
    if (weight <= kAsLikely) extreme += weight;
  };
  double weight = 1;
  for (int64_t x = a; x < high; ++x) add(weight *= ratio_up(x));
  weight = 1;
  for (int64_t x = a; x > low; --x) add(weight /= ratio_up(x - 1));
  if (!std::isfinite(all)) return 0;  // the observed table is below 1e-300
  return std::min(1.0, extreme / all);
}

}  // namespace stepslack::stats
