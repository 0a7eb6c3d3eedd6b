// Which trials of a hyperparameter search go on, and for how long.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace stepslack::stats {

struct Rung {
  int64_t trials = 0;
  double resource = 0;  // of one trial, in the unit of `most_resource`
};

enum class HyperbandRule {
  kCeil,  // n = ceil((s_max + 1) / (s + 1) eta^s): ours, the algorithm as printed
  kFloor  // n = floor((s_max + 1) / (s + 1)) eta^s: its worked table (81 27 9 6 5)
};

// Brackets s = s_max ... 0 of Hyperband (Li et al. 2018, algorithm 1): rung i keeps
// floor(n / eta^i) trials at resource most_resource eta^(i - s). Empty unless 1 <=
// most_resource <= 1e9 and 2 <= eta <= 1000.
std::vector<std::vector<Rung>> HyperbandBrackets(int64_t most_resource, int64_t eta,
                                                 HyperbandRule rule);

// Asynchronous successive halving (Li et al. 2020): after every result at a rung, the
// trials among its best floor(results / eta) that were not promoted yet are. Equal
// scores: the earlier trial first. Scores that are NaN rank last and are never
// promoted.
class AshaLadder {
 public:
  // eta >= 2; smaller values count as 2.
  AshaLadder(int64_t eta, bool higher_is_better);

  // Trials that this result promotes from `rung` to the next, best first. A trial that
  // reports twice at a rung keeps its first score.
  std::vector<int64_t> Report(int64_t trial, int64_t rung, double score);

 private:
  struct State {
    std::vector<std::pair<double, int64_t>> ranked;  // key (less is better), trial
    std::set<int64_t> reported;
    std::set<int64_t> promoted;
  };

  int64_t eta_;
  double sign_;  // -1 when higher is better
  std::map<int64_t, State> rungs_;
};

}  // namespace stepslack::stats
