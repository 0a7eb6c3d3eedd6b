#include "stepslack/study/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search_space.h"

namespace stepslack::study {
namespace {

// Random configurations before the Parzen estimator has something to learn from.
int64_t Startup(const StudySearch& search) {
  return std::clamp<int64_t>(search.trials / 4, 4, 20);
}

}  // namespace

Search::Search(const StudySearch& search, bool maximise)
    : search_(search), maximise_(maximise), ladder_(search.eta, maximise) {}

const Settings& Search::Config(int64_t index) {
  const auto found = configs_.find(index);
  if (found != configs_.end()) return found->second;
  base::Random random(
      base::DeriveSeed(search_.seed, "configuration", static_cast<uint64_t>(index)));
  return configs_[index] = RandomPoint(search_.space, random);
}

SearchStep Search::Issue(int64_t config, int64_t rung, const Settings& values,
                         std::optional<int64_t> resource) {
  SearchStep step{config, rung, values};
  if (resource) step.values[search_.resource] = *resource;
  issued_.push_back(step);
  return step;
}

std::vector<SearchStep> Search::Next(const std::vector<double>& scores) {
  switch (search_.method) {
    case SearchMethod::kGrid:
      return NextGrid();
    case SearchMethod::kRandom:
      return NextRandom();
    case SearchMethod::kBayes:
      return NextBayes(scores);
    case SearchMethod::kAsha:
      return NextAsha(scores);
    case SearchMethod::kHyperband:
      return NextHyperband(scores);
  }
  return {};
}

std::vector<SearchStep> Search::NextGrid() {
  std::vector<SearchStep> steps;
  for (const int64_t size = GridSize(search_.space); next_config_ < size;
       ++next_config_) {
    steps.push_back(Issue(next_config_, 0, GridPoint(search_.space, next_config_), {}));
  }
  return steps;
}

std::vector<SearchStep> Search::NextRandom() {
  std::vector<SearchStep> steps;
  for (; next_config_ < search_.trials; ++next_config_) {
    steps.push_back(Issue(next_config_, 0, Config(next_config_), {}));
  }
  return steps;
}

std::vector<SearchStep> Search::NextBayes(const std::vector<double>& scores) {
  std::vector<SearchStep> steps;
  const int64_t random_ones = std::min<int64_t>(Startup(search_), search_.trials);
  const int64_t until =
      next_config_ < random_ones
          ? random_ones
          : std::min<int64_t>(next_config_ + search_.batch, search_.trials);
  std::vector<Settings> tried;
  for (size_t i = 0; i < scores.size(); ++i) tried.push_back(issued_[i].values);
  for (; next_config_ < until; ++next_config_) {
    base::Random random(
        base::DeriveSeed(search_.seed, "parzen", static_cast<uint64_t>(next_config_)));
    steps.push_back(
        Issue(next_config_, 0,
              next_config_ < random_ones
                  ? Config(next_config_)
                  : ParzenPoint(search_.space, tried, scores, maximise_, random),
              {}));
  }
  return steps;
}

int64_t Search::AshaResource(int64_t rung) const {
  double resource = static_cast<double>(search_.least_resource);
  for (int64_t i = 0; i < rung; ++i) resource *= static_cast<double>(search_.eta);
  return static_cast<int64_t>(
      std::min(resource, static_cast<double>(search_.most_resource)));
}

std::vector<SearchStep> Search::NextAsha(const std::vector<double>& scores) {
  for (; reported_ < scores.size(); ++reported_) {
    const SearchStep& step = issued_[reported_];
    const bool top = AshaResource(step.rung) >= search_.most_resource;
    if (top) continue;
    for (const int64_t config :
         ladder_.Report(step.config, step.rung, scores[reported_])) {
      promoted_.emplace_back(config, step.rung + 1);
    }
  }
  std::vector<SearchStep> steps;
  while (steps.size() < static_cast<size_t>(search_.batch)) {
    if (!promoted_.empty()) {
      // The highest rung first: what is nearest to an answer.
      const auto best = std::ranges::max_element(
          promoted_, {}, [](const auto& entry) { return entry.second; });
      const auto [config, rung] = *best;
      promoted_.erase(best);
      steps.push_back(Issue(config, rung, Config(config), AshaResource(rung)));
    } else if (next_config_ < search_.trials) {
      steps.push_back(Issue(next_config_, 0, Config(next_config_), AshaResource(0)));
      ++next_config_;
    } else {
      break;
    }
  }
  return steps;
}

std::vector<SearchStep> Search::NextHyperband(const std::vector<double>& scores) {
  const int64_t ratio = search_.most_resource / search_.least_resource;
  const auto brackets =
      stats::HyperbandBrackets(ratio, search_.eta, stats::HyperbandRule::kCeil);
  if (!issued_.empty() && bracket_ < brackets.size()) {
    // The best of the rung that has just been scored go on.
    const size_t first = scores.size() - alive_.size();
    std::vector<std::pair<double, int64_t>> ranked;
    for (size_t i = 0; i < alive_.size(); ++i) {
      const double score = scores[first + i];
      if (!std::isnan(score))
        ranked.emplace_back(maximise_ ? -score : score, alive_[i]);
    }
    std::ranges::sort(ranked);
    alive_.clear();
    if (++rung_ < brackets[bracket_].size()) {
      const auto keep = static_cast<size_t>(brackets[bracket_][rung_].trials);
      for (size_t i = 0; i < std::min(keep, ranked.size()); ++i) {
        alive_.push_back(ranked[i].second);
      }
    }
    if (alive_.empty()) {
      ++bracket_;
      rung_ = 0;
    }
  }
  if (bracket_ >= brackets.size()) return {};
  if (alive_.empty()) {
    for (int64_t i = 0; i < brackets[bracket_].front().trials; ++i) {
      alive_.push_back(next_config_++);
    }
  }
  const auto resource =
      std::max<int64_t>(1, std::llround(brackets[bracket_][rung_].resource *
                                        static_cast<double>(search_.least_resource)));
  std::vector<SearchStep> steps;
  for (const int64_t config : alive_) {
    steps.push_back(
        Issue(config, static_cast<int64_t>(rung_), Config(config), resource));
  }
  return steps;
}

}  // namespace stepslack::study
