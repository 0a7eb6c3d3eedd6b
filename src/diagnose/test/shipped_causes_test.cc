// The catalogue that is installed: knowledge/causes.toml, and docs/causes.md beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/diagnose/fact_names.h"
#include "stepslack/diagnose/tree.h"

namespace stepslack::diagnose {
namespace {

using ::testing::HasSubstr;

std::string SourceFile(const std::string& name) {
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return base::JoinPath(source != nullptr ? source : ".", name);
}

Catalogue Shipped() {
  auto loaded = LoadCatalogue(SourceFile("knowledge/causes.toml"));
  EXPECT_TRUE(loaded.has_value()) << base::Describe(loaded.error());
  return loaded.value_or(Catalogue{});
}

Fact Point(double value) {
  return {base::Exact(value, "1", 1, "runs", "counted"), "profile"};
}

std::vector<FailedRequirement> Fails(const std::string& category) {
  return {
      {.id = category, .metric = category, .title = category, .category = category}};
}

TEST(ShippedCauses, HasAtLeastFourCausesInEachLayerAndOnlyKnownFacts) {
  std::map<std::string, int> by_layer;
  for (const Cause& cause : Shipped().causes) {
    ++by_layer[cause.layer];
    for (const Predicate& predicate : cause.when) {
      EXPECT_TRUE(IsKnownFact(predicate.fact)) << cause.id << " " << predicate.fact;
    }
  }
  for (const std::string_view layer : Layers()) {
    EXPECT_GE(by_layer[std::string(layer)], 4) << layer;
  }
}

TEST(ShippedCauses, EveryCategoryButIntegrityHasACause) {
  std::set<std::string, std::less<>> covered;
  for (const Cause& cause : Shipped().causes) {
    covered.insert(cause.affects.begin(), cause.affects.end());
  }
  for (const std::string_view category : KnownCategories()) {
    EXPECT_EQ(covered.contains(category), category != "integrity") << category;
  }
}

TEST(ShippedCauses, OwnersAreTheThreeThatSign) {
  const std::set<std::string> owners = {"training infra owner", "cluster engineer",
                                        "ML platform lead"};
  for (const Cause& cause : Shipped().causes) {
    EXPECT_TRUE(owners.contains(cause.owner)) << cause.id;
  }
}

TEST(ShippedCauses, FactsAreSortedAndListedInTheDocument) {
  EXPECT_TRUE(std::ranges::is_sorted(KnownFacts(), {}, &FactName::name));
  const auto document = base::ReadFile(SourceFile("docs/causes.md"));
  ASSERT_TRUE(document.has_value());
  for (const FactName& fact : KnownFacts()) {
    const std::string row =
        "| `" + std::string(fact.name) + "` | " + std::string(fact.meaning) + " |";
    EXPECT_THAT(*document, HasSubstr(row));
  }
}

// Each row of facts makes exactly the named cause the first one, for the metric that
// fails.
struct Scene {
  std::string name;
  std::string category;
  std::map<std::string, double> facts;
  std::string primary;  // "" when it must abstain
};

void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

class ShippedScenes : public ::testing::TestWithParam<Scene> {};

TEST_P(ShippedScenes, LeadToTheirCause) {
  const Scene& scene = GetParam();
  Facts facts;
  for (const auto& [name, value] : scene.facts) {
    ASSERT_TRUE(IsKnownFact(name)) << name;
    facts[name] = Point(value);
  }
  const Diagnosis diagnosis = Diagnose(Shipped(), facts, Fails(scene.category));
  EXPECT_EQ(diagnosis.primary, scene.primary) << diagnosis.reason;
}

std::map<std::string, double> With(std::map<std::string, double> facts,
                                   const std::map<std::string, double>& changed) {
  for (const auto& [name, value] : changed) facts[name] = value;
  return facts;
}

const std::map<std::string, double> kQuality = {{"data.sample_order_repeats", 0},
                                                {"data.quarantined_share", 0},
                                                {"split.group_overlap", 0},
                                                {"split.optimism", -0.1},
                                                {"data.unit_suspects", 0},
                                                {"split.test_groups", 12},
                                                {"scaling.statistical", 1},
                                                {"scaling.loss_difference", 0},
                                                {"model.loss_not_finite", 0},
                                                {"quality.vs_linear", 0.6},
                                                {"overfit.gap", 0.2},
                                                {"overfit.drift", 0.01},
                                                {"overfit.slice_ratio", 1.4},
                                                {"quality.seed_spread", 0.03}};

// Two ranks on one host: efficiency 0.7, the loss is 0.25 compute and 0.05
// communication.
const std::map<std::string, double> kScaling = {{"data.wait_share", 0.01},
                                                {"data.imbalance_cv", 0.04},
                                                {"hardware.slowest_rank_share", 0.6},
                                                {"hardware.rank_speed_ratio", 1.05},
                                                {"comm.wait_share", 0.02},
                                                {"comm.transfer_share", 0.03},
                                                {"comm.exposed_share", 0.05},
                                                {"comm.collectives_per_step", 4},
                                                {"comm.bus_gbs", 1.5},
                                                {"scaling.strong_efficiency", 0.7},
                                                {"scaling.weak_efficiency", 0.75},
                                                {"scaling.strong_compute_loss", 0.25},
                                                {"scaling.strong_comm_loss", 0.05},
                                                {"hardware.compute_slowdown", 1.3},
                                                {"hardware.steal_share", 0.0},
                                                {"runtime.oversubscription", 1},
                                                {"runtime.unpinned", 0},
                                                {"runtime.page_faults_per_step", 3}};

INSTANTIATE_TEST_SUITE_P(
    All, ShippedScenes,
    ::testing::Values(
        Scene{"leak", "leak", {{"split.leaked_rows", 3}}, "D07"},
        Scene{"order", "reproducibility", {{"repro.order_equal", 0}}, "D08"},
        Scene{"nondeterminism",
              "reproducibility",
              {{"repro.order_equal", 1}, {"repro.parameters_equal", 0}},
              "R17"},
        Scene{"few_designs", "quality", With(kQuality, {{"split.test_groups", 6}}),
              "D23"},
        Scene{"leaky_promise", "quality", With(kQuality, {{"split.group_overlap", 5}}),
              "D21"},
        Scene{"underfit", "quality", With(kQuality, {{"quality.vs_linear", 1.1}}),
              "M20"},
        Scene{"overfit", "quality", With(kQuality, {{"overfit.drift", 0.2}}), "M21"},
        Scene{"generalisation", "quality", With(kQuality, {{"overfit.gap", 0.9}}),
              "M22"},
        Scene{"slice", "quality", With(kQuality, {{"overfit.slice_ratio", 3}}), "M23"},
        Scene{"nothing_explains_it", "quality", kQuality, ""},
        Scene{"seed_or_ranks", "quality",
              With(kQuality,
                   {{"scaling.loss_difference", 0.05}, {"quality.seed_spread", 0.2}}),
              ""},
        Scene{"shared_memory", "efficiency", kScaling, "H20"},
        Scene{"loader", "efficiency", With(kScaling, {{"data.wait_share", 0.2}}),
              "D01"},
        Scene{"unequal_work", "efficiency",
              With(kScaling, {{"data.imbalance_cv", 0.3}, {"comm.wait_share", 0.2}}),
              "D03"},
        Scene{"slow_device", "efficiency",
              With(kScaling, {{"hardware.slowest_rank_share", 1},
                              {"hardware.rank_speed_ratio", 1.4},
                              {"hardware.compute_slowdown", 1.05},
                              {"comm.wait_share", 0.25}}),
              "H01"},
        Scene{"small_batch", "efficiency",
              With(kScaling, {{"scaling.weak_efficiency", 0.95}}), "M26"},
        Scene{"bytes_per_flop", "efficiency",
              With(kScaling, {{"scaling.weak_efficiency", 0.88},
                              {"hardware.compute_slowdown", 1.02},
                              {"scaling.strong_compute_loss", 0.05},
                              {"scaling.strong_comm_loss", 0.25},
                              {"comm.transfer_share", 0.25}}),
              "M01"},
        Scene{"slow_link", "exposed_comm",
              With(kScaling, {{"comm.bus_gbs", 0.02},
                              {"comm.transfer_share", 0.3},
                              {"comm.exposed_share", 0.32}}),
              "H05"},
        Scene{"tiny_messages", "exposed_comm",
              With(kScaling, {{"comm.collectives_per_step", 120},
                              {"comm.transfer_share", 0.3},
                              {"comm.exposed_share", 0.32}}),
              "R04"},
        Scene{"unpinned", "efficiency", With(kScaling, {{"runtime.unpinned", 1}}),
              "R06"},
        Scene{"oversubscribed", "efficiency",
              With(kScaling, {{"runtime.oversubscription", 2}}), "R05"},
        Scene{"oversubscribed_and_stolen", "efficiency",
              With(kScaling,
                   {{"runtime.oversubscription", 2}, {"hardware.steal_share", 0.2}}),
              ""},
        Scene{"allocator", "time_to_accuracy",
              With(With(kScaling, kQuality), {{"runtime.page_faults_per_step", 20000}}),
              "R09"},
        Scene{"slow_model",
              "latency",
              {{"latency.ratio", 3},
               {"runtime.blas_reference", 0},
               {"runtime.kernel_efficiency", 0.4}},
              "M25"},
        Scene{"reference_blas",
              "latency",
              {{"latency.ratio", 3}, {"runtime.blas_reference", 1}},
              "R22"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace stepslack::diagnose
