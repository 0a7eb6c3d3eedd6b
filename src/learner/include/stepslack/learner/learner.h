// Learners for tables, small enough to be fitted many times in an audit: boosted trees
// (XGBoost; Chen and Guestrin, KDD 2016) and ridge regression on standardised columns.
// Deterministic: same input, options and seed give the same bytes with any `threads`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::learner {

// Row-major; NaN is a missing value.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;
};

enum class Method { kBoostedTrees, kRidge };
enum class Task {
  kRegression,  // predictions in the label's unit
  kBinary       // labels 0 or 1; predictions are probabilities of 1
};

struct LearnerOptions {
  Method method = Method::kBoostedTrees;
  Task task = Task::kRegression;
  int rounds = 300;  // trees
  int depth = 6;     // of a tree
  double learning_rate = 0.1;
  double l2 = 1;  // ridge penalty, also of leaf weights
  uint64_t seed = 1;
  int threads = 1;
};

// Fits on `train` and predicts `test`. LEARN-0001 shapes disagree, LEARN-0002 no rows
// or one class only, LEARN-0003 a label that is not finite (or not 0 or 1).
base::Result<std::vector<double>> FitAndPredict(const Matrix& train,
                                                std::span<const double> labels,
                                                const Matrix& test,
                                                const LearnerOptions& options = {});

// Out-of-fold predictions: row i is predicted by a model that has not seen the rows of
// fold[i]. Folds are numbered from 0.
base::Result<std::vector<double>> CrossPredict(const Matrix& rows,
                                               std::span<const double> labels,
                                               std::span<const int> fold,
                                               const LearnerOptions& options = {});

// Fold numbers 0 .. folds - 1 that keep the rows of a group together and the folds of
// about equal size; a function of the group numbers and the seed only.
std::vector<int> FoldsByGroup(std::span<const int64_t> group, int folds, uint64_t seed);
std::vector<int> RandomFolds(int64_t rows, int folds, uint64_t seed);

}  // namespace stepslack::learner
