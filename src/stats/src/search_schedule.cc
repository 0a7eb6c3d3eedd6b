#include "stepslack/stats/search_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepslack::stats {
namespace {

constexpr int64_t kMostResource = 1'000'000'000;
constexpr int64_t kMostEta = 1000;

}  // namespace

std::vector<std::vector<Rung>> HyperbandBrackets(int64_t most_resource, int64_t eta,
                                                 HyperbandRule rule) {
  std::vector<std::vector<Rung>> brackets;
  if (most_resource < 1 || most_resource > kMostResource || eta < 2 || eta > kMostEta) {
    return brackets;
  }
  std::vector<int64_t> powers = {1};  // eta^s, at most most_resource: no overflow below
  while (powers.back() <= most_resource / eta) powers.push_back(powers.back() * eta);
  const auto count = static_cast<int64_t>(powers.size());  // s_max + 1
  for (int64_t s = count - 1; s >= 0; --s) {
    const int64_t power = powers[static_cast<size_t>(s)];
    const int64_t trials = rule == HyperbandRule::kCeil ? (count * power + s) / (s + 1)
                                                        : count / (s + 1) * power;
    std::vector<Rung> rungs;
    for (int64_t i = 0; i <= s; ++i) {
      const double share = static_cast<double>(powers[static_cast<size_t>(i)]) /
                           static_cast<double>(power);
      rungs.push_back({trials / powers[static_cast<size_t>(i)],
                       static_cast<double>(most_resource) * share});
    }
    brackets.push_back(std::move(rungs));
  }
  return brackets;
}

AshaLadder::AshaLadder(int64_t eta, bool higher_is_better)
    : eta_(std::max<int64_t>(eta, 2)), sign_(higher_is_better ? -1 : 1) {}

std::vector<int64_t> AshaLadder::Report(int64_t trial, int64_t rung, double score) {
  State& state = rungs_[rung];
  if (!state.reported.insert(trial).second) return {};
  const double key =
      std::isnan(score) ? std::numeric_limits<double>::infinity() : sign_ * score;
  // After all equal keys, so that the earlier report stays in front.
  const auto place = std::upper_bound(
      state.ranked.begin(), state.ranked.end(), key,
      [](double value, const auto& entry) { return value < entry.first; });
  state.ranked.insert(place, {key, trial});
  const size_t best = state.ranked.size() / static_cast<size_t>(eta_);
  std::vector<int64_t> promotions;
  for (size_t i = 0; i < best; ++i) {
    if (std::isinf(state.ranked[i].first) && state.ranked[i].first > 0) break;
    if (state.promoted.insert(state.ranked[i].second).second) {
      promotions.push_back(state.ranked[i].second);
    }
  }
  return promotions;
}

}  // namespace stepslack::stats
