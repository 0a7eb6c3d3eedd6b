#include "stepslack/data/lineage.h"

#include <gtest/gtest.h>

#include "sample_maps.h"

namespace stepslack::data {
namespace {

TEST(Lineage, CollectionDigestDoesNotDependOnOrderOrThreads) {
  MapCollection collection = GroupedCollection(3, 2);
  const std::string digest = DigestOf(collection);
  std::swap(collection.maps[0], collection.maps[5]);
  EXPECT_EQ(DigestOf(collection, 3), digest);
}

TEST(Lineage, CollectionDigestChangesWithEveryFieldOfAMap) {
  const MapCollection collection = GroupedCollection(3, 2);
  const std::string digest = DigestOf(collection);
  const auto changed = [&](auto change) {
    MapCollection copy = collection;
    change(copy);
    return DigestOf(copy);
  };
  EXPECT_NE(changed([](auto& c) { c.maps[1].id += "x"; }), digest);
  EXPECT_NE(changed([](auto& c) { c.maps[1].group += "x"; }), digest);
  EXPECT_NE(changed([](auto& c) { c.maps[1].source += "x"; }), digest);
  EXPECT_NE(changed([](auto& c) { c.maps[1].target[3] += 1; }), digest);
  EXPECT_NE(changed([](auto& c) { c.maps[1].channels[2][3] += 1; }), digest);
  EXPECT_NE(changed([](auto& c) {
              std::swap(c.maps[1].height, c.maps[1].width), c.maps[1].height *= 2;
            }),
            digest);
  EXPECT_NE(changed([](auto& c) { c.channels[0].unit = "mA"; }), digest);
  EXPECT_NE(changed([](auto& c) { c.maps.pop_back(); }), digest);
  EXPECT_EQ(changed([](auto&) {}), digest);
}

TEST(Lineage, ShiftingTextBetweenFieldsChangesTheDigest) {
  WholeMap a = RandomMap("ab", "c", 1);
  WholeMap b = RandomMap("a", "bc", 1);
  EXPECT_NE(DigestOf(a), DigestOf(b));
}

TEST(Lineage, SplitDigestIsTheSameForAnyOrderAndDiffersBySeed) {
  MapCollection collection = GroupedCollection(10, 2);
  const auto one = MakeSplit(collection, {.seed = 1});
  const auto two = MakeSplit(collection, {.seed = 2});
  const std::string digest = DigestOf(*one, collection);
  EXPECT_NE(DigestOf(*two, collection), digest);
  std::reverse(collection.maps.begin(), collection.maps.end());
  EXPECT_EQ(DigestOf(*MakeSplit(collection, {.seed = 1}), collection), digest);
  collection.maps[0].target[0] += 1;
  EXPECT_NE(DigestOf(*MakeSplit(collection, {.seed = 1}), collection), digest);
}

TEST(Lineage, CleanDigestCoversTheQuarantine) {
  MapCollection collection = GroupedCollection(3, 1);
  collection.maps[0].channels[0][0] = -1;
  const std::string digest = DigestOf(Clean(collection));
  collection.maps[0].channels[0][0] = -2;
  EXPECT_NE(DigestOf(Clean(collection)), digest);
  collection.maps[0].channels[0][0] = -1;
  EXPECT_EQ(DigestOf(Clean(collection)), digest);
  EXPECT_NE(DigestOf(Clean(collection, {.tile = 8})), digest);
}

TEST(Lineage, TheDataSetTagIsTheDigestOfTheSplit) {
  Lineage lineage;
  lineage.stages.push_back({"ingest", {}, {{"files", "aa"}}, "bb", {{"maps", 3}}});
  EXPECT_EQ(lineage.dataset_tag(), "");
  lineage.stages.push_back({"split", {}, {{"ingest", "bb"}}, "cc", {}});
  EXPECT_EQ(lineage.dataset_tag(), "cc");
  EXPECT_EQ(ToJson(lineage)["dataset_tag"].AsString(), "cc");
  EXPECT_EQ(ToJson(lineage)["stages"].AsArray()[0]["counts"]["maps"].AsInt(), 3);
  EXPECT_EQ(Describe(lineage), "ingest: bb, 3 maps\nsplit: cc\n");
  EXPECT_EQ(lineage.Find("clean"), nullptr);
}

}  // namespace
}  // namespace stepslack::data
