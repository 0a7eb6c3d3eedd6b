#include "stepslack/data/clean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sample_maps.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> RulesBrokenBy(const WholeMap& map, CleanOptions options = {}) {
  MapCollection collection = EmptyCollection();
  collection.maps.push_back(map);
  const CleanResult result = Clean(collection, options);
  return result.quarantined.empty() ? std::vector<std::string>{}
                                    : result.quarantined[0].rules;
}

TEST(Clean, KeepsAGoodMapUnchanged) {
  MapCollection collection = GroupedCollection(2, 2);
  const CleanResult result = Clean(collection);
  EXPECT_THAT(result.kept.maps, SizeIs(4));
  EXPECT_EQ(result.kept.maps[0].target, collection.maps[0].target);
  EXPECT_THAT(result.quarantined, SizeIs(0));
  EXPECT_THAT(result.rules, SizeIs(7));
}

TEST(Clean, EachRuleCatchesItsOwnDefect) {
  const WholeMap good = RandomMap("m", "g", 1);
  WholeMap map = good;
  map.channels[2][5] = std::nanf("");
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("non_finite"));
  map = good;
  map.target[3] = INFINITY;
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("non_finite"));
  map = good;
  map.target[0] = -0.02f;
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("negative_drop"));
  EXPECT_THAT(RulesBrokenBy(map, {.drop_tolerance = 0.03}), ElementsAre());
  map = good;
  map.channels[0][9] = -1e-6f;
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("negative_current"));
  map = good;
  map.target.assign(map.target.size(), 0.0f);
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("constant_target"));
  map = good;
  map.channels[1][0] = 1.5f;
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("class_not_integer"));
  map.channels[1][0] = -1.0f;
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("class_not_integer"));
  EXPECT_THAT(RulesBrokenBy(good, {.tile = 17}), ElementsAre("below_tile_size"));
  EXPECT_THAT(RulesBrokenBy(good, {.tile = 16}), ElementsAre());
  map = good;
  map.target.pop_back();
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("plane_size"));
  map = good;
  map.channels.pop_back();
  EXPECT_THAT(RulesBrokenBy(map), ElementsAre("plane_size"));
}

TEST(Clean, CountsAllAndShowsTheFirstExamplesById) {
  MapCollection collection = GroupedCollection(3, 2);
  for (WholeMap& map : collection.maps) {
    if (map.id != "g1/v0") map.channels[0][0] = -1;
  }
  std::reverse(collection.maps.begin(), collection.maps.end());
  const CleanResult result = Clean(collection, {.max_examples = 2});
  EXPECT_THAT(result.kept.maps, SizeIs(1));
  EXPECT_THAT(result.quarantined, SizeIs(5));
  const RuleFinding& rule = result.rules[3];
  EXPECT_EQ(rule.id, "negative_current");
  EXPECT_EQ(rule.count, 5);
  EXPECT_THAT(rule.examples, ElementsAre("g0/v0", "g0/v1"));
  EXPECT_EQ(ToJson(result)["quarantined"].AsArray().size(), 5u);
  EXPECT_EQ(ToJson(result)["rules"].AsArray()[3]["count"].AsInt(), 5);
}

}  // namespace
}  // namespace stepslack::data
