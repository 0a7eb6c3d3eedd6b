// The statistic pass of `data drift` on one core: values binned by group and the
// distance of both tables, in values a second, beside a plain sum of the same numbers.
#include <benchmark/benchmark.h>

#include <numeric>

#include "stepslack/base/random.h"
#include "stepslack/drift/radix_histogram.h"

namespace {

std::vector<double> Draw(uint64_t seed) {
  stepslack::base::Random random(seed);
  std::vector<double> out(1 << 20);
  for (double& value : out) value = 1e-12 * (3 + random.Normal());
  return out;
}

void SumYardstick(benchmark::State& state) {
  const std::vector<double> x = Draw(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::accumulate(x.begin(), x.end(), 0.0));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(x.size()));
}
BENCHMARK(SumYardstick);

void StatisticPass(benchmark::State& state) {
  using namespace stepslack::drift;
  const std::vector<double> x = Draw(1);
  const std::vector<double> y = Draw(2);
  for (auto _ : state) {
    const BinScale scale = ChooseScale(x, y);
    RadixHistogram a;
    RadixHistogram b;
    a.Add(x, scale);
    b.Add(y, scale);
    benchmark::DoNotOptimize(scale.scale * Wasserstein1OfBins(a.bins(), b.bins()));
  }
  const auto values = static_cast<int64_t>(x.size() + y.size());
  state.SetItemsProcessed(state.iterations() * values);
}
BENCHMARK(StatisticPass);

}  // namespace

BENCHMARK_MAIN();
