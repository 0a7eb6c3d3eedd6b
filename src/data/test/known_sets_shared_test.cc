// Known answers of two reference data sets that lie outside of the project.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "stepslack/data/audit.h"
#include "stepslack/data/clean.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/lineage.h"
#include "stepslack/data/tiles.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::optional<std::string> SharedSet(const std::string& name) {
  std::string root;
  if (const char* shared = std::getenv("STEPSLACK_SHARED")) {
    root = shared;
  } else if (const char* source = std::getenv("STEPSLACK_SOURCE")) {
    root = std::string(source) + "/../shared";
  }
  const std::string path = root + "/data/vlsi/" + name;
  if (root.empty() || !std::filesystem::is_directory(path)) return std::nullopt;
  return path;
}

class ContestSet : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = SharedSet("iccad23-irdrop");
    if (!path.has_value()) GTEST_SKIP() << "the contest data set is not here";
    auto result = IngestFolder(*path, {.threads = 2});
    ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
    ingest_ = std::move(*result);
  }
  IngestResult ingest_;
};

std::set<std::string> PairsOf(const AuditResult& audit, const std::string& label) {
  std::set<std::string> out;
  for (const LinkedPair& pair : audit.pairs) {
    if (Label(pair.kind, pair.channel) == label) {
      out.insert(pair.id_a + " = " + pair.id_b);
    }
  }
  return out;
}

TEST_F(ContestSet, IsReadWholeInOurUnits) {
  EXPECT_THAT(ingest_.collection.maps, SizeIs(22));
  EXPECT_THAT(ingest_.files, SizeIs(88));
  EXPECT_THAT(ingest_.problems, IsEmpty());
  EXPECT_THAT(ingest_.skipped, SizeIs(5));  // four netlists and the licence
  EXPECT_THAT(ingest_.suspicions, IsEmpty());
  std::map<std::string, int> sources;
  for (const WholeMap& map : ingest_.collection.maps) ++sources[map.source];
  EXPECT_EQ(sources.at("real"), 6);
  EXPECT_EQ(sources.at("synthetic"), 16);
  const auto find = [&](const std::string& id) -> const WholeMap& {
    for (const WholeMap& map : ingest_.collection.maps) {
      if (map.id == id) return map;
    }
    ADD_FAILURE() << id;
    return ingest_.collection.maps[0];
  };
  // Published: currents sum to 6.943e-3 A and 4.578e-3 A; the labels reach 5.09 mV.
  const auto total = [](const WholeMap& map) {
    double sum = 0;
    for (const float v : map.channels[0]) sum += static_cast<double>(v);
    return sum * 1e-6;
  };
  EXPECT_NEAR(total(find("real/testcase1")), 6.943e-3, 0.5e-6);
  EXPECT_NEAR(total(find("real/testcase11")), 4.578e-3, 0.5e-6);
  const auto& drop = find("real/testcase11").target;
  EXPECT_NEAR(*std::max_element(drop.begin(), drop.end()), 5.09, 0.005);
}

TEST_F(ContestSet, HoldsExactlyTheThreePairsWithTheSameCurrentAndDistance) {
  const auto split = MakeSplit(ingest_.collection);
  ASSERT_TRUE(split.has_value());
  const AuditResult audit = Audit(ingest_.collection, *split);
  const auto pairs = UnorderedElementsAre("real/testcase1 = real/testcase2",
                                          "real/testcase11 = real/testcase12",
                                          "real/testcase17 = real/testcase18");
  EXPECT_THAT(PairsOf(audit, "exact channel: current"), pairs);
  EXPECT_THAT(PairsOf(audit, "exact channel: pad_distance"), pairs);
  ASSERT_THAT(audit.counts,
              SizeIs(2));  // no whole samples, no turned copies, none near
  EXPECT_EQ(audit.counts[0].pairs, 3);
  EXPECT_EQ(audit.counts[1].pairs, 3);
  EXPECT_EQ(audit.near_considered, 22 * 21 / 2);
}

TEST_F(ContestSet, UnitedPairsMakeEveryFoldLeakFree) {
  const auto naive = MakeSplit(
      ingest_.collection, {.policy = SplitPolicy::kLeaveOneGroupOut, .source = "real"});
  ASSERT_TRUE(naive.has_value());
  const LinkSet links = FindLinks(ingest_.collection);
  // Each real map alone in test has its twin in train or validation.
  EXPECT_EQ(AuditSplit(ingest_.collection, links, *naive).leaked_test_rows(), 6);
  std::vector<std::string> names;
  for (const GroupMerge& merge : UniteGroups(ingest_.collection)) {
    names.push_back(merge.name);
  }
  EXPECT_THAT(names, ElementsAre("real/testcase1+real/testcase2",
                                 "real/testcase11+real/testcase12",
                                 "real/testcase17+real/testcase18"));
  const auto honest = MakeSplit(
      ingest_.collection, {.policy = SplitPolicy::kLeaveOneGroupOut, .source = "real"});
  ASSERT_TRUE(honest.has_value());
  EXPECT_THAT(honest->folds, SizeIs(3));
  EXPECT_TRUE(AuditSplit(ingest_.collection, links, *honest).leak_free());
}

TEST_F(ContestSet, PassesTheCleaningRulesAndStitchesBack) {
  const CleanResult clean = Clean(ingest_.collection, {.tile = 64});
  EXPECT_THAT(clean.quarantined, IsEmpty());
  const auto tiles = CutTiles(clean.kept, 64, 48);
  ASSERT_TRUE(tiles.has_value());
  const auto stitched = Stitch(*tiles, tiles->y);
  ASSERT_TRUE(stitched.has_value());
  ASSERT_EQ(stitched->size(), clean.kept.maps.size());
  for (size_t i = 0; i < stitched->size(); ++i) {
    EXPECT_EQ((*stitched)[i].values, clean.kept.maps[i].target);
  }
}

TEST(OwnSet, HasTwentyFourFamiliesThatShareTheirFloorplan) {
  const auto path = SharedSet("own-irdrop");
  if (!path.has_value()) GTEST_SKIP() << "the data set is not here";
  auto ingest = IngestFolder(*path);
  ASSERT_TRUE(ingest.has_value()) << base::Describe(ingest.error());
  MapCollection& collection = ingest->collection;
  ASSERT_THAT(collection.maps, SizeIs(96));
  std::set<std::string> groups;
  for (const WholeMap& map : collection.maps) groups.insert(map.group);
  EXPECT_THAT(groups, SizeIs(24));
  EXPECT_EQ(groups.count("family-23"), 1u);
  // Mean drop of sample 0 in the table that goes with the arrays.
  double sum = 0;
  for (const float v : collection.maps[0].target) sum += static_cast<double>(v);
  EXPECT_NEAR(sum / 4096, 40.2875, 1e-3);
  EXPECT_THAT(UniteGroups(collection), IsEmpty());

  const LinkSet links = FindLinks(collection);
  const auto honest = MakeSplit(collection);
  const AuditResult by_group = AuditSplit(collection, links, *honest);
  EXPECT_TRUE(by_group.leak_free());
  // Four variants share the pads: 24 * 6 pairs; the even two share the template: 24.
  for (const LinkCount& count : by_group.counts) {
    EXPECT_FALSE(count.leaks) << count.label;
    EXPECT_EQ(count.across_groups, 0) << count.label;
    if (count.channel == "pad_distance") {
      EXPECT_EQ(count.pairs, 144);
    }
    if (count.channel == "template") {
      EXPECT_EQ(count.pairs, 24);
    }
  }
  const auto leaky = MakeSplit(collection, {.policy = SplitPolicy::kRandom});
  const AuditResult random = AuditSplit(collection, links, *leaky);
  EXPECT_FALSE(random.leak_free());
  EXPECT_EQ(random.folds[0].reasons.at("same group"), random.leaked_test_rows());
}

}  // namespace
}  // namespace stepslack::data
