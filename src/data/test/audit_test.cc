#include "stepslack/data/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dihedral.h"
#include "sample_maps.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Maps 0 and 1 in train, 2 in validation, 3 and 4 in test; all in groups of their own.
class AuditTest : public testing::Test {
 protected:
  AuditTest() : collection_(GroupedCollection(5, 1)) {
    split_.policy = "by hand";
    split_.folds.push_back({"fold", {0, 1}, {2}, {3, 4}});
  }
  AuditResult Run(const AuditOptions& options = {}) const {
    return Audit(collection_, split_, options);
  }
  void MakeCopy(size_t from, size_t to) {
    WholeMap& copy = collection_.maps[to];
    copy.channels = collection_.maps[from].channels;
    copy.target = collection_.maps[from].target;
  }
  MapCollection collection_;
  Split split_;
};

std::vector<std::string> Labels(const AuditResult& result) {
  std::vector<std::string> out;
  for (const LinkCount& count : result.counts) out.push_back(count.label);
  return out;
}

TEST_F(AuditTest, DifferentMapsAreLeakFree) {
  const AuditResult result = Run();
  EXPECT_TRUE(result.leak_free());
  EXPECT_THAT(result.counts, IsEmpty());
  EXPECT_EQ(result.near_considered, 10);
  EXPECT_EQ(result.maps, 5);
}

TEST_F(AuditTest, AnExactCopyIsOneSamplePairAndNoChannelPairs) {
  MakeCopy(1, 4);
  const AuditResult result = Run();
  EXPECT_FALSE(result.leak_free());
  EXPECT_THAT(Labels(result), ElementsAre("exact sample"));
  ASSERT_THAT(result.pairs, SizeIs(1));
  EXPECT_EQ(result.pairs[0].id_a, "g1/v0");
  EXPECT_EQ(result.pairs[0].id_b, "g4/v0");
  EXPECT_EQ(result.pairs[0].places[0].a, "train");
  EXPECT_EQ(result.pairs[0].places[0].b, "test");
  EXPECT_THAT(result.folds[0].leaked_test, ElementsAre(4));
  EXPECT_EQ(result.folds[0].reasons.at("exact sample"), 1);
  EXPECT_EQ(result.leaked_test_rows(), 1);
}

TEST_F(AuditTest, EveryFlipAndTurnIsFoundAsSuch) {
  const WholeMap original = collection_.maps[0];
  for (int t = 1; t < kTransforms; ++t) {
    WholeMap& copy = collection_.maps[3];
    for (size_t c = 0; c < 3; ++c) {
      copy.channels[c] = Transformed(original.channels[c], 16, 16, t);
    }
    copy.target = Transformed(original.target, 16, 16, t);
    const AuditResult result = Run();
    EXPECT_THAT(Labels(result), ElementsAre("rotated or flipped sample")) << t;
    EXPECT_THAT(result.folds[0].leaked_test, ElementsAre(3)) << t;
  }
}

TEST_F(AuditTest, ATurnedCopyOfOtherShapeIsFound) {
  MapCollection collection = EmptyCollection();
  collection.maps = {RandomMap("a", "a", 1, 10, 14), RandomMap("b", "b", 2, 14, 10),
                     RandomMap("c", "c", 3, 12, 12)};
  for (size_t c = 0; c < 3; ++c) {
    collection.maps[1].channels[c] =
        Transformed(collection.maps[0].channels[c], 10, 14, 5);
  }
  collection.maps[1].target = Transformed(collection.maps[0].target, 10, 14, 5);
  Split split;
  split.folds.push_back({"fold", {0}, {2}, {1}});
  const AuditResult result = Audit(collection, split);
  EXPECT_THAT(Labels(result), ElementsAre("rotated or flipped sample"));
  EXPECT_THAT(result.folds[0].leaked_test, ElementsAre(1));
}

TEST_F(AuditTest, ACopyOfTheCurrentLeaksButSharedClassesAndDistancesDoNot) {
  collection_.maps[3].channels[1] = collection_.maps[0].channels[1];
  collection_.maps[3].channels[2] = collection_.maps[0].channels[2];
  AuditResult result = Run();
  EXPECT_THAT(Labels(result),
              ElementsAre("exact channel: template", "exact channel: pad_distance"));
  EXPECT_TRUE(result.leak_free());
  EXPECT_FALSE(result.counts[0].leaks);
  EXPECT_EQ(result.counts[1].across_groups, 1);
  collection_.maps[3].channels[0] = collection_.maps[0].channels[0];
  result = Run();
  EXPECT_FALSE(result.leak_free());
  EXPECT_EQ(result.folds[0].reasons.at("exact channel: current"), 1);
}

TEST_F(AuditTest, TheCallerDecidesWhichChannelsLeak) {
  collection_.maps[3].channels[2] = collection_.maps[0].channels[2];
  EXPECT_FALSE(Run({.leak_channels = {"pad_distance"}}).leak_free());
}

TEST_F(AuditTest, ACopiedTargetLeaksAndGoesByItsName) {
  collection_.maps[4].target = Transformed(collection_.maps[2].target, 16, 16, 6);
  const AuditResult result = Run();
  EXPECT_THAT(Labels(result), ElementsAre("rotated or flipped channel: ir_drop"));
  EXPECT_THAT(result.folds[0].leaked_test,
              ElementsAre(4));  // validation counts as known
  EXPECT_THAT(result.folds[0].leaked_validation, IsEmpty());
}

TEST_F(AuditTest, ConstantChannelsAreNotCompared) {
  for (WholeMap& map : collection_.maps) map.channels[0].assign(256, 2.0f);
  const AuditResult result = Run();
  EXPECT_THAT(result.counts, IsEmpty());
  EXPECT_TRUE(result.leak_free());
}

TEST_F(AuditTest, AScaledNoisyCopyIsANearDuplicate) {
  MakeCopy(0, 3);
  base::Random random(5);
  for (auto* plane : {&collection_.maps[3].channels[0], &collection_.maps[3].target}) {
    for (float& v : *plane) v *= static_cast<float>(2.5 * random.Uniform(0.98, 1.02));
  }
  const AuditResult result = Run();
  EXPECT_THAT(Labels(result),
              ElementsAre("exact channel: template", "exact channel: pad_distance",
                          "near duplicate"));
  EXPECT_THAT(result.folds[0].leaked_test, ElementsAre(3));
  const LinkedPair& pair = result.pairs.back();
  EXPECT_EQ(pair.kind, LinkKind::kNearDuplicate);
  EXPECT_EQ(pair.id_a, "g0/v0");
  EXPECT_LT(pair.distance, 0.03);
}

TEST_F(AuditTest, AGroupOnTwoSidesIsALeakByItself) {
  collection_.maps[4].group = "g2";
  const AuditResult result = Run();
  EXPECT_FALSE(result.leak_free());
  EXPECT_THAT(result.folds[0].group_overlap, ElementsAre("g2"));
  EXPECT_THAT(result.folds[0].leaked_test, ElementsAre(4));
  EXPECT_EQ(result.folds[0].reasons.at("same group"), 1);
}

TEST_F(AuditTest, AValidationRowKnownFromTrainingIsCountedApart) {
  MakeCopy(0, 2);
  const AuditResult result = Run();
  EXPECT_TRUE(result.leak_free());
  EXPECT_THAT(result.folds[0].leaked_validation, ElementsAre(2));
}

TEST_F(AuditTest, TheListIsCappedTheCountIsNotAndPairsAcrossGroupsComeFirst) {
  collection_ = GroupedCollection(3, 4);
  for (WholeMap& map : collection_.maps) {
    map.channels[2] = collection_.maps[0].channels[2];
  }
  split_.folds = {{"fold", {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}};
  const AuditResult result = Run({.max_listed_pairs = 5});
  ASSERT_THAT(result.counts, SizeIs(1));
  EXPECT_EQ(result.counts[0].pairs, 66);          // 12 * 11 / 2
  EXPECT_EQ(result.counts[0].across_groups, 48);  // 66 - 3 * 6
  EXPECT_EQ(result.pairs_total, 66);
  ASSERT_THAT(result.pairs, SizeIs(5));
  for (const LinkedPair& pair : result.pairs) EXPECT_NE(pair.group_a, pair.group_b);
}

TEST_F(AuditTest, TransformedPairsLeaveOutTheExactOnes) {
  // Currents: maps 0, 1 equal; 2, 3 equal and turned: 2 exact pairs, 4 turned pairs.
  const std::vector<float> current = collection_.maps[0].channels[0];
  collection_.maps[1].channels[0] = current;
  collection_.maps[2].channels[0] = Transformed(current, 16, 16, 3);
  collection_.maps[3].channels[0] = Transformed(current, 16, 16, 3);
  const AuditResult result = Run();
  EXPECT_THAT(Labels(result), ElementsAre("exact channel: current",
                                          "rotated or flipped channel: current"));
  EXPECT_EQ(result.counts[0].pairs, 2);
  EXPECT_EQ(result.counts[1].pairs, 4);
  EXPECT_EQ(result.counts[1].across_groups, 4);
  EXPECT_THAT(result.pairs, SizeIs(6));
  EXPECT_EQ(ToJson(result)["pairs"].AsArray().size(), 6u);
}

TEST_F(AuditTest, ThreadsDoNotChangeTheResult) {
  MakeCopy(0, 3);
  const std::string one = ToJson(Run({.threads = 1})).Dump();
  EXPECT_EQ(ToJson(Run({.threads = 4})).Dump(), one);
}

TEST(UniteGroups, MergesGroupsThatShareACurrentMapAndChainsOfThem) {
  MapCollection collection = GroupedCollection(6, 2);
  auto& maps = collection.maps;               // g0: 0, 1; g1: 2, 3; g2: 4, 5; ...
  maps[8].channels[0] = maps[0].channels[0];  // g4 = g0
  maps[5].channels[0] = maps[9].channels[0];  // g2 = g4
  maps[6].channels[2] = maps[2].channels[2];  // shared distance does not unite
  const auto merges = UniteGroups(collection);
  ASSERT_THAT(merges, SizeIs(1));
  EXPECT_EQ(merges[0].name, "g0+g2+g4");
  EXPECT_THAT(merges[0].members, ElementsAre("g0", "g2", "g4"));
  EXPECT_EQ(maps[1].group, "g0+g2+g4");
  EXPECT_EQ(maps[2].group, "g1");
  EXPECT_EQ(maps[9].group, "g0+g2+g4");
}

TEST(UniteGroups, TurnedCurrentsAreMergedOnlyWhenAsked) {
  MapCollection collection = GroupedCollection(3, 1);
  collection.maps[2].channels[0] =
      Transformed(collection.maps[0].channels[0], 16, 16, 7);
  EXPECT_THAT(UniteGroups(collection), IsEmpty());
  EXPECT_THAT(UniteGroups(collection, {.unite_transformed = true}), SizeIs(1));
}

TEST(UniteGroups, ConstantCurrentsDoNotMerge) {
  MapCollection collection = GroupedCollection(3, 1);
  for (WholeMap& map : collection.maps) map.channels[0].assign(256, 1.0f);
  EXPECT_THAT(UniteGroups(collection), IsEmpty());
}

TEST(UniteGroups, MakesASplitByGroupLeakFree) {
  MapCollection collection = GroupedCollection(12, 1);
  for (size_t i = 0; i < 12; i += 2) {
    collection.maps[i + 1].channels[0] = collection.maps[i].channels[0];
  }
  EXPECT_THAT(UniteGroups(collection), SizeIs(6));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto split = MakeSplit(collection, {.seed = seed});
    ASSERT_TRUE(split.has_value());
    EXPECT_TRUE(Audit(collection, *split).leak_free());
  }
}

}  // namespace
}  // namespace stepslack::data
