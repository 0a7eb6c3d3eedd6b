// What holds for every pair of samples, whatever their values.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepslack/stats/calibration_error.h"
#include "stepslack/stats/cramer_von_mises.h"
#include "stepslack/stats/kolmogorov_smirnov.h"
#include "stepslack/stats/paired_tests.h"
#include "stepslack/stats/recalibration.h"
#include "stepslack/stats/sample_distance.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;

// Small integers, so that ties are common.
Values Sample(int most) {
  Values values;
  const auto count = *rc::gen::inRange(1, most);
  for (int i = 0; i < count; ++i) values.push_back(*rc::gen::inRange(-9, 10));
  return values;
}

bool IsP(double p) { return p >= 0 && p <= 1; }

RC_GTEST_PROP(TwoSamples, GivePBetweenZeroAndOneAndDoNotDependOnTheOrder, ()) {
  const Values x = Sample(9);
  const Values y = Sample(9);
  Values reversed(x.rbegin(), x.rend());
  const auto ks = KsTest(x, y);
  const auto cvm = CramerVonMisesTest(x, y);
  const auto energy = EnergyTest(x, y, {.max_enumerated = 100, .resamples = 50});
  RC_ASSERT(IsP(*ks.p) && IsP(*cvm.p) && IsP(*energy.p));
  RC_ASSERT(ks.p == KsTest(reversed, y).p);
  RC_ASSERT(std::fabs(*ks.p - *KsTest(y, x).p) < 1e-12);
  RC_ASSERT(cvm.statistic == CramerVonMisesTest(reversed, y).statistic);
  RC_ASSERT(std::fabs(*cvm.statistic - *CramerVonMisesTest(y, x).statistic) < 1e-9);
  RC_ASSERT(Wasserstein1(x, y) == Wasserstein1(y, x));
}

RC_GTEST_PROP(TwoSamples, RankDistancesIgnoreAMonotoneMap, ()) {
  const Values x = Sample(9);
  const Values y = Sample(9);
  const auto mapped = [](Values values) {
    for (double& v : values) v = v * v * v + 5;
    return values;
  };
  RC_ASSERT(KsDistance(x, y) == KsDistance(mapped(x), mapped(y)));
  RC_ASSERT(CramerVonMisesStatistic(x, y) ==
            CramerVonMisesStatistic(mapped(x), mapped(y)));
}

RC_GTEST_PROP(Wasserstein1, ObeysTheTriangle, ()) {
  const Values x = Sample(9);
  const Values y = Sample(9);
  const Values z = Sample(9);
  RC_ASSERT(Wasserstein1(x, z) <= Wasserstein1(x, y) + Wasserstein1(y, z) + 1e-12);
}

RC_GTEST_PROP(SignedRankTest, IsSymmetricInTheSign, ()) {
  Values differences = Sample(12);
  const auto test = SignedRankTest(differences);
  for (double& d : differences) d = -d;
  const auto mirrored = SignedRankTest(differences);
  RC_ASSERT(test.p.has_value() == mirrored.p.has_value());
  if (!test.p.has_value()) return;
  RC_ASSERT(IsP(*test.p));
  RC_ASSERT(std::fabs(*test.p - *mirrored.p) < 1e-12);
}

RC_GTEST_PROP(IsotonicFit, IsMonotoneAndKeepsTheMean, ()) {
  const Values x = Sample(15);
  Values y;
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    y.push_back(*rc::gen::inRange(0, 5));
    sum += y.back();
  }
  const auto fit = IsotonicFit::Fit(x, y);
  RC_ASSERT(std::is_sorted(fit->fitted().begin(), fit->fitted().end()));
  double fitted_sum = 0;
  for (double v : x) fitted_sum += (*fit)(v);
  RC_ASSERT(std::fabs(fitted_sum - sum) < 1e-9);
}

RC_GTEST_PROP(CalibrationError, CountsEveryForecastOnce, ()) {
  Values p;
  std::vector<int> y;
  const auto count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) {
    p.push_back(*rc::gen::inRange(0, 21) / 20.0);
    y.push_back(*rc::gen::inRange(0, 2));
  }
  for (auto kind : {CalibrationBins::kEqualMass, CalibrationBins::kWidthLeftClosed,
                    CalibrationBins::kWidthRightClosed}) {
    const auto error = ComputeCalibrationError(p, y, *rc::gen::inRange(1, 25), kind);
    int64_t counted = 0;
    for (const auto& bin : error.bins) counted += bin.n;
    RC_ASSERT(counted == count);
    RC_ASSERT(*error.ece <= *error.mce + 1e-12 && *error.ece <= *error.l2 + 1e-12);
  }
}

}  // namespace
}  // namespace stepslack::stats
