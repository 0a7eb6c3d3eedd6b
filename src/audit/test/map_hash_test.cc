#include "stepslack/audit/map_hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/base/random.h"

namespace stepslack::audit {
namespace {

constexpr int64_t kSide = 64;
using Plane = std::vector<float>;

// A few smooth bumps on a plane, drawn from the seed.
Plane Bumps(uint64_t seed) {
  base::Random random(seed);
  Plane plane(kSide * kSide, 0.0F);
  for (int bump = 0; bump < 12; ++bump) {
    const double x = random.Uniform(0, kSide);
    const double y = random.Uniform(0, kSide);
    const double width = random.Uniform(3, 12);
    const double height = random.Uniform(0.2, 1);
    for (int64_t i = 0; i < kSide * kSide; ++i) {
      const double r = double(i / kSide) - x;
      const double c = double(i % kSide) - y;
      plane[size_t(i)] +=
          float(height * std::exp(-(r * r + c * c) / (2 * width * width)));
    }
  }
  return plane;
}

Plane Turned(const Plane& plane) {
  Plane out(plane.size());
  for (int64_t r = 0; r < kSide; ++r) {
    for (int64_t c = 0; c < kSide; ++c) {
      out[size_t(c * kSide + (kSide - 1 - r))] = plane[size_t(r * kSide + c)];
    }
  }
  return out;
}

Plane Flipped(const Plane& plane) {
  Plane out(plane.size());
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    out[size_t(i)] = plane[size_t((kSide - 1 - i / kSide) * kSide + i % kSide)];
  }
  return out;
}

uint64_t Bits(const Plane& plane) { return HashMap(plane, kSide, kSide).bits; }

TEST(MapHash, FlipsAndTurnsHaveTheSameHash) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Plane plane = Bumps(seed);
    const Plane turned = Turned(plane);
    EXPECT_EQ(Bits(turned), Bits(plane));
    EXPECT_EQ(Bits(Flipped(plane)), Bits(plane));
    EXPECT_EQ(Bits(Flipped(turned)), Bits(plane));
  }
}

TEST(MapHash, ScaleOffsetAndALittleNoiseStayUnderTheCut) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Plane plane = Bumps(seed);
    Plane noisy = Turned(plane);
    base::Random random(seed + 100);
    for (float& v : noisy) v = 3 * v * float(1 + 0.01 * random.Normal()) + 2;
    EXPECT_LE(HashDistance(Bits(noisy), Bits(plane)), kMapHashCut) << seed;
  }
}

TEST(MapHash, UnrelatedMapsAreFarFromEachOther) {
  for (uint64_t a = 1; a <= 20; ++a) {
    for (uint64_t b = a + 1; b <= 20; ++b) {
      EXPECT_GT(HashDistance(Bits(Bumps(a)), Bits(Bumps(b))), kMapHashCut)
          << a << " " << b;
    }
  }
}

TEST(MapHash, ConstantAndBrokenMapsHaveNone) {
  EXPECT_FALSE(HashMap(Plane(kSide * kSide, 4.0F), kSide, kSide).usable);
  Plane broken = Bumps(1);
  broken[7] = std::nanf("");
  EXPECT_FALSE(HashMap(broken, kSide, kSide).usable);
  const std::vector<float> tiny = {1, 2};
  EXPECT_TRUE(HashMap(tiny, 1, 2).usable);
}

}  // namespace
}  // namespace stepslack::audit
