#include "dihedral.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace stepslack::data {
namespace {

using testing::ElementsAre;

TEST(Dihedral, TheEightFormsOfATwoByThreePlane) {
  const std::vector<float> plane = {1, 2, 3,  //
                                    4, 5, 6};
  EXPECT_THAT(Transformed(plane, 2, 3, 0), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Transformed(plane, 2, 3, 1), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Transformed(plane, 2, 3, 2), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(Transformed(plane, 2, 3, 3), ElementsAre(4, 1, 5, 2, 6, 3));
  EXPECT_THAT(Transformed(plane, 2, 3, 4), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(Transformed(plane, 2, 3, 5), ElementsAre(3, 6, 2, 5, 1, 4));
  EXPECT_THAT(Transformed(plane, 2, 3, 6), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(Transformed(plane, 2, 3, 7), ElementsAre(6, 3, 5, 2, 4, 1));
}

TEST(Dihedral, TheInvariantHashTellsDifferentPlanesApart) {
  // The same values in another arrangement, which no flip or turn reaches.
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {1, 2, 4, 3};
  const std::vector<float> c = {1, 3, 2, 4};  // a with rows and columns exchanged
  EXPECT_NE(InvariantHashOf({&a}, 2, 2), InvariantHashOf({&b}, 2, 2));
  EXPECT_EQ(InvariantHashOf({&a}, 2, 2), InvariantHashOf({&c}, 2, 2));
  EXPECT_NE(HashOf({&a}, 2, 2), HashOf({&c}, 2, 2));
  EXPECT_NE(HashOf({&a}, 2, 2), HashOf({&a}, 1, 4));
}

RC_GTEST_PROP(Dihedral, TheInvariantHashIsTheSameForAllEightForms, ()) {
  const auto height = *rc::gen::inRange<int64_t>(1, 7);
  const auto width = *rc::gen::inRange<int64_t>(1, 7);
  const auto count = static_cast<size_t>(height * width);
  // Few distinct values, so that symmetric planes and ties occur.
  const auto value =
      rc::gen::map(rc::gen::inRange(0, 3), [](int v) { return static_cast<float>(v); });
  const auto a = *rc::gen::container<std::vector<float>>(count, value);
  const auto b = *rc::gen::container<std::vector<float>>(count, value);
  const std::string expected = InvariantHashOf({&a, &b}, height, width);
  for (int t = 0; t < kTransforms; ++t) {
    const Walk walk = WalkOf(height, width, t);
    const auto ta = Transformed(a, height, width, t);
    const auto tb = Transformed(b, height, width, t);
    RC_ASSERT(InvariantHashOf({&ta, &tb}, walk.height, walk.width) == expected);
  }
}

RC_GTEST_PROP(Dihedral, PlanesThatAreTransformedApartGiveAnotherHash, ()) {
  // All values differ, so only the joint transforms give the joint hash.
  std::vector<float> a(9);
  std::vector<float> b(9);
  for (size_t i = 0; i < 9; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(20 + i);
  }
  const int t = *rc::gen::inRange(1, 8);
  const auto turned = Transformed(b, 3, 3, t);
  RC_ASSERT(InvariantHashOf({&a, &turned}, 3, 3) != InvariantHashOf({&a, &b}, 3, 3));
}

}  // namespace
}  // namespace stepslack::data
