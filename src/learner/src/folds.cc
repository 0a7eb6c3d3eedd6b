#include <algorithm>
#include <map>
#include <numeric>

#include "stepslack/base/random.h"
#include "stepslack/learner/learner.h"

namespace stepslack::learner {

std::vector<int> FoldsByGroup(std::span<const int64_t> group, int folds,
                              uint64_t seed) {
  std::map<int64_t, int64_t> sizes;
  for (int64_t g : group) ++sizes[g];
  std::vector<std::pair<int64_t, int64_t>> order(sizes.begin(), sizes.end());
  base::Random random(base::DeriveSeed(seed, "folds by group"));
  random.Shuffle(std::span(order));
  // The largest first, each into the smallest fold (longest processing time first).
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<int64_t> load(static_cast<size_t>(std::max(folds, 1)), 0);
  std::map<int64_t, int> fold_of;
  for (const auto& [g, size] : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += size;
    fold_of[g] = static_cast<int>(least - load.begin());
  }
  std::vector<int> out;
  out.reserve(group.size());
  for (int64_t g : group) out.push_back(fold_of[g]);
  return out;
}

std::vector<int> RandomFolds(int64_t rows, int folds, uint64_t seed) {
  const int count = std::max(folds, 1);
  std::vector<int> out(static_cast<size_t>(std::max<int64_t>(rows, 0)));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int>(i % static_cast<size_t>(count));
  }
  base::Random random(base::DeriveSeed(seed, "random folds"));
  random.Shuffle(std::span(out));
  return out;
}

}  // namespace stepslack::learner
