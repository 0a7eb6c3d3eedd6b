#include "stepslack/stats/calibration_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/stats/forecast_scores.h"
#include "stepslack/stats/recalibration.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
using Labels = std::vector<int>;
constexpr double kTight = 1e-12;

TEST(CalibrationError, IsTheGapOfOneBin) {
  const auto error = ComputeCalibrationError(Values{0.2, 0.4}, Labels{0, 1}, 1,
                                             CalibrationBins::kEqualMass);
  EXPECT_NEAR(*error.ece, 0.2, kTight);
  EXPECT_NEAR(*error.l2, 0.2, kTight);
  EXPECT_NEAR(*error.squared_debiased, 0.04 - 0.25, kTight);
  EXPECT_EQ(error.l2_debiased, 0);
  EXPECT_EQ(error.method, "1 bins, equal mass");
}

TEST(CalibrationError, PutsAForecastOnAnEdgeWhereItsConventionSays) {
  const auto bins_of = [&](CalibrationBins kind) {
    return ComputeCalibrationError(Values{0.2, 0.21}, Labels{0, 0}, 5, kind)
        .bins.size();
  };
  EXPECT_EQ(bins_of(CalibrationBins::kWidthRightClosed), 2U);
  EXPECT_EQ(bins_of(CalibrationBins::kWidthLeftClosed), 1U);
}

TEST(CalibrationError, DoesNotDebiasBinsOfOneValue) {
  const auto error = ComputeCalibrationError(Values{0.2, 0.4}, Labels{0, 1}, 2,
                                             CalibrationBins::kEqualMass);
  EXPECT_FALSE(error.l2_debiased.has_value());
  EXPECT_TRUE(error.l2.has_value());
}

TEST(CalibrationError, RefusesWhatIsNoForecast) {
  for (const Values& p : {Values{}, Values{1.5}, Values{NAN}, Values{0.1, 0.2}}) {
    EXPECT_FALSE(ComputeCalibrationError(p, Labels{1}, 5, CalibrationBins::kEqualMass)
                     .ece.has_value());
  }
  EXPECT_TRUE(std::isnan(BrierScore(Values{0.5}, Labels{2})));
}

TEST(CalibrationError, DebiasingRemovesMostOfTheErrorOfAPerfectForecast) {
  // 2000 calibrated forecasts in 100 bins of 20: plain squares are about p (1 - p) /
  // 20, some 0.0083; debiased they are 0 but for noise of a thousandth.
  base::Random random(5);
  Values p;
  Labels y;
  for (int i = 0; i < 2000; ++i) {
    p.push_back(random.Uniform());
    y.push_back(random.Uniform() < p.back() ? 1 : 0);
  }
  const auto error = ComputeCalibrationError(p, y, 100, CalibrationBins::kEqualMass);
  EXPECT_NEAR(*error.l2 * *error.l2, 0.0083, 0.003);
  EXPECT_NEAR(*error.squared_debiased, 0, 0.003);
}

TEST(Brier, DecomposesExactlyOverDistinctForecasts) {
  const Values p = {0.25, 0.25, 0.75, 0.75};
  const Labels y = {0, 1, 1, 1};
  const auto parts = DecomposeBrier(p, y);
  EXPECT_NEAR(parts->reliability, 0.0625, kTight);
  EXPECT_NEAR(parts->resolution, 0.0625, kTight);
  EXPECT_NEAR(parts->uncertainty, 0.1875, kTight);
  EXPECT_NEAR(BrierScore(p, y), 0.1875, kTight);
  EXPECT_NEAR(BrierSkill(p, y), 0, kTight);
  EXPECT_EQ(RoundForecasts(Values{0.25, 0.75}, 2), (Values{0, 1}));  // halves to even
}

TEST(LogLoss, ClipsCertainty) {
  EXPECT_NEAR(LogLoss(Values{0.5, 1}, Labels{1, 1}), std::log(2) / 2, 1e-12);
  EXPECT_NEAR(LogLoss(Values{0}, Labels{1}), -std::log(1e-15), 1e-9);
}

TEST(Spiegelhalter, HasNoAnswerWhenNothingVaries) {
  EXPECT_FALSE(SpiegelhalterTest(Values{0.5, 1}, Labels{1, 1}).z.has_value());
  // One forecast of 0.2 that came true: (0.8)(0.6) / sqrt(0.36 * 0.16) = 2.
  EXPECT_NEAR(*SpiegelhalterTest(Values{0.2}, Labels{1}).z, 2, kTight);
}

TEST(Crps, OfAnEnsembleOfOneIsItsAbsoluteError) {
  EXPECT_NEAR(CrpsEnsemble(Values{2}, 5, EnsembleCrps::kPlain), 3, kTight);
  EXPECT_TRUE(std::isnan(CrpsEnsemble(Values{2}, 5, EnsembleCrps::kFair)));
  // At z = 0: sigma (sqrt(2 / pi) - 1 / sqrt(pi)).
  EXPECT_NEAR(CrpsGaussian({1, 2}, 1), 2 * (std::sqrt(2.0) - 1) / std::sqrt(M_PI),
              kTight);
  EXPECT_TRUE(std::isnan(CrpsGaussian({1, 0}, 1)));
}

TEST(PinballLoss, WeighsBothSides) {
  EXPECT_NEAR(PinballLoss(0.9, 1, 2), 0.9, kTight);
  EXPECT_NEAR(PinballLoss(0.9, 2, 1), 0.1, kTight);
  EXPECT_NEAR(IntervalScore(0, 1, 0.5, 0.1), 1, kTight);
  EXPECT_NEAR(IntervalScore(0, 1, -0.1, 0.1), 3, kTight);
}

TEST(SplitConformal, CoversAsPromisedOnExchangeableScores) {
  // 19 scores and one new: at alpha 0.1 it stays below the 18th with chance 18/20.
  base::Random random(9);
  int covered = 0;
  for (int i = 0; i < 4000; ++i) {
    Values scores;
    for (int j = 0; j < 19; ++j) scores.push_back(random.Uniform());
    covered += random.Uniform() <= SplitConformalQuantile(scores, 0.1)->value ? 1 : 0;
  }
  EXPECT_NEAR(covered / 4000.0, 0.9, 0.02);  // four standard errors
  EXPECT_FALSE(SplitConformalQuantile({}, 0.1).has_value());
}

TEST(Isotonic, PoolsViolatorsAndInterpolates) {
  const auto fit = IsotonicFit::Fit(Values{1, 2, 3, 3}, Values{1, 0, 2, 4});
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->x(), (Values{1, 2, 3}));
  EXPECT_EQ(fit->fitted(), (Values{0.5, 0.5, 3}));
  EXPECT_NEAR((*fit)(2.5), 1.75, kTight);
  EXPECT_EQ((*fit)(-9), 0.5);
  EXPECT_EQ((*fit)(9), 3);
  const auto weighted = IsotonicFit::Fit(Values{1, 2}, Values{1, 0}, Values{3, 1});
  EXPECT_EQ(weighted->fitted(), (Values{0.75, 0.75}));
  EXPECT_FALSE(IsotonicFit::Fit(Values{1}, Values{1}, Values{0}).has_value());
}

TEST(FitTemperature, FindsTheClosedFormOfTwoClasses) {
  // Logits (1, 0), three of four right: 1 / T = ln 3.
  const Values logits = {1, 0, 1, 0, 1, 0, 1, 0};
  const auto fit = FitTemperature(logits, 2, Labels{0, 0, 0, 1});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->temperature, 1 / std::log(3), 1e-9);
  EXPECT_LE(fit->nll, fit->nll_before);
  EXPECT_EQ(FitTemperature(logits, 2, Labels{0, 0, 0, 0})->method,
            "temperature scaling, minimum of the mean negative log likelihood; at the "
            "end of the searched range");
  EXPECT_FALSE(FitTemperature(logits, 2, Labels{0, 0, 0, 2}).has_value());
}

}  // namespace
}  // namespace stepslack::stats
