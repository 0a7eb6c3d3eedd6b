// Reference values of calibration, recalibration and forecast scores.
#include <cmath>
#include <string>
#include <vector>

#include "reference_entry.h"
#include "stepslack/stats/calibration_error.h"
#include "stepslack/stats/forecast_scores.h"
#include "stepslack/stats/kolmogorov_smirnov.h"
#include "stepslack/stats/recalibration.h"

namespace stepslack::stats {
namespace {

using base::Json;

int BinsOf(const Entry& e) { return static_cast<int>(e.inputs()["bins"].AsInt()); }

void EqualWidth(Entry& e) {
  const auto p = e.Input("p");
  const auto y = Labels(e.inputs()["y"]);
  const auto expect = [&](CalibrationBins kind, const Json& expected) {
    const auto error = ComputeCalibrationError(p, y, BinsOf(e), kind);
    EXPECT_EQ(error.bins.size(), 5U);  // 1.0 opens no sixth bin
    EXPECT_NEAR(*error.ece, expected["ece"].AsDouble(), e.tolerance());
    EXPECT_NEAR(*error.mce, expected["mce"].AsDouble(), e.tolerance());
    EXPECT_NEAR(*error.l2, expected["l2"].AsDouble(), e.tolerance());
  };
  expect(CalibrationBins::kWidthRightClosed, e.expected()["right_closed"]);
  expect(CalibrationBins::kWidthLeftClosed, e.expected()["left_closed"]);
}

void ExpectEqualMass(const Entry& e, const Values& p) {
  const auto error = ComputeCalibrationError(p, Labels(e.inputs()["y"]), BinsOf(e),
                                             CalibrationBins::kEqualMass);
  e.ExpectNumber(*error.ece, "ece_equal_mass");
  e.ExpectNumber(*error.l2, "l2_plugin");
  e.ExpectNumber(*error.squared_debiased, "squared_debiased");
  e.ExpectNumber(*error.l2_debiased, "l2_debiased");
}

void EqualMass(Entry& e) { ExpectEqualMass(e, e.Input("p")); }

void DebiasedPositive(Entry& e) {
  Values p;
  const int64_t n = e.inputs()["n"].AsInt();
  for (int64_t i = 0; i < n; ++i) {
    p.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  }
  ExpectEqualMass(e, p);
}

void ConsistencyBars(Entry& e) {
  const auto error = ComputeCalibrationError(e.Input("p"), Labels(e.inputs()["y"]),
                                             BinsOf(e), CalibrationBins::kEqualMass);
  const auto& bars = e.expected()["bars"].AsArray();
  ASSERT_EQ(error.bins.size(), bars.size());
  for (size_t b = 0; b < bars.size(); ++b) {
    const Values ends = Numbers(bars[b]);
    EXPECT_NEAR(error.bins[b].bar_low, ends.at(0), e.tolerance()) << b;
    EXPECT_NEAR(error.bins[b].bar_high, ends.at(1), e.tolerance()) << b;
    EXPECT_NEAR(error.bins[b].observed, e.List("observed").at(b), e.tolerance()) << b;
  }
}

void Brier(Entry& e) {
  const auto p = e.Input("p");
  const auto y = Labels(e.inputs()["y"]);
  e.ExpectNumber(BrierScore(p, y), "brier");
  e.ExpectNumber(BrierSkill(p, y), "brier_skill");
  e.ExpectNumber(LogLoss(p, y), "log_loss_clip_1e-15");
  const Json& expected = e.expected()["rounded"];
  const Values rounded = RoundForecasts(p, 5);
  e.ExpectValues(rounded, Numbers(expected["p"]));
  const auto parts = DecomposeBrier(rounded, y);
  ASSERT_TRUE(parts.has_value());
  EXPECT_NEAR(parts->reliability, expected["reliability"].AsDouble(), e.tolerance());
  EXPECT_NEAR(parts->resolution, expected["resolution"].AsDouble(), e.tolerance());
  EXPECT_NEAR(parts->uncertainty, expected["uncertainty"].AsDouble(), e.tolerance());
  EXPECT_NEAR(parts->reliability - parts->resolution + parts->uncertainty,
              expected["sum"].AsDouble(), e.tolerance());
  EXPECT_NEAR(BrierScore(rounded, y), expected["brier"].AsDouble(), e.tolerance());
}

void Spiegelhalter(Entry& e) {
  const auto test = SpiegelhalterTest(e.Input("p"), Labels(e.inputs()["y"]));
  e.ExpectNumber(*test.z, "z");
  e.ExpectNumber(*test.p, "p");
}

void Isotonic(Entry& e) {
  const auto fit = IsotonicFit::Fit(e.Input("x"), e.Input("y"));
  ASSERT_TRUE(fit.has_value());
  e.ExpectValues(fit->fitted(), e.List("fitted"));
}

void Temperature(Entry& e) {
  Values logits;
  for (const Json& row : e.inputs()["logits"].AsArray()) {
    for (double v : Numbers(row)) logits.push_back(v);
  }
  const auto fit = FitTemperature(logits, 3, Labels(e.inputs()["label"]));
  ASSERT_TRUE(fit.has_value());
  e.ExpectNumber(fit->temperature, "T");
  e.ExpectNumber(fit->nll, "nll_T");
  e.ExpectNumber(fit->nll_before, "nll_1");
}

std::vector<GaussianForecast> Forecasts(const Entry& e) {
  const Values mu = e.Input("mu");
  const Values sigma = e.Input("sigma");
  std::vector<GaussianForecast> forecasts;
  for (size_t i = 0; i < mu.size(); ++i) forecasts.push_back({mu[i], sigma.at(i)});
  return forecasts;
}

void GaussianCrps(Entry& e) {
  const auto forecasts = Forecasts(e);
  const Values y = e.Input("y");
  Values crps;
  Values pit;
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    crps.push_back(CrpsGaussian(forecasts.at(i), y[i]));
    pit.push_back(PitGaussian(forecasts.at(i), y[i]));
    sum += crps.back();
  }
  e.ExpectValues(crps, e.List("crps"));
  e.ExpectValues(pit, e.List("pit"));
  e.ExpectNumber(sum / static_cast<double>(y.size()), "mean");
  e.ExpectNumber(KsDistanceToUniform(pit), "ks_pit_vs_uniform_D");
}

void EnsembleScores(Entry& e) {
  const Values ensemble = e.Input("ensemble");
  const double y = e.inputs()["y"].AsDouble();
  e.ExpectNumber(CrpsEnsemble(ensemble, y, EnsembleCrps::kPlain), "crps");
  e.ExpectNumber(CrpsEnsemble(ensemble, y, EnsembleCrps::kFair), "fair");
}

void QuantileScores(Entry& e) {
  const Values tau = e.Input("tau");
  const Values q = e.Input("q");
  Values losses;
  for (size_t i = 0; i < tau.size(); ++i) {
    losses.push_back(PinballLoss(tau[i], q.at(i), e.inputs()["y"].AsDouble()));
  }
  e.ExpectValues(losses, e.List("pinball"));
  const Values interval = e.Input("interval90");
  e.ExpectNumber(IntervalScore(interval.at(0), interval.at(1),
                               e.inputs()["y_out"].AsDouble(), 0.1),
                 "interval_score");
}

void Coverage(Entry& e) {
  const auto curve =
      ComputeCoverageCurve(Forecasts(e), e.Input("y"), e.Input("levels"));
  e.ExpectValues(curve.observed, e.List("observed"));
  e.ExpectNumber(*curve.mean_absolute_error, "mace");
}

void CoverageAt100Levels(Entry& e) {
  const auto curve = ComputeCoverageCurve(Forecasts(e), e.Input("y"), EvenLevels(100));
  e.ExpectNumber(*curve.mean_absolute_error, "mace");
  e.ExpectNumber(*curve.root_mean_square_error, "rmsce");
}

void Conformal(Entry& e) {
  const Values scores = e.Input("scores");
  for (const auto& [key, expected] : e.expected().AsObject()) {
    const auto quantile = SplitConformalQuantile(scores, std::stod(key));
    ASSERT_TRUE(quantile.has_value());
    EXPECT_EQ(quantile->rank, expected["rank"].AsInt()) << key;
    if (expected["qhat"].AsString() == "inf") {
      EXPECT_TRUE(std::isinf(quantile->value)) << key;
    } else {
      EXPECT_NEAR(quantile->value, expected["qhat"].AsDouble(NAN), e.tolerance());
    }
  }
  EXPECT_EQ(e.expected().AsObject().size(), e.Input("alpha").size());
}

}  // namespace

ReferenceChecks CalibrationChecks() {
  return {
      {"ece_equal_width", EqualWidth},
      {"ece_equal_mass_and_debiased", EqualMass},
      {"l2_calibration_debiased_positive", DebiasedPositive},
      {"consistency_bars", ConsistencyBars},
      {"brier_logloss_murphy", Brier},
      {"spiegelhalter_z", Spiegelhalter},
      {"isotonic_pav", Isotonic},
      {"temperature_scaling", Temperature},
      {"crps_gaussian", GaussianCrps},
      {"crps_ensemble", EnsembleScores},
      {"pinball_and_interval_score", QuantileScores},
      {"interval_coverage_curve", Coverage},
      {"mace_100_levels", CoverageAt100Levels},
      {"split_conformal_quantile", Conformal},
  };
}

}  // namespace stepslack::stats
