#include "stepslack/learner/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "boosted_trees.h"
#include "ridge.h"
#include "stepslack/base/parallel.h"

namespace stepslack::learner {
namespace {

using base::ExitCode;

bool IsWhole(const Matrix& matrix) {
  return matrix.rows >= 0 && matrix.columns >= 1 &&
         matrix.values.size() % static_cast<size_t>(matrix.columns) == 0 &&
         matrix.values.size() / static_cast<size_t>(matrix.columns) ==
             static_cast<size_t>(matrix.rows);
}

base::Status CheckOptions(const LearnerOptions& options) {
  const bool ok = options.rounds >= 1 && options.rounds <= 100000 &&
                  options.depth >= 1 && options.depth <= 16 &&
                  options.learning_rate > 0 && options.learning_rate <= 1 &&
                  options.l2 >= 0 && std::isfinite(options.l2);
  if (ok) return {};
  return base::Fail(
      "LEARN-0004", ExitCode::kUsage,
      fmt::format("rounds {}, depth {}, learning rate {}, l2 {}", options.rounds,
                  options.depth, options.learning_rate, options.l2),
      "learner options",
      "rounds 1 to 100000, depth 1 to 16, a learning rate above 0 and "
      "up to 1, l2 not negative");
}

base::Status CheckShapes(const Matrix& train, std::span<const double> labels,
                         const Matrix& test) {
  if (IsWhole(train) && IsWhole(test) && train.columns == test.columns &&
      labels.size() == static_cast<size_t>(train.rows)) {
    return {};
  }
  return base::Fail(
      "LEARN-0001", ExitCode::kInput,
      fmt::format("{} x {} values to learn from, {} labels, {} x {} to predict",
                  train.rows, train.columns, labels.size(), test.rows, test.columns),
      "table of features", "give one label a row and equal columns, at least one");
}

base::Status CheckLabels(std::span<const double> labels, const LearnerOptions& options,
                         const std::string& where) {
  int64_t ones = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double y = labels[i];
    const bool binary = options.task == Task::kBinary;
    if (!std::isfinite(y) || (binary && y != 0 && y != 1)) {
      return base::Fail("LEARN-0003", ExitCode::kInput,
                        fmt::format("a label is {}, which is not {}", y,
                                    binary ? "0 or 1" : "finite"),
                        fmt::format("{}, row {}", where, i),
                        "leave out rows without a label first");
    }
    ones += y == 1 ? 1 : 0;
  }
  const auto rows = static_cast<int64_t>(labels.size());
  if (rows > 0 && (options.task != Task::kBinary || (ones > 0 && ones < rows))) {
    return {};
  }
  return base::Fail("LEARN-0002", ExitCode::kInput,
                    rows == 0
                        ? std::string("there are no rows to learn from")
                        : fmt::format("all {} labels are {}", rows, ones > 0 ? 1 : 0),
                    where, "take a label with both classes, more rows, or fewer folds");
}

base::Result<std::vector<double>> Fit(const Matrix& train,
                                      std::span<const double> labels,
                                      const Matrix& test,
                                      const LearnerOptions& options) {
  if (test.rows == 0) return std::vector<double>{};
  return options.method == Method::kRidge ? Ridge(train, labels, test, options)
                                          : BoostedTrees(train, labels, test, options);
}

// The rows of the fold, or all others.
std::vector<int64_t> RowsOf(std::span<const int> fold, int number, bool inside) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < fold.size(); ++i) {
    if ((fold[i] == number) == inside) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

Matrix Take(const Matrix& matrix, const std::vector<int64_t>& rows) {
  Matrix out{static_cast<int64_t>(rows.size()), matrix.columns, {}};
  out.values.reserve(rows.size() * static_cast<size_t>(matrix.columns));
  for (int64_t row : rows) {
    const auto first = matrix.values.begin() + row * matrix.columns;
    out.values.insert(out.values.end(), first, first + matrix.columns);
  }
  return out;
}

base::Result<std::vector<double>> PredictFold(const Matrix& rows,
                                              std::span<const double> labels,
                                              std::span<const int> fold, int number,
                                              const LearnerOptions& options) {
  const std::vector<int64_t> others = RowsOf(fold, number, false);
  std::vector<double> known;
  known.reserve(others.size());
  for (int64_t i : others) known.push_back(labels[static_cast<size_t>(i)]);
  SS_RETURN_IF_ERROR(
      CheckLabels(known, options, fmt::format("rows outside fold {}", number)));
  return Fit(Take(rows, others), known, Take(rows, RowsOf(fold, number, true)),
             options);
}

}  // namespace

base::Result<std::vector<double>> FitAndPredict(const Matrix& train,
                                                std::span<const double> labels,
                                                const Matrix& test,
                                                const LearnerOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  SS_RETURN_IF_ERROR(CheckShapes(train, labels, test));
  SS_RETURN_IF_ERROR(CheckLabels(labels, options, "labels"));
  return Fit(train, labels, test, options);
}

base::Result<std::vector<double>> CrossPredict(const Matrix& rows,
                                               std::span<const double> labels,
                                               std::span<const int> fold,
                                               const LearnerOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  SS_RETURN_IF_ERROR(CheckShapes(rows, labels, rows));
  if (fold.size() != labels.size()) {
    return base::Fail(
        "LEARN-0007", ExitCode::kInput,
        fmt::format("{} rows but {} fold numbers", labels.size(), fold.size()), "folds",
        "give one fold number a row");
  }
  const std::set<int> distinct(fold.begin(), fold.end());
  const std::vector<int> numbers(distinct.begin(), distinct.end());
  std::vector<base::Result<std::vector<double>>> parts(numbers.size());
  base::ParallelFor(numbers.size(), options.threads, [&](size_t k) {
    parts[k] = PredictFold(rows, labels, fold, numbers[k], options);
  });
  std::vector<double> out(labels.size(), 0.0);
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (!parts[k].has_value()) return tl::unexpected(std::move(parts[k]).error());
    const std::vector<int64_t> inside = RowsOf(fold, numbers[k], true);
    for (size_t i = 0; i < inside.size(); ++i) {
      out[static_cast<size_t>(inside[i])] = (*parts[k])[i];
    }
  }
  return out;
}

}  // namespace stepslack::learner
