// Reference values of change points, searches, slices, deduplication odds and canaries.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "reference_entry.h"
#include "stepslack/stats/canary.h"
#include "stepslack/stats/energy_split.h"
#include "stepslack/stats/error_budget.h"
#include "stepslack/stats/factorial.h"
#include "stepslack/stats/hash_odds.h"
#include "stepslack/stats/search_schedule.h"
#include "stepslack/stats/slice_score.h"

namespace stepslack::stats {
namespace {

using base::Json;

void SliceScores(Entry& e) {
  const int64_t n = e.inputs()["n"].AsInt();
  const double mean_error = e.inputs()["mean_error"].AsDouble();
  const double alpha = e.inputs()["alpha"].AsDouble();
  Values scores;
  for (const Json& slice : e.inputs()["slices"].AsArray()) {
    const Values size_and_sum = Numbers(slice);
    const DataSlice part{static_cast<int64_t>(size_and_sum.at(0)), size_and_sum.at(1)};
    scores.push_back(SliceScore(part, n, mean_error, alpha));
  }
  e.ExpectValues(scores, e.List("scores"));
}

void ExpectBrackets(const Entry& e, HyperbandRule rule, std::string_view key) {
  const auto brackets =
      HyperbandBrackets(e.inputs()["R"].AsInt(), e.inputs()["eta"].AsInt(), rule);
  const auto& expected = e.expected()[key].AsArray();
  ASSERT_EQ(brackets.size(), expected.size());
  for (size_t b = 0; b < brackets.size(); ++b) {
    const auto& rungs = expected[b].AsArray();
    ASSERT_EQ(brackets[b].size(), rungs.size());
    for (size_t i = 0; i < rungs.size(); ++i) {
      const Values rung = Numbers(rungs[i]);
      EXPECT_EQ(static_cast<double>(brackets[b][i].trials), rung.at(0));
      EXPECT_NEAR(brackets[b][i].resource, rung.at(1), e.tolerance());
    }
  }
}

void Hyperband(Entry& e) {
  ExpectBrackets(e, HyperbandRule::kCeil, "ceil_rule_n_r");
  ExpectBrackets(e, HyperbandRule::kFloor, "floor_rule_n_r");
}

void Asha(Entry& e) {
  AshaLadder ladder(e.inputs()["eta"].AsInt(), e.inputs()["higher_is_better"].AsBool());
  Values promoted;
  int64_t trial = 0;
  for (double score : e.Input("rung0_scores_by_trial")) {
    for (int64_t t : ladder.Report(trial, 0, score)) {
      promoted.push_back(static_cast<double>(t));
    }
    ++trial;
  }
  e.ExpectValues(promoted, e.List("promoted_in_order"));
}

void EnergySplitOfOneSeries(Entry& e) {
  const Values x = e.Input("x");
  const auto split = FindEnergySplit(x);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->index, static_cast<size_t>(e.expected()["k"].AsInt()));
  e.ExpectNumber(split->q, "Q");
  e.ExpectValues(split->q_by_index, e.List("Q_all_from_k2"));
  EXPECT_EQ(CusumSplit(x),
            static_cast<size_t>(e.expected()["cusum_argmax_after"].AsInt()));
}

void FactorialSwap(Entry& e) {
  // Keys "0000" to "1111" sort as the numbers they read as.
  Values y;
  for (const auto& [bits, value] : e.inputs()["y_by_bits_dmrh"].AsObject()) {
    y.push_back(value.AsDouble(NAN));
  }
  const auto effects = MainEffects(y, 4);
  ASSERT_EQ(effects.size(), 4U);
  size_t at = 0;
  for (const Json& layer : e.inputs()["layers"].AsArray()) {
    e.ExpectNumber(effects[at++], layer.AsString());
  }
}

void LshCurve(Entry& e) {
  const std::vector<std::string> names = {"NeMo_20x13", "text-dedup_25x10", "32x4"};
  const auto& settings = e.inputs()["bands_rows"].AsArray();
  ASSERT_EQ(settings.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t bands = settings[i].AsArray().at(0).AsInt();
    const int64_t rows = settings[i].AsArray().at(1).AsInt();
    const Json& expected = e.expected()[names[i]];
    EXPECT_NEAR(LshThreshold(bands, rows),
                expected["threshold_(1/b)^(1/r)"].AsDouble(NAN), e.tolerance());
    EXPECT_EQ(expected["P_candidate"].AsObject().size(), 6U);
    for (const auto& [similarity, p] : expected["P_candidate"].AsObject()) {
      EXPECT_NEAR(LshCandidateProbability(std::stod(similarity), bands, rows),
                  p.AsDouble(NAN), e.tolerance())
          << names[i] << " " << similarity;
    }
  }
}

void MinHash(Entry& e) {
  for (double k : e.Input("k")) {
    const auto whole = static_cast<int64_t>(k);
    e.ExpectNumber(MinHashDeviation(e.inputs()["J"].AsDouble(), whole),
                   std::to_string(whole));
  }
}

void HashCollisions(Entry& e) {
  // The reference is n^2 / 2^(bits + 1); ours is the chance itself, which is smaller by
  // half of its square and n (n - 1) instead of n^2. The tolerance is meant relative.
  const std::map<std::string, double> sizes = {
      {"n1e+06", 1e6}, {"n1e+08", 1e8}, {"n1e+09", 1e9}};
  for (const auto& [name, n] : sizes) {
    for (int bits : {64, 128}) {
      const double expected = e.Number(name + "_b" + std::to_string(bits));
      EXPECT_NEAR(HashCollisionOdds(n, bits) / (expected - expected * expected / 2), 1,
                  e.tolerance())
          << name << " " << bits;
    }
  }
}

void Budget(Entry& e) {
  const auto budget = ComputeErrorBudget(e.inputs()["slo"].AsDouble(),
                                         e.inputs()["window_requests"].AsInt(),
                                         e.inputs()["bad"].AsInt());
  ASSERT_TRUE(budget.has_value());
  e.ExpectNumber(budget->budget, "budget");
  e.ExpectNumber(budget->spent_fraction, "spent_fraction");
  e.ExpectNumber(budget->burn_rate, "burn_rate");
}

void Score(Entry& e) {
  const std::map<std::string, CanaryClass> classes = {{"Pass", CanaryClass::kPass},
                                                      {"High", CanaryClass::kHigh},
                                                      {"Low", CanaryClass::kLow},
                                                      {"Nodata", CanaryClass::kNodata}};
  std::map<std::string, CanaryGroup, std::less<>> groups;
  for (const auto& [name, metrics] : e.inputs()["groups"].AsObject()) {
    groups[name].weight = e.inputs()["weights"][name].AsDouble();
    for (const Json& metric : metrics.AsArray()) {
      groups[name].metrics.push_back(classes.at(metric.AsString()));
    }
  }
  const CanaryScore score = ScoreCanary(groups);
  for (const auto& [name, of_group] : score.groups) e.ExpectNumber(of_group, name);
  EXPECT_EQ(score.groups.size(), 3U);
  e.ExpectNumber(score.summary, "summary");
}

}  // namespace

ReferenceChecks DecisionChecks() {
  return {
      {"sliceline_score", SliceScores},
      {"hyperband_brackets", Hyperband},
      {"asha_promotion", Asha},
      {"e_divisive_single_split", EnergySplitOfOneSeries},
      {"factorial_swap_2_4", FactorialSwap},
      {"minhash_lsh_curve", LshCurve},
      {"minhash_error", MinHash},
      {"hash_collision_odds", HashCollisions},
      {"error_budget", Budget},
      {"canary_score", Score},
  };
}

}  // namespace stepslack::stats
