// Which configurations of a sweep to try next. A pure function of the study's file and
// of the scores so far, in the order in which the steps were issued: a search that was
// killed and is fed its scores again goes on as if nothing had happened.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/stats/search_schedule.h"
#include "stepslack/study/study_file.h"

namespace stepslack::study {

// One configuration for one length of training.
struct SearchStep {
  int64_t config = 0;
  int64_t rung = 0;  // 0 but for ASHA and Hyperband
  Settings values;   // with the resource, where there is one
};

class Search {
 public:
  Search(const StudySearch& search, bool maximise);

  // Steps that the scores so far allow; empty when the search is over. `scores` has one
  // value for every step issued before, in that order; NaN: it failed.
  std::vector<SearchStep> Next(const std::vector<double>& scores);

 private:
  std::vector<SearchStep> NextGrid();
  std::vector<SearchStep> NextRandom();
  std::vector<SearchStep> NextBayes(const std::vector<double>& scores);
  std::vector<SearchStep> NextAsha(const std::vector<double>& scores);
  std::vector<SearchStep> NextHyperband(const std::vector<double>& scores);
  SearchStep Issue(int64_t config, int64_t rung, const Settings& values,
                   std::optional<int64_t> resource);
  const Settings& Config(int64_t index);  // drawn at random, by its index alone
  int64_t AshaResource(int64_t rung) const;

  StudySearch search_;
  bool maximise_;
  std::vector<SearchStep> issued_;
  size_t reported_ = 0;  // scores that the ladder knows
  std::map<int64_t, Settings> configs_;
  int64_t next_config_ = 0;
  stats::AshaLadder ladder_;
  std::vector<std::pair<int64_t, int64_t>> promoted_;  // config, rung to run
  size_t bracket_ = 0, rung_ = 0;                      // of Hyperband
  std::vector<int64_t> alive_;
};

// Number of points of the grid; at most INT64_MAX.
int64_t GridSize(const std::vector<SearchDimension>& space);
// The point of that number; the last dimension changes fastest.
Settings GridPoint(const std::vector<SearchDimension>& space, int64_t index);
// Each dimension drawn by its own scale.
Settings RandomPoint(const std::vector<SearchDimension>& space, base::Random& random);

// Tree-structured Parzen estimator (Bergstra et al., "Algorithms for hyper-parameter
// optimization", NeurIPS 2011), each dimension by itself: the best fifth of the tried
// points (two at least) against the rest; of 24 points drawn from the density of the
// good ones, the one with the largest ratio of densities.
Settings ParzenPoint(const std::vector<SearchDimension>& space,
                     const std::vector<Settings>& tried,
                     const std::vector<double>& scores, bool maximise,
                     base::Random& random);

}  // namespace stepslack::study
