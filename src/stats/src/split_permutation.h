// Permutation p of a two-sample statistic of which larger values mean "more different".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// C(n, k), or `limit` + 1 when it is larger than `limit`.
int64_t ChooseUpTo(int64_t n, int64_t k, int64_t limit);

// Statistic of the split that puts the pooled indices `chosen` into the first sample;
// in_first[i] says the same for every index.
using SplitStatistic = std::function<double(const std::vector<bool>& in_first)>;

// The observed split is the first k of n. p is the share of splits whose statistic is
// at least the observed one (within 1e-12 of its size), the observed one included; all
// C(n, k) splits when there are at most max_enumerated, else seeded random ones with
// the (exceed + 1) / (resamples + 1) rule. `work` is the number of operations that one
// statistic takes: splits and resamples are limited to 5e8 operations in all (99
// resamples at least). `what` starts the method, which states how many were made.
TestResult SplitPermutationTest(size_t n, size_t k, const SplitStatistic& statistic,
                                const PermutationOptions& options, double work,
                                std::string_view what);

}  // namespace stepslack::stats
