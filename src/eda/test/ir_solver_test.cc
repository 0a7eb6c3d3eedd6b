#include "stepslack/eda/ir_solver.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::eda {
namespace {

void Join(std::vector<Triplet>& network, int32_t a, int32_t b, double ohm) {
  network.insert(
      network.end(),
      {{a, a, 1 / ohm}, {b, b, 1 / ohm}, {a, b, -1 / ohm}, {b, a, -1 / ohm}});
}

void Tie(std::vector<Triplet>& network, int32_t node, double ohm) {
  network.push_back({node, node, 1 / ohm});
}

Solution SolveNetwork(int32_t size, const std::vector<Triplet>& network,
                      const std::vector<double>& current) {
  auto matrix = BuildCsr(size, network);
  EXPECT_TRUE(matrix.has_value());
  auto solver = IrSolver::Build(std::move(*matrix));
  EXPECT_TRUE(solver.has_value());
  auto solution = solver->Solve(current);
  EXPECT_TRUE(solution.has_value());
  return std::move(*solution);
}

std::string FailureOf(int32_t size, const std::vector<Triplet>& network,
                      const std::vector<double>& current) {
  auto matrix = BuildCsr(size, network);
  if (!matrix.has_value()) return matrix.error().id;
  auto solver = IrSolver::Build(std::move(*matrix));
  if (!solver.has_value()) return solver.error().id;
  auto solution = solver->Solve(current);
  return solution.has_value() ? "" : solution.error().id;
}

TEST(IrSolver, TwoNodeNetworkMatchesHandWork) {
  // Vdd -2 ohm- node 0 -3 ohm- node 1; sinks 1 and 2 uA. All 3 uA pass the 2 ohm: 6 uV;
  // 2 uA pass the 3 ohm: 6 uV more.
  std::vector<Triplet> network;
  Tie(network, 0, 2);
  Join(network, 0, 1, 3);
  const Solution solution = SolveNetwork(2, network, {1, 2});
  EXPECT_NEAR(solution.x[0], 6, 1e-8);
  EXPECT_NEAR(solution.x[1], 12, 1e-8);
}

TEST(IrSolver, TriangleOfThreeNodesMatchesHandWork) {
  // Node 0 tied through 1 ohm, three times 2 ohm between the nodes, 4 uA out of node 1:
  // 2 ohm parallel to 4 ohm is 4/3 ohm, so v0 = 4, v1 = 4 + 16/3, and node 2 lies
  // halfway.
  std::vector<Triplet> network;
  Tie(network, 0, 1);
  Join(network, 0, 1, 2);
  Join(network, 1, 2, 2);
  Join(network, 2, 0, 2);
  const Solution solution = SolveNetwork(3, network, {0, 4, 0});
  EXPECT_NEAR(solution.x[0], 4, 1e-8);
  EXPECT_NEAR(solution.x[1], 28.0 / 3, 1e-8);
  EXPECT_NEAR(solution.x[2], 20.0 / 3, 1e-8);
}

TEST(IrSolver, UniformlyLoadedRailMatchesItsClosedForm) {
  // n nodes in a row, r between neighbours, i out of each, node 0 tied through R:
  // segment m carries (n - m) i, so v_k = n i R + r i (k n - k (k + 1) / 2).
  constexpr int kNodes = 200;
  constexpr double kOhm = 0.7, kTieOhm = 0.3, kSink = 5;
  std::vector<Triplet> network;
  Tie(network, 0, kTieOhm);
  for (int32_t k = 1; k < kNodes; ++k) Join(network, k - 1, k, kOhm);
  const Solution solution =
      SolveNetwork(kNodes, network, std::vector<double>(kNodes, kSink));
  for (int k = 0; k < kNodes; ++k) {
    const double exact =
        kNodes * kSink * kTieOhm + kOhm * kSink * (k * kNodes - k * (k + 1) / 2.0);
    // The residual is 1e-10; the condition number of this rail is about 1e4.
    EXPECT_NEAR(solution.x[static_cast<size_t>(k)], exact, 1e-6 * exact);
  }
}

TEST(IrSolver, ReportedResidualIsTheTrueOne) {
  std::vector<Triplet> network;
  Tie(network, 0, 1);
  for (int32_t k = 1; k < 50; ++k) Join(network, k - 1, k, 1 + k % 3);
  for (int32_t k = 0; k + 7 < 50; k += 3) Join(network, k, k + 7, 2);
  std::vector<double> current(50);
  for (size_t k = 0; k < 50; ++k) current[k] = 1 + std::sin(static_cast<double>(k));
  const Solution solution = SolveNetwork(50, network, current);
  const auto matrix = BuildCsr(50, network);
  double residual = 0, norm = 0;
  for (int32_t row = 0; row < 50; ++row) {
    double sum = current[static_cast<size_t>(row)];
    norm += sum * sum;
    for (const Triplet& t : network) {
      if (t.row == row) sum -= t.value * solution.x[static_cast<size_t>(t.column)];
    }
    residual += sum * sum;
  }
  EXPECT_LE(solution.stats.relative_residual, 1e-10);
  EXPECT_NEAR(solution.stats.relative_residual, std::sqrt(residual / norm), 1e-13);
  EXPECT_GT(solution.stats.iterations, 1);
}

TEST(IrSolver, ZeroCurrentGivesZeroDropWithoutIterating) {
  std::vector<Triplet> network;
  Tie(network, 0, 1);
  Join(network, 0, 1, 1);
  const Solution solution = SolveNetwork(2, network, {0, 0});
  EXPECT_EQ(solution.x, (std::vector<double>{0, 0}));
  EXPECT_EQ(solution.stats.iterations, 0);
  EXPECT_EQ(solution.stats.relative_residual, 0);
}

// A = B B^T + I has positive off-diagonals, for which plain incomplete factors break
// down.
RC_GTEST_PROP(IrSolver, SolvesAnyPositiveDefiniteMatrix, (uint64_t seed)) {
  base::Random random(seed);
  const auto n = static_cast<int32_t>(2 + random.Below(20));
  const auto size = static_cast<size_t>(n);
  std::vector<double> b(size * size);
  for (double& v : b) v = random.Uniform() < 0.3 ? random.Normal() : 0;
  std::vector<Triplet> triplets;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double sum = i == j ? 1 : 0;
      for (size_t k = 0; k < size; ++k) {
        sum +=
            b[static_cast<size_t>(i) * size + k] * b[static_cast<size_t>(j) * size + k];
      }
      if (sum != 0) triplets.push_back({i, j, sum});
    }
  }
  std::vector<double> exact(size), rhs(size);
  for (double& v : exact) v = random.Normal();
  random.Shuffle(std::span<Triplet>(triplets));  // the order must not matter
  for (const Triplet& t : triplets) {
    rhs[static_cast<size_t>(t.row)] += t.value * exact[static_cast<size_t>(t.column)];
  }
  const Solution solution = SolveNetwork(n, triplets, rhs);
  // The smallest eigenvalue is at least 1, so the error is at most 1e-10 ||rhs||.
  double norm = 0;
  for (const double v : rhs) norm += v * v;
  for (size_t i = 0; i < size; ++i) {
    RC_ASSERT(std::abs(solution.x[i] - exact[i]) <= 1.1e-10 * std::sqrt(norm));
  }
}

TEST(BuildCsr, SumsEqualPlacesAndSortsColumns) {
  const std::vector<Triplet> triplets = {{1, 1, 2},  {0, 1, 5}, {0, 0, 1},
                                         {0, 1, -2}, {1, 0, 3}, {0, 0, 4}};
  const auto matrix = BuildCsr(2, triplets);
  ASSERT_TRUE(matrix.has_value());
  EXPECT_EQ(matrix->row_begin, (std::vector<int32_t>{0, 2, 4}));
  EXPECT_EQ(matrix->column, (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(matrix->value, (std::vector<double>{5, 3, 3, 2}));
}

TEST(IrSolver, RefusesBadSystemsWithAnErrorId) {
  EXPECT_EQ(FailureOf(0, {}, {}), "EDA-0001");
  EXPECT_EQ(FailureOf(1, {{0, 1, 1}}, {1}), "EDA-0001");
  EXPECT_EQ(FailureOf(1, {{-1, 0, 1}}, {1}), "EDA-0001");
  EXPECT_EQ(FailureOf(1, {{0, 0, NAN}}, {1}), "EDA-0001");
  EXPECT_EQ(FailureOf(2, {{0, 0, 1}, {1, 1, 1}, {0, 1, -1}}, {1, 1}), "EDA-0003");
  EXPECT_EQ(FailureOf(2, {{0, 0, 1}, {1, 1, 1}, {1, 0, -1}}, {1, 1}), "EDA-0003");
  EXPECT_EQ(FailureOf(2, {{0, 0, 1}}, {1, 1}), "EDA-0004");
  EXPECT_EQ(FailureOf(1, {{0, 0, -1}}, {1}), "EDA-0004");
  EXPECT_EQ(FailureOf(1, {{0, 0, 1}}, {1, 1}), "EDA-0005");
  EXPECT_EQ(FailureOf(1, {{0, 0, 1}}, {INFINITY}), "EDA-0005");
}

TEST(IrSolver, RefusesDamagedRows) {
  CsrMatrix matrix = *BuildCsr(2, std::vector<Triplet>{{0, 0, 1}, {1, 1, 1}});
  matrix.column[1] = 7;
  EXPECT_EQ(IrSolver::Build(matrix).error().id, "EDA-0002");
  matrix.column[1] = 1;
  matrix.row_begin[2] = 9;
  EXPECT_EQ(IrSolver::Build(matrix).error().id, "EDA-0002");
}

TEST(IrSolver, NetworkWithoutVddIsAnErrorNotAnAnswer) {
  std::vector<Triplet> network;
  Join(network, 0, 1, 1);
  Join(network, 1, 2, 1);
  EXPECT_EQ(FailureOf(3, network, {1, 1, 1}), "EDA-0006");
}

TEST(IrSolver, TooFewIterationsIsAnError) {
  std::vector<Triplet> network;
  Tie(network, 0, 1);
  for (int32_t k = 1; k < 40; ++k) Join(network, k - 1, k, 1);
  for (int32_t k = 0; k + 9 < 40; ++k) Join(network, k, k + 9, 1);
  const auto solver = IrSolver::Build(*BuildCsr(40, network));
  ASSERT_TRUE(solver.has_value());
  const std::vector<double> current(40, 1);
  for (const int limit : {-3, 0, 1, 2}) {
    const auto solution = solver->Solve(current, {1e-10, limit});
    ASSERT_FALSE(solution.has_value());
    EXPECT_EQ(solution.error().id, "EDA-0006");
  }
}

}  // namespace
}  // namespace stepslack::eda
