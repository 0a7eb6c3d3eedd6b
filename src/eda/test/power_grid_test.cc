#include "stepslack/eda/power_grid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "stepslack/base/random.h"
#include "stepslack/eda/floorplan.h"

namespace stepslack::eda {
namespace {

struct Case {
  GridSpec grid;
  std::vector<double> current;
};

Case DrawCase(uint64_t seed, int tiles) {
  const Variant variant = DrawVariant(DrawFamily(seed, 3, tiles), 1);
  return {variant.grid, {variant.current_ua.begin(), variant.current_ua.end()}};
}

std::vector<double> Drop(const GridSpec& grid, const std::vector<double>& current) {
  auto map = SolveDrop(grid, current);
  EXPECT_TRUE(map.has_value());
  EXPECT_LE(map->stats.relative_residual, 1e-10);
  return std::move(map->drop_mv);
}

double Largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// A residual of 1e-10 leaves errors up to the condition number times that; measured
// well below 1e-7 of the largest drop on these grids.
constexpr double kClose = 1e-7;

// Solves by a dense Cholesky factor, written independently of the sparse code.
std::vector<double> DenseSolve(const CsrMatrix& matrix, std::vector<double> b) {
  const auto n = static_cast<size_t>(matrix.size);
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i) {
    for (int32_t k = matrix.row_begin[i]; k < matrix.row_begin[i + 1]; ++k) {
      const auto at = static_cast<size_t>(k);
      a[i][static_cast<size_t>(matrix.column[at])] = matrix.value[at];
    }
  }
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

TEST(PowerGrid, OneTileDropsOverViaAndPackage) {
  const GridSpec grid{1, {0}, {1}, {{0, 0}}};
  const std::vector<double> drop = Drop(grid, {1000});
  EXPECT_NEAR(drop[0], kViaOhm + kPackageOhm, 1e-9);  // mV per mA is ohm
}

TEST(PowerGrid, PadOnEveryTileMovesNoCurrentSideways) {
  GridSpec grid{4, std::vector<uint8_t>(16, 2), std::vector<uint8_t>(16, 1), {}};
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 4; ++y) grid.pads.push_back({x, y});
  }
  for (const double drop : Drop(grid, std::vector<double>(16, 1000))) {
    EXPECT_NEAR(drop, kViaOhm + kPackageOhm, 1e-9);
  }
}

TEST(PowerGrid, TwoByTwoTilesMatchHandWork) {
  // One stripe tile with the pad at (0, 0); 1 mA at (0, 1), reached through rails only:
  // directly (along y, class 0) or around (x, y, x), in parallel.
  const GridSpec grid{2, {0, 0, 0, 0}, {1, 0, 0, 0}, {{0, 0}}};
  const double along = kGridTemplates[0].rail_ohm;
  const double around = 2 * kGridTemplates[0].rail_cross_ohm + along;
  const double rails = along * around / (along + around);
  const std::vector<double> drop = Drop(grid, {0, 1000, 0, 0});
  EXPECT_NEAR(drop[0], kViaOhm + kPackageOhm, 1e-8);
  EXPECT_NEAR(drop[1], kViaOhm + kPackageOhm + rails, 1e-8);
}

TEST(PowerGrid, SegmentBetweenTemplatesHasHalfOfEach) {
  // Both tiles on one stripe, pad at the first, 1 mA at the second tile. The stripe
  // path (via, segment, via-free pad side) and the rail path form a small ladder:
  // unknown currents: i through the rail, 1 - i through the second via and the segment.
  GridSpec grid{2, {0, 2, 0, 2}, {1, 1, 0, 0}, {{0, 0}}};
  const double segment =
      (kGridTemplates[0].stripe_ohm + kGridTemplates[2].stripe_ohm) / 2;
  const double direct = (kGridTemplates[0].rail_ohm + kGridTemplates[2].rail_ohm) / 2;
  const double around =
      kGridTemplates[0].rail_cross_ohm + kGridTemplates[2].rail_cross_ohm + direct;
  const double rail = direct * around / (direct + around) + kViaOhm;
  const double stripe = kViaOhm + segment;
  const std::vector<double> drop = Drop(grid, {0, 1000, 0, 0});
  EXPECT_NEAR(drop[1], kPackageOhm + rail * stripe / (rail + stripe), 1e-8);
}

TEST(PowerGrid, SmallGridAgreesWithDenseCholesky) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Case c = DrawCase(seed, 16);
    const auto network = AssembleGrid(c.grid);
    ASSERT_TRUE(network.has_value());
    std::vector<double> rhs(static_cast<size_t>(network->conductance.size), 0);
    for (size_t i = 0; i < c.current.size(); ++i) {
      rhs[static_cast<size_t>(network->lower_node[i])] = c.current[i];
    }
    const std::vector<double> exact = DenseSolve(network->conductance, rhs);
    const std::vector<double> drop = Drop(c.grid, c.current);
    for (size_t i = 0; i < drop.size(); ++i) {
      const double expected = exact[static_cast<size_t>(network->lower_node[i])] / 1000;
      EXPECT_NEAR(drop[i], expected, kClose * Largest(drop));
    }
  }
}

TEST(PowerGrid, PadsDeliverExactlyTheCurrentThatIsDrawn) {
  const Case c = DrawCase(5, 32);
  const auto network = AssembleGrid(c.grid);
  ASSERT_TRUE(network.has_value());
  std::vector<double> rhs(static_cast<size_t>(network->conductance.size), 0);
  double drawn = 0;
  for (size_t i = 0; i < c.current.size(); ++i) {
    rhs[static_cast<size_t>(network->lower_node[i])] = c.current[i];
    drawn += c.current[i];
  }
  const auto solver = IrSolver::Build(network->conductance);
  ASSERT_TRUE(solver.has_value());
  const auto solution = solver->Solve(rhs);
  ASSERT_TRUE(solution.has_value());
  double delivered = 0;
  for (const Pad& pad : c.grid.pads) {
    const auto tile = static_cast<size_t>(pad.x * c.grid.tiles + pad.y);
    const auto node = static_cast<size_t>(network->upper_node[tile]);
    delivered += solution->x[node] / kPackageOhm;
  }
  EXPECT_NEAR(delivered, drawn, 1e-7 * drawn);
}

RC_GTEST_PROP(PowerGrid, DropScalesWithTheCurrent, (uint64_t seed)) {
  base::Random random(seed);
  const Case c = DrawCase(random.Next(), 16 + static_cast<int>(random.Below(20)));
  const double factor = random.Uniform(0.01, 50);
  std::vector<double> scaled = c.current;
  for (double& v : scaled) v *= factor;
  const std::vector<double> drop = Drop(c.grid, c.current);
  const std::vector<double> scaled_drop = Drop(c.grid, scaled);
  for (size_t i = 0; i < drop.size(); ++i) {
    RC_ASSERT(std::abs(scaled_drop[i] - factor * drop[i]) <=
              kClose * factor * Largest(drop));
  }
}

RC_GTEST_PROP(PowerGrid, DropsOfTwoLoadsAddUp, (uint64_t seed)) {
  base::Random random(seed);
  const Case c = DrawCase(random.Next(), 16 + static_cast<int>(random.Below(20)));
  std::vector<double> first = c.current, second = c.current;
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] *= random.Uniform();
    second[i] -= first[i];
  }
  const std::vector<double> whole = Drop(c.grid, c.current);
  const std::vector<double> a = Drop(c.grid, first);
  const std::vector<double> b = Drop(c.grid, second);
  for (size_t i = 0; i < whole.size(); ++i) {
    RC_ASSERT(std::abs(a[i] + b[i] - whole[i]) <= kClose * Largest(whole));
  }
}

RC_GTEST_PROP(PowerGrid, MirroredGridHasTheMirroredDrop,
              (uint64_t seed, bool along_x)) {
  base::Random random(seed);
  const int tiles = 16 + static_cast<int>(random.Below(20));
  const Case c = DrawCase(random.Next(), tiles);
  const auto mirror = [&](size_t i) {
    const size_t n = static_cast<size_t>(tiles);
    const size_t x = i / n, y = i % n;
    return along_x ? (n - 1 - x) * n + y : x * n + (n - 1 - y);
  };
  Case m = c;
  for (size_t i = 0; i < c.current.size(); ++i) {
    m.grid.template_class[mirror(i)] = c.grid.template_class[i];
    m.grid.stripe[mirror(i)] = c.grid.stripe[i];
    m.current[mirror(i)] = c.current[i];
  }
  for (Pad& pad : m.grid.pads) {
    int& place = along_x ? pad.x : pad.y;
    place = tiles - 1 - place;
  }
  const std::vector<double> drop = Drop(c.grid, c.current);
  const std::vector<double> mirrored = Drop(m.grid, m.current);
  for (size_t i = 0; i < drop.size(); ++i) {
    RC_ASSERT(std::abs(mirrored[mirror(i)] - drop[i]) <= kClose * Largest(drop));
  }
}

RC_GTEST_PROP(PowerGrid, AnotherPadNeverRaisesTheDrop, (uint64_t seed)) {
  base::Random random(seed);
  const int tiles = 16 + static_cast<int>(random.Below(20));
  Case c = DrawCase(random.Next(), tiles);
  const std::vector<double> before = Drop(c.grid, c.current);
  const auto at = static_cast<int>(random.Below(static_cast<uint64_t>(tiles)));
  const Pad extra{at, 0};  // the core ring
  if (std::find(c.grid.pads.begin(), c.grid.pads.end(), extra) != c.grid.pads.end()) {
    RC_DISCARD("the tile has a pad");
  }
  c.grid.pads.push_back(extra);
  const std::vector<double> after = Drop(c.grid, c.current);
  for (size_t i = 0; i < before.size(); ++i) {
    RC_ASSERT(after[i] <= before[i] + kClose * Largest(before));
  }
}

TEST(StripeMask, FollowsThePitchOfEachTileAndTheCoreRing) {
  constexpr int kTiles = 40;
  std::vector<uint8_t> classes(kTiles * kTiles, 0);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = i % kTiles < 20 ? 0 : 2;
  const std::vector<uint8_t> mask = StripeMask(kTiles, classes);
  const auto at = [&](int x, int y) {
    return mask[static_cast<size_t>(x * kTiles + y)];
  };
  EXPECT_EQ(at(16, 5), 1);  // pitch 16
  EXPECT_EQ(at(5, 16), 1);
  EXPECT_EQ(at(4, 5), 0);   // no stripe of the sparse template
  EXPECT_EQ(at(4, 21), 1);  // but one of the dense
  EXPECT_EQ(at(5, 24), 1);
  EXPECT_EQ(at(5, 25), 0);
  EXPECT_EQ(at(39, 5), 1);  // core ring
  EXPECT_EQ(at(5, 39), 1);
}

TEST(EffectivePadDistance, IsTheHarmonicSumOverPads) {
  const std::vector<Pad> pads = {{0, 0}, {0, 8}};
  const std::vector<double> distance = EffectivePadDistance(16, pads);
  EXPECT_NEAR(distance[4], 2, 1e-12);                         // 1 / (1/4 + 1/4)
  EXPECT_NEAR(distance[0], 1 / (2 + 1.0 / 8), 1e-12);         // own pad counts as 1/2
  EXPECT_NEAR(distance[6 * 16], 1 / (1.0 / 6 + 0.1), 1e-12);  // 6 and 10
}

TEST(PowerGrid, RefusesBadDescriptionsWithAnErrorId) {
  const Case good = DrawCase(1, 16);
  const auto id = [](const GridSpec& grid) {
    const auto network = AssembleGrid(grid);
    return network.has_value() ? std::string() : network.error().id;
  };
  EXPECT_EQ(id(good.grid), "");
  GridSpec grid = good.grid;
  grid.tiles = 0;
  EXPECT_EQ(id(grid), "EDA-0010");
  grid.tiles = 17;
  EXPECT_EQ(id(grid), "EDA-0010");
  grid = good.grid;
  grid.template_class[5] = 3;
  EXPECT_EQ(id(grid), "EDA-0010");
  grid = good.grid;
  grid.pads.clear();
  EXPECT_EQ(id(grid), "EDA-0011");
  grid.pads = {{16, 0}};
  EXPECT_EQ(id(grid), "EDA-0011");
  grid.pads = {{0, 0}, {0, 0}};
  EXPECT_EQ(id(grid), "EDA-0011");
  grid.pads = {{3, 3}};
  grid.stripe[3 * 16 + 3] = 0;
  EXPECT_EQ(id(grid), "EDA-0011");
  EXPECT_EQ(SolveDrop(good.grid, std::vector<double>(7)).error().id, "EDA-0012");
}

}  // namespace
}  // namespace stepslack::eda
