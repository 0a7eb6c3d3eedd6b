// How fast rows are compared, against reading the same bytes once (a sum).
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "stepslack/audit/map_hash.h"
#include "stepslack/audit/row_hash.h"
#include "stepslack/base/random.h"

namespace {

constexpr int64_t kColumns = 100;
constexpr int64_t kRows = 400000;  // 160 MB, far above the caches

const std::vector<float>& Values() {
  static const std::vector<float> values = [] {
    stepslack::base::Random random(1);
    std::vector<float> made(static_cast<size_t>(kRows * kColumns));
    for (float& value : made) value = static_cast<float>(random.Next() & 0xffffff);
    return made;
  }();
  return values;
}

void ReadOnce(benchmark::State& state) {
  const auto& values = Values();
  for (auto _ : state) {
    uint64_t sums[8] = {};
    const auto* words = reinterpret_cast<const uint64_t*>(values.data());
    const size_t count = values.size() / 2;
    for (size_t i = 0; i + 8 <= count; i += 8) {
      for (size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void ExactRows(benchmark::State& state) {
  const auto& values = Values();
  for (auto _ : state) {
    auto found = stepslack::audit::FindDuplicateRows(values, kColumns, 1);
    benchmark::DoNotOptimize(found);
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void MapHashes(benchmark::State& state) {
  const auto& values = Values();
  constexpr int64_t kSide = 256;
  for (auto _ : state) {
    for (size_t at = 0; at + kSide * kSide <= values.size(); at += kSide * kSide) {
      auto hash = stepslack::audit::HashMap(
          std::span<const float>(values).subspan(at, kSide * kSide), kSide, kSide);
      benchmark::DoNotOptimize(hash);
    }
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(values.size() * sizeof(float)));
}

}  // namespace

BENCHMARK(ReadOnce);
BENCHMARK(ExactRows);
BENCHMARK(MapHashes);
BENCHMARK_MAIN();
