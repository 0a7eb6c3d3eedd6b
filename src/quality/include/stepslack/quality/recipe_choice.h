// Does a model choose a better synthesis recipe than a fixed one does? The answer
// depends on how the rows are split: rows of a design that is known, of a new design of
// a known family, or of a new family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::quality {

struct RecipeChoiceOptions {
  std::string choice = "recipe";      // text column: what is chosen
  std::string minimise = "wc_delay";  // positive number column: what it costs
  std::string family = "family";      // text column: leakage unit
  std::string design = "design";      // text column: the case that is chosen for
  int folds = 5;
  double coverage = 0.9;  // nominal, of the interval
  uint64_t seed = 1;
  int threads = 1;
};

// How a model does when its test rows are new in one sense.
struct ChoiceSplit {
  std::string name;         // "rows", "design", "family"
  double mape = 0;          // mean |predicted / true - 1|
  base::Estimate regret;    // mean over designs of cost(chosen) / cost(best) - 1
  base::Estimate coverage;  // share inside of the interval calibrated on random rows
};

struct FixedChoice {
  std::string name;
  base::Estimate regret;
};

struct RecipeChoiceReport {
  RecipeChoiceOptions options;
  int64_t rows = 0;
  int64_t left_out = 0;  // rows without a positive cost, and designs' other rows
  int64_t left_out_designs = 0;  // without a row for every choice
  int64_t designs = 0;
  int64_t families = 0;
  int64_t features = 0;
  double half_width = 0;            // of the interval on log cost
  std::vector<ChoiceSplit> splits;  // rows, design, family
  std::vector<FixedChoice> fixed;   // best first
  // Regret of the model on unseen families less that of the best fixed choice, by
  // design, intervals by bootstrap over families.
  base::Estimate difference;
  std::string verdict;  // "keep the fixed recipe delay", "use the model", "undecided"
  std::string reason;
};

// Boosted trees on log cost, `folds`-fold; features are all feature columns of the
// table but `minimise`, text ones as codes by sorted value. The interval is the
// `coverage` quantile of |error of log cost| in the fold by random rows (split
// conformal; Vovk, Gammerman and Shafer 2005) and exchangeable there only. The best
// fixed choice is picked on all rows, which favours it slightly.
// Errors: QUAL-0100 a column is absent or of another kind, QUAL-0101 fewer
// families than folds; those of the learner.
base::Result<RecipeChoiceReport> CompareRecipeChoice(
    const data::Table& table, const RecipeChoiceOptions& options);

base::Json ToJson(const RecipeChoiceReport& report);  // "stepslack.recipe_choice/1"
std::string Describe(const RecipeChoiceReport& report);

}  // namespace stepslack::quality
