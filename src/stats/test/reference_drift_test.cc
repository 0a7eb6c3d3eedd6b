// Reference values of distances and tests between two samples.
#include <cmath>
#include <string>
#include <vector>

#include "reference_entry.h"
#include "stepslack/stats/anderson_darling.h"
#include "stepslack/stats/contingency.h"
#include "stepslack/stats/cramer_von_mises.h"
#include "stepslack/stats/histogram_distance.h"
#include "stepslack/stats/kernel_mmd.h"
#include "stepslack/stats/kolmogorov_smirnov.h"
#include "stepslack/stats/rank_measures.h"
#include "stepslack/stats/sample_distance.h"

namespace stepslack::stats {
namespace {

using base::Json;

void KsExact(Entry& e) {
  const auto test = KsTest(e.Input("x"), e.Input("y"));
  EXPECT_TRUE(test.exact);
  e.ExpectNumber(*test.statistic, "D");
  e.ExpectNumber(*test.p, "p");
  e.ExpectNumber(*test.p, "R_p_exact");
}

void KsAsymptotic(Entry& e) {
  const Values x = e.Input("x");
  const Values y = e.Input("y");
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  const double d = KsDistance(x, y);
  e.ExpectNumber(d, "D");
  e.ExpectNumber(KsOneSampleP(d, std::lround(m * n / (m + n))), "p_scipy_asymp");
  e.ExpectNumber(KsLimitP(d, m, n), "p_plain_kolmogorov");
  e.ExpectNumber(*KsTest(x, y, {.max_exact_product = 0}).p, "p_plain_kolmogorov");
}

void KsTies(Entry& e) {
  const Values x = e.Input("x");
  const Values y = e.Input("y");
  const double d = KsDistance(x, y);
  e.ExpectNumber(d, "D");
  const double ignoring =
      KsExactP(d, static_cast<int64_t>(x.size()), static_cast<int64_t>(y.size()));
  e.ExpectNumber(ignoring, "p_scipy_exact");
  EXPECT_LT(*KsTest(x, y).p, ignoring);  // SciPy's is conservative under ties
}

void KsGrowingSamples(Entry& e) {
  const double d = e.inputs()["D"].AsDouble();
  for (double n : e.Input("n_each")) {
    const std::string key = std::to_string(static_cast<int64_t>(n));
    e.ExpectNumber(KsLimitP(d, n, n), key);
  }
  // Below the absolute tolerance: relative here.
  EXPECT_NEAR(KsLimitP(d, 1e5, 1e5) / e.Number("100000"), 1, 1e-9);
}

void CramerVonMises(Entry& e) {
  const auto test = CramerVonMisesTest(e.Input("x"), e.Input("y"));
  EXPECT_TRUE(test.exact);
  e.ExpectNumber(*test.statistic, "T");
  e.ExpectNumber(*test.p, "p");
}

void AndersonDarling(Entry& e) {
  e.ExpectNumber(AndersonDarlingStatistic(e.Input("x"), e.Input("y")), "A2kN");
}

void Wasserstein(Entry& e) {
  const Values x = e.Input("x");
  const Values y = e.Input("y");
  e.ExpectNumber(Wasserstein1(x, y), "W1");
  e.ExpectNumber(NormalisedWasserstein1(x, y), "W1_over_std_ref");
  e.ExpectNumber(Wasserstein1(x, y) / NormalisedWasserstein1(x, y), "std_ref_ddof0");
}

void WassersteinScaled(Entry& e) {
  e.ExpectNumber(RangeScaledWasserstein1(e.Input("x"), e.Input("y")), "W1_scaled");
}

void WassersteinFloor(Entry& e) {
  const Values x = e.Input("x_farad");
  const Values y = e.Input("y_farad");
  const double with_floor = NormalisedWasserstein1(x, y, 0.001);
  e.ExpectNumber(with_floor, "with_floor_0.001");
  EXPECT_NEAR(with_floor / e.Number("with_floor_0.001"), 1, 1e-9);
  e.ExpectNumber(NormalisedWasserstein1(x, y), "without_floor");
}

void Energy(Entry& e) {
  e.ExpectNumber(EnergyDistance(e.Input("x"), e.Input("y")), "E");
}

void PsiCounts(Entry& e) {
  const Values p = e.Input("expected");
  const Values q = e.Input("actual");
  e.ExpectNumber(PopulationStabilityIndex(p, q, EmptyBins::kNone), "psi");
  e.ExpectNumber(PopulationStabilityIndex(p, q, EmptyBins::kFill1e4), "psi");
}

void PsiZeroBins(Entry& e) {
  const auto psi = [&](EmptyBins convention) {
    return PopulationStabilityIndex(e.Input("expected"), e.Input("actual"), convention);
  };
  e.ExpectNumber(psi(EmptyBins::kFloor0_01), "floor_0.01");
  e.ExpectNumber(psi(EmptyBins::kFill1e4), "fill_1e-4");
  e.ExpectNumber(psi(EmptyBins::kAddHalf), "laplace_0.5");
  e.ExpectNumber(psi(EmptyBins::kFill1e6), "fill_1e-6");
  EXPECT_TRUE(std::isinf(psi(EmptyBins::kNone)));
}

void PsiQuantileBins(Entry& e) {
  const Values x = e.Input("x");
  const Values y = e.Input("y");
  const Values edges = QuantileEdges(x, static_cast<int>(e.inputs()["bins"].AsInt()));
  e.ExpectValues(edges, e.List("inner_edges"));
  const Values of_x = CountInBins(x, edges);
  const Values of_y = CountInBins(y, edges);
  e.ExpectValues(of_x, e.List("counts_x"));
  e.ExpectValues(of_y, e.List("counts_y"));
  e.ExpectNumber(PopulationStabilityIndex(of_x, of_y), "psi_laplace_0.5");
}

void PsiNull(Entry& e) {
  for (double bins : e.Input("bins")) {
    for (double n : e.Input("n_each")) {
      const auto whole_bins = static_cast<int64_t>(bins);
      const std::string key = "bins" + std::to_string(whole_bins) + "_n" +
                              std::to_string(static_cast<int64_t>(n));
      e.ExpectNumber(PsiWithoutDrift(whole_bins, n, n), key);
    }
  }
}

void JensenShannon(Entry& e) {
  const Values p = e.Input("p");
  const Values q = e.Input("q");
  e.ExpectNumber(JensenShannonDistance(p, q), "distance_base_e");
  e.ExpectNumber(JensenShannonDistance(p, q, 2), "distance_base_2");
  e.ExpectNumber(JensenShannonDivergence(p, q), "divergence_base_e");
}

void OtherHistogramDistances(Entry& e) {
  const Values p = e.Input("p");
  const Values q = e.Input("q");
  e.ExpectNumber(HellingerDistance(p, q), "hellinger");
  e.ExpectNumber(TotalVariation(p, q), "tvd");
  e.ExpectNumber(LargestDifference(p, q), "linf");
  e.ExpectNumber(KullbackLeibler(p, q), "kl_pq");
}

Values Flat(const Json& rows) {
  Values all;
  for (const Json& row : rows.AsArray()) {
    for (double v : Numbers(row)) all.push_back(v);
  }
  return all;
}

void Homogeneity(Entry& e) {
  const auto test = ChiSquaredTest(Flat(e.inputs()["table"]), 2);
  e.ExpectNumber(*test.chi2, "chi2");
  e.ExpectNumber(*test.p, "p");
  EXPECT_EQ(test.degrees, e.expected()["df"].AsInt());
  e.ExpectNumber(*test.cramers_v, "cramers_v");
  e.ExpectNumber(*test.cramers_v_corrected, "cramers_v_corrected");
}

void TwoByTwo(Entry& e) {
  const Values table = Flat(e.inputs()["table"]);
  const auto plain = ChiSquaredTest(table, 2);
  const auto yates = ChiSquaredTest(table, 2, true);
  e.ExpectNumber(*plain.chi2, "chi2_plain");
  e.ExpectNumber(*plain.p, "p_plain");
  e.ExpectNumber(*yates.chi2, "chi2_yates");
  e.ExpectNumber(*yates.p, "p_yates");
  ASSERT_EQ(table.size(), 4U);
  e.ExpectNumber(
      FisherExactP(static_cast<int64_t>(table[0]), static_cast<int64_t>(table[1]),
                   static_cast<int64_t>(table[2]), static_cast<int64_t>(table[3])),
      "fisher_p");
}

void Mmd(Entry& e) {
  const Values x = Flat(e.inputs()["x"]);
  const Values y = Flat(e.inputs()["y"]);
  const auto result = MmdTest({x, 2}, {y, 2});
  e.ExpectNumber(*result.median_squared_distance, "median_sq_dist");
  e.ExpectNumber(*result.mmd2, "mmd2_u");
  e.ExpectNumber(*result.test.p, "p_exact");
  EXPECT_EQ(result.test.arrangements, e.expected()["n_perm"].AsInt());
}

void DomainClassifier(Entry& e) {
  const Values current = e.Input("is_current");
  const Values score = e.Input("score");
  Values of_reference;
  Values of_current;
  for (size_t i = 0; i < score.size(); ++i) {
    (current[i] == 1 ? of_current : of_reference).push_back(score[i]);
  }
  const auto drift = DomainClassifierDrift(of_reference, of_current);
  e.ExpectNumber(*drift.auc, "auc");
  e.ExpectNumber(*drift.drift, "drift_score");
  e.ExpectNumber(*drift.null_sd, "null_sd");
  e.ExpectNumber(AucNullDeviation(3000, 3000), "null_sd_m=n=3000");
}

void RankCorrelations(Entry& e) {
  const auto r = RankCorrelate(e.Input("x"), e.Input("y"));
  e.ExpectNumber(*r.spearman, "spearman");
  e.ExpectNumber(*r.spearman_p, "spearman_p_t");
  e.ExpectNumber(*r.kendall_tau_b, "kendall_tau_b");
}

}  // namespace

ReferenceChecks DriftChecks() {
  return {
      {"ks_two_sample_exact", KsExact},
      {"ks_two_sample_asymptotic", KsAsymptotic},
      {"ks_two_sample_ties", KsTies},
      {"ks_same_effect_growing_n", KsGrowingSamples},
      {"cramer_von_mises_two_sample", CramerVonMises},
      {"anderson_darling_two_sample", AndersonDarling},
      {"wasserstein_1", Wasserstein},
      {"wasserstein_minmax_scaled", WassersteinScaled},
      {"wasserstein_std_floor_hides_si_units", WassersteinFloor},
      {"energy_distance", Energy},
      {"psi_counts", PsiCounts},
      {"psi_zero_bin_conventions", PsiZeroBins},
      {"psi_quantile_bins", PsiQuantileBins},
      {"psi_null_expectation", PsiNull},
      {"jensen_shannon", JensenShannon},
      {"hellinger_tvd_linf_kl", OtherHistogramDistances},
      {"chi2_homogeneity", Homogeneity},
      {"table_2x2", TwoByTwo},
      {"mmd2_unbiased_rbf", Mmd},
      {"domain_classifier_auc", DomainClassifier},
      {"rank_correlation", RankCorrelations},
  };
}

}  // namespace stepslack::stats
