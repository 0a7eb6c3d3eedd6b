// Exact IR-drop solve against a yardstick measured beside it: as many sweeps of a
// 5-point stencil over two layers as the solve has iterations, the least arithmetic
// that a conjugate-gradient method without preconditioner needs for its matrix
// products.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "stepslack/eda/irdrop_dataset.h"

namespace {

using stepslack::eda::IrDropOptions;
using stepslack::eda::TimeExactSolve;

double StencilSweepsCpuNs(int tiles, int sweeps) {
  const auto side = static_cast<size_t>(tiles);
  const size_t layer = side * side;
  std::vector<double> from(2 * layer, 1.0);
  std::vector<double> to(2 * layer, 0.0);
  timespec start{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (size_t i = side; i + side < 2 * layer; ++i) {
      to[i] =
          4.1 * from[i] - from[i - 1] - from[i + 1] - from[i - side] - from[i + side];
    }
    std::swap(from, to);
    benchmark::DoNotOptimize(from.data());
  }
  timespec end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return 1e9 * static_cast<double>(end.tv_sec - start.tv_sec) +
         static_cast<double>(end.tv_nsec - start.tv_nsec);
}

void ExactSolve(benchmark::State& state) {
  IrDropOptions options;
  options.tiles = static_cast<int>(state.range(0));
  double solve_ns = 0;
  double yardstick_ns = 0;
  int family = 0;
  for (auto _ : state) {
    const auto solve = TimeExactSolve(options, family, 0);
    if (!solve) {
      state.SkipWithError(solve.error().what.c_str());
      return;
    }
    solve_ns += static_cast<double>(solve->cpu_ns);
    yardstick_ns += StencilSweepsCpuNs(options.tiles, solve->iterations);
    family = (family + 1) % options.families;
  }
  state.counters["solve_cpu_ms"] =
      solve_ns * 1e-6 / static_cast<double>(state.iterations());
  state.counters["times_yardstick"] = solve_ns / yardstick_ns;
}
BENCHMARK(ExactSolve)->Arg(32)->Arg(64)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
