#include "stepslack/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "sample_maps.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

MapCollection NamedMaps(const std::vector<int>& group_of_map) {
  MapCollection collection;
  for (size_t i = 0; i < group_of_map.size(); ++i) {
    WholeMap map;
    map.id = "m" + std::to_string(i);
    map.group = "g" + std::to_string(group_of_map[i]);
    map.source = group_of_map[i] % 2 == 0 ? "even" : "odd";
    collection.maps.push_back(map);
  }
  return collection;
}

std::set<std::string> GroupsOf(const MapCollection& c,
                               const std::vector<int64_t>& maps) {
  std::set<std::string> out;
  for (const int64_t i : maps) out.insert(c.maps[size_t(i)].group);
  return out;
}

TEST(Split, SharesGroupsByTheirNumber) {
  const MapCollection collection = GroupedCollection(20, 3);
  const auto split = MakeSplit(collection);
  ASSERT_TRUE(split.has_value());
  ASSERT_THAT(split->folds, SizeIs(1));
  const Fold& fold = split->folds[0];
  EXPECT_THAT(fold.test, SizeIs(12));       // 0.2 * 20 groups of 3
  EXPECT_THAT(fold.validation, SizeIs(9));  // 0.15 * 20
  EXPECT_THAT(fold.train, SizeIs(39));
  EXPECT_EQ(split->policy, "by_group");
}

TEST(Split, EverySideGetsAGroupEvenOfThree) {
  const auto split = MakeSplit(GroupedCollection(3, 1),
                               {.validation_fraction = 0.01, .test_fraction = 0.9});
  ASSERT_TRUE(split.has_value());
  EXPECT_THAT(split->folds[0].train, SizeIs(1));
  EXPECT_THAT(split->folds[0].validation, SizeIs(1));
  EXPECT_THAT(split->folds[0].test, SizeIs(1));
}

TEST(Split, RefusesTooFewGroupsBadFractionsAndUnknownSources) {
  EXPECT_EQ(MakeSplit(GroupedCollection(2, 5)).error().id, "DATA-0060");
  EXPECT_EQ(MakeSplit(EmptyCollection()).error().id, "DATA-0060");
  EXPECT_EQ(MakeSplit(GroupedCollection(5, 1),
                      {.validation_fraction = 0.5, .test_fraction = 0.5})
                .error()
                .id,
            "DATA-0061");
  EXPECT_EQ(MakeSplit(GroupedCollection(5, 1), {.test_fraction = -0.1}).error().id,
            "DATA-0061");
  const auto unknown =
      MakeSplit(GroupedCollection(5, 1),
                {.policy = SplitPolicy::kLeaveOneGroupOut, .source = "tset"});
  EXPECT_EQ(unknown.error().id, "DATA-0062");
  EXPECT_THAT(unknown.error().help, HasSubstr("test"));
}

TEST(Split, RandomPolicyDividesGroups) {
  const MapCollection collection = GroupedCollection(5, 8);
  const auto split = MakeSplit(collection, {.policy = SplitPolicy::kRandom});
  ASSERT_TRUE(split.has_value());
  const Fold& fold = split->folds[0];
  EXPECT_THAT(fold.test, SizeIs(8));
  EXPECT_EQ(GroupsOf(collection, fold.train), GroupsOf(collection, {0, 8, 16, 24, 32}));
}

TEST(Split, LeaveOneGroupOutHoldsOutEachGroupOfTheSource) {
  const MapCollection collection = NamedMaps({0, 0, 1, 2, 2, 3, 4, 5});
  const auto split = MakeSplit(
      collection, {.policy = SplitPolicy::kLeaveOneGroupOut, .source = "even"});
  ASSERT_TRUE(split.has_value());
  ASSERT_THAT(split->folds, SizeIs(3));
  EXPECT_EQ(split->folds[0].name, "g0");
  EXPECT_THAT(split->folds[0].test, ElementsAre(0, 1));
  EXPECT_THAT(split->folds[1].test, ElementsAre(3, 4));
  EXPECT_THAT(split->folds[2].test, ElementsAre(6));
  for (const Fold& fold : split->folds) {
    EXPECT_EQ(GroupsOf(collection, fold.validation).size(), 1u);  // 0.15 * 5 groups
    EXPECT_EQ(fold.train.size() + fold.validation.size() + fold.test.size(), 8u);
  }
}

TEST(Split, SeedsDiffer) {
  const MapCollection collection = GroupedCollection(30, 1);
  const auto one = MakeSplit(collection, {.seed = 1});
  const auto two = MakeSplit(collection, {.seed = 2});
  EXPECT_NE(one->folds[0].test, two->folds[0].test);
}

RC_GTEST_PROP(Split, NoGroupIsOnTwoSidesAndEveryMapIsOnOne, ()) {
  const auto groups = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
  const MapCollection collection = NamedMaps(groups);
  for (const auto policy : {SplitPolicy::kByGroup, SplitPolicy::kLeaveOneGroupOut}) {
    const auto split =
        MakeSplit(collection, {.policy = policy,
                               .seed = *rc::gen::arbitrary<uint64_t>(),
                               .validation_fraction = 0.01 * *rc::gen::inRange(0, 50),
                               .test_fraction = 0.01 * *rc::gen::inRange(0, 50)});
    const size_t distinct = std::set<int>(groups.begin(), groups.end()).size();
    RC_ASSERT(split.has_value() == (distinct >= 3));
    if (!split.has_value()) continue;
    for (const Fold& fold : split->folds) {
      const auto train = GroupsOf(collection, fold.train);
      const auto validation = GroupsOf(collection, fold.validation);
      const auto test = GroupsOf(collection, fold.test);
      RC_ASSERT(!train.empty() && !validation.empty() && !test.empty());
      std::set<std::string> all = train;
      all.insert(validation.begin(), validation.end());
      all.insert(test.begin(), test.end());
      RC_ASSERT(all.size() == train.size() + validation.size() + test.size());
      RC_ASSERT(fold.train.size() + fold.validation.size() + fold.test.size() ==
                groups.size());
    }
  }
}

RC_GTEST_PROP(Split, TheOrderOfTheMapsDoesNotMatter, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  base::Random random(seed);
  std::vector<int> groups = {0, 1, 2};
  for (int i = 0; i < 20; ++i) groups.push_back(static_cast<int>(random.Below(9)));
  MapCollection collection = NamedMaps(groups);
  const auto before = MakeSplit(collection, {.seed = seed});
  RC_ASSERT(before.has_value());
  const std::string text = ToJson(*before, collection).Dump();
  random.Shuffle(std::span<WholeMap>(collection.maps));
  const auto after = MakeSplit(collection, {.seed = seed});
  RC_ASSERT(ToJson(*after, collection).Dump() == text);
}

}  // namespace
}  // namespace stepslack::data
