// Every entry of the reference values (SciPy and R) that this module can produce.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/stats/bootstrap.h"
#include "stepslack/stats/exact_tests.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/stats/multiple.h"
#include "stepslack/stats/survival.h"

namespace stepslack::stats {
namespace {

using base::Json;
using Values = std::vector<double>;

std::string SharedFolder() {
  if (const char* shared = std::getenv("STEPSLACK_SHARED")) return shared;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : std::string(source) + "/../shared";
}

Values Numbers(const Json& json) {
  Values values;
  for (const Json& item : json.AsArray()) values.push_back(item.AsDouble());
  return values;
}

class Reference : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = SharedFolder() + "/reference/statistics.json";
    if (!base::PathExists(path)) GTEST_SKIP() << "no reference values at " << path;
    auto text = base::ReadFile(path);
    ASSERT_TRUE(text.has_value());
    auto json = base::ParseJson(*text, path);
    ASSERT_TRUE(json.has_value());
    root_ = std::move(*json);
  }

  // Selects an entry; later calls refer to it.
  void Select(std::string_view name) {
    entry_ = root_["values"][name];
    ASSERT_TRUE(entry_.is_object()) << name;
  }
  Values Input(std::string_view key) { return Numbers(entry_["inputs"][key]); }
  double Number(std::string_view key) {
    EXPECT_TRUE(entry_["expected"][key].is_number()) << key;
    return entry_["expected"][key].AsDouble(NAN);
  }
  Values List(std::string_view key) {
    EXPECT_TRUE(entry_["expected"][key].is_array()) << key;
    return Numbers(entry_["expected"][key]);
  }
  double tolerance() { return entry_["tol"].AsDouble(); }
  void ExpectInterval(const base::Estimate& estimate, const Values& expected) {
    ASSERT_TRUE(estimate.low.has_value() && estimate.high.has_value())
        << estimate.method;
    ASSERT_EQ(expected.size(), 2U);
    EXPECT_NEAR(*estimate.low, expected[0], tolerance());
    EXPECT_NEAR(*estimate.high, expected[1], tolerance());
  }

  Json root_;
  Json entry_;
};

TEST_F(Reference, MannWhitneyWithoutTies) {
  Select("mann_whitney_no_ties");
  const auto r = MannWhitney(Input("x"), Input("y"));
  EXPECT_NEAR(*r.u, Number("U_x"), tolerance());
  EXPECT_NEAR(*r.p_exact, Number("p_exact"), tolerance());
  EXPECT_NEAR(*r.p_asymptotic, Number("p_asymptotic"), tolerance());
  EXPECT_NEAR(*r.superiority, Number("cles_P(x>y)+half_ties"), tolerance());
  const auto shift = HodgesLehmannShift(Input("x"), Input("y"), "1", "runs");
  EXPECT_NEAR(*shift.value, Number("hodges_lehmann_x_minus_y"), tolerance());
  ExpectInterval(shift, List("R_exact_ci95"));
}

TEST_F(Reference, MannWhitneyWithTies) {
  Select("mann_whitney_ties");
  const auto r = MannWhitney(Input("x"), Input("y"));
  EXPECT_NEAR(*r.u, Number("U_x"), tolerance());
  EXPECT_NEAR(*r.p_asymptotic, Number("p_asymptotic"), tolerance());
  EXPECT_NEAR(*r.p_asymptotic, Number("R_p"), tolerance());
  const auto shift = HodgesLehmannShift(Input("x"), Input("y"), "1", "runs", 0.98);
  EXPECT_NEAR(*shift.value, Number("R_hl"), tolerance());
  ExpectInterval(shift, List("R_ci98"));
}

TEST_F(Reference, ShiftOfCanaryAgainstBaseline) {
  Select("canary_judge_mann_whitney");
  const auto shift = [&](const char* canary) {
    return HodgesLehmannShift(Input(canary), Input("baseline"), "ms", "runs", 0.98);
  };
  const Json& shifted = entry_["expected"]["shifted"];
  ExpectInterval(shift("canary_shifted"), Numbers(shifted["ci98"]));
  EXPECT_NEAR(*shift("canary_shifted").value, shifted["estimate"].AsDouble(),
              tolerance());
  const Json& same = entry_["expected"]["same"];
  ExpectInterval(shift("canary_same"), Numbers(same["ci98"]));
  // R's root search stops anywhere on the flat stretch between the two middle
  // differences; ours is its midpoint. Both leave 50 of 100 differences above.
  for (double value : {*shift("canary_same").value, same["estimate"].AsDouble()}) {
    int above = 0;
    for (double x : Input("canary_same")) {
      for (double y : Input("baseline")) above += x - y > value ? 1 : 0;
    }
    EXPECT_EQ(above, 50) << value;
  }
}

TEST_F(Reference, ShiftOfThePublishedCanaryCase) {
  Select("canary_judge_published_case");
  const auto shift =
      HodgesLehmannShift(Input("experiment"), Input("control"), "ms", "runs", 0.98);
  EXPECT_NEAR(*shift.value, Number("estimate"), tolerance());
  ExpectInterval(shift, List("ci98"));
}

TEST_F(Reference, WelchAndEffectSizes) {
  Select("welch_t_and_effect");
  const auto r = WelchTest(Input("x"), Input("y"), "1", "runs");
  EXPECT_NEAR(*r.t, Number("t"), tolerance());
  EXPECT_NEAR(*r.p, Number("p"), tolerance());
  EXPECT_NEAR(*r.degrees, Number("df"), tolerance());
  EXPECT_NEAR(*r.cohen_d, Number("cohen_d"), tolerance());
  EXPECT_NEAR(*r.hedges_g, Number("hedges_g"), tolerance());
}

TEST_F(Reference, PermutationTestOfMeanDifference) {
  Select("permutation_test_mean_difference");
  const auto r = PermutationTest(Input("x"), Input("y"));
  EXPECT_NEAR(*r.statistic, Number("stat"), tolerance());
  EXPECT_NEAR(*r.p, Number("p_two_sided"), tolerance());
  EXPECT_EQ(static_cast<double>(r.arrangements), Number("n"));
}

TEST_F(Reference, MonteCarloPRule) {
  Select("monte_carlo_p_value_rule");
  const Values exceed = Input("exceed");
  const Values expected = List("p");
  ASSERT_EQ(exceed.size(), expected.size());
  for (size_t i = 0; i < exceed.size(); ++i) {
    EXPECT_NEAR(
        MonteCarloP(static_cast<int64_t>(exceed[i]), entry_["inputs"]["B"].AsInt()),
        expected[i], tolerance());
  }
}

TEST_F(Reference, PairedSeeds) {
  Select("paired_seeds");
  const Values candidate = Input("candidate");
  const Values baseline = Input("baseline");
  const auto e = PairedMeanDifference(candidate, baseline, "1", "seeds");
  EXPECT_NEAR(*e.value, Number("mean_diff"), tolerance());
  ExpectInterval(e, List("ci95_mean"));
  const Values differences = List("diff");
  const auto flip = SignFlipTest(differences);
  EXPECT_NEAR(*flip.p, Number("sign_flip_p"), tolerance());
  EXPECT_EQ(flip.arrangements, 256);
  int64_t positive = 0;
  for (double d : differences) positive += d > 0 ? 1 : 0;
  EXPECT_NEAR(
      BinomialTwoSidedP(positive, static_cast<int64_t>(differences.size()), 0.5),
      Number("sign_test_p"), tolerance());
}

TEST_F(Reference, McNemarIsABinomialTest) {
  Select("mcnemar_exact");
  const int64_t b = entry_["inputs"]["b"].AsInt();
  const int64_t c = entry_["inputs"]["c"].AsInt();
  EXPECT_NEAR(BinomialTwoSidedP(b, b + c, 0.5), Number("p"), tolerance());
}

TEST_F(Reference, ProbabilityOfImprovement) {
  Select("iqm_and_probability_of_improvement");
  EXPECT_NEAR(*MannWhitney(Input("y"), Input("x")).superiority, Number("poi"),
              tolerance());
  EXPECT_NEAR(*MeanInterval(Input("x"), "1", "runs").value, Number("mean_x"),
              tolerance());
  EXPECT_NEAR(*MedianInterval(Input("x"), "1", "runs").value, Number("median_x"),
              tolerance());
}

TEST_F(Reference, BootstrapByEnumeration) {
  Select("bootstrap_exact_enumeration");
  std::vector<ClusterSums> clusters;
  for (double v : Input("x")) clusters.push_back({v, 1});
  const auto distribution = ResampleRatio(clusters, 100, 1);
  EXPECT_TRUE(distribution.exact);
  EXPECT_EQ(distribution.replicates.size(), 3125U);
  EXPECT_NEAR(distribution.value, Number("theta"), tolerance());
  double squares = 0;
  for (double v : distribution.replicates) {
    squares += (v - distribution.value) * (v - distribution.value);
  }
  EXPECT_NEAR(std::sqrt(squares / 3125), Number("boot_se"), tolerance());
  const auto levels = ComputeBcaLevels(distribution, 0.95);
  EXPECT_NEAR(levels.bias, Number("z0"), tolerance());
  EXPECT_NEAR(levels.acceleration, Number("a"), tolerance());
  EXPECT_NEAR(levels.low, List("bca_levels")[0], tolerance());
  EXPECT_NEAR(levels.high, List("bca_levels")[1], tolerance());
  BootstrapOptions options;
  options.interval = BootstrapInterval::kPercentile;
  ExpectInterval(ClusterMean(Input("x"), options), List("percentile95"));
  options.interval = BootstrapInterval::kBca;
  ExpectInterval(ClusterMean(Input("x"), options), List("bca95"));
}

TEST_F(Reference, BootstrapByMonteCarlo) {
  Select("bootstrap_scipy_monte_carlo");
  BootstrapOptions options;
  options.resamples = entry_["inputs"]["n"].AsInt();
  options.interval = BootstrapInterval::kPercentile;
  ExpectInterval(ClusterMean(Input("x"), options), List("percentile95"));
  options.interval = BootstrapInterval::kBca;
  ExpectInterval(ClusterMean(Input("x"), options), List("bca95"));
}

TEST_F(Reference, KaplanMeierAndLogRank) {
  Select("kaplan_meier_and_logrank");
  const Values time = Input("time");
  const Values event = Input("event");
  std::vector<Duration> treated;
  for (size_t i = 0; i < time.size(); ++i) treated.push_back({time[i], event[i] == 1});
  std::vector<Duration> control;
  for (double t : Input("control_time_all_events")) control.push_back({t, true});
  const auto curve = KaplanMeier(treated);
  ASSERT_EQ(curve.steps.size(), List("event_times").size());
  for (size_t i = 0; i < curve.steps.size(); ++i) {
    const SurvivalStep& step = curve.steps[i];
    EXPECT_NEAR(step.time, List("event_times")[i], tolerance());
    EXPECT_NEAR(step.survival, List("survival")[i], tolerance());
    EXPECT_NEAR(step.standard_error, List("greenwood_se")[i], tolerance());
    EXPECT_EQ(static_cast<double>(step.at_risk), List("at_risk")[i]);
    EXPECT_NEAR(step.low, List("log_ci_lower")[i], tolerance());
  }
  EXPECT_EQ(MedianTime(treated, "weeks", "patients").value, Number("median"));
  EXPECT_EQ(MedianTime(control, "weeks", "patients").value, Number("control_median"));
  const auto test = LogRankTest(treated, control);
  EXPECT_NEAR(*test.statistic, Number("logrank_chi2"), tolerance());
  EXPECT_NEAR(*test.p, Number("logrank_p"), tolerance());
  EXPECT_NEAR(*RestrictedMeanTime(treated, 20, "weeks", "patients").value,
              Number("rmst_20"), tolerance());
}

TEST_F(Reference, ObservedCoverageOfAnInterval) {
  Select("coverage_binomial_band");
  const int64_t n = entry_["inputs"]["n"].AsInt();
  const int64_t covered = entry_["inputs"]["covered"].AsInt();
  ExpectInterval(ClopperPearsonInterval(covered, n, "maps"), List("cp95"));
  ExpectInterval(WilsonInterval(covered, n, "maps"), List("wilson95"));
  EXPECT_NEAR(BinomialTwoSidedP(covered, n, entry_["inputs"]["nominal"].AsDouble()),
              Number("p"), tolerance());
}

TEST_F(Reference, AdjustedP) {
  Select("p_adjust");
  const Values p = Input("p");
  const auto expect = [&](const Values& adjusted, std::string_view key) {
    const Values expected = List(key);
    ASSERT_EQ(adjusted.size(), expected.size());
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_NEAR(adjusted[i], expected[i], tolerance()) << key << " " << i;
    }
  };
  expect(BonferroniAdjust(p), "bonferroni");
  expect(HolmAdjust(p), "holm");
  expect(BenjaminiHochbergAdjust(p), "BH");
}

TEST_F(Reference, FamilyWiseErrorWithoutCorrection) {
  Select("fwer_without_correction");
  for (int tests : {1, 10, 50, 200}) {
    EXPECT_NEAR(FamilyWiseError(entry_["inputs"]["alpha"].AsDouble(), tests),
                Number(std::to_string(tests)), tolerance());
  }
}

}  // namespace
}  // namespace stepslack::stats
