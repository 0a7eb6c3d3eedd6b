#include "stepslack/eda/ir_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "incomplete_cholesky.h"
#include "stepslack/base/context.h"

namespace stepslack::eda {
namespace {

// Rounding makes the recurrence drift from the true residual: iterate a little further,
// and start again from the true residual if that was not enough.
constexpr double kRecurrenceMargin = 0.5;
constexpr int kRestarts = 4;

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

bool StructureIsSound(const CsrMatrix& matrix) {
  if (matrix.size <= 0) return false;
  const auto n = static_cast<size_t>(matrix.size);
  if (matrix.row_begin.size() != n + 1 || matrix.row_begin[0] != 0) return false;
  if (matrix.column.size() != matrix.value.size()) return false;
  for (size_t i = 0; i < n; ++i) {
    if (matrix.row_begin[i] > matrix.row_begin[i + 1]) return false;
  }
  if (static_cast<size_t>(matrix.row_begin[n]) != matrix.column.size()) return false;
  for (size_t i = 0; i < n; ++i) {
    for (int32_t k = matrix.row_begin[i]; k < matrix.row_begin[i + 1]; ++k) {
      const auto at = static_cast<size_t>(k);
      if (matrix.column[at] < 0 || matrix.column[at] >= matrix.size) return false;
      if (k > matrix.row_begin[i] && matrix.column[at - 1] >= matrix.column[at]) {
        return false;
      }
      if (!std::isfinite(matrix.value[at])) return false;
    }
  }
  return true;
}

// The first row whose entries differ from its column's, or -1.
int32_t AsymmetricRow(const CsrMatrix& matrix) {
  // Rows ascend, so the entries (j, i), j = 0, 1, .. of column i come in the order of
  // row i.
  std::vector<int32_t> next(matrix.row_begin.begin(), matrix.row_begin.end() - 1);
  for (int32_t row = 0; row < matrix.size; ++row) {
    const auto r = static_cast<size_t>(row);
    for (int32_t k = matrix.row_begin[r]; k < matrix.row_begin[r + 1]; ++k) {
      const auto at = static_cast<size_t>(k);
      const auto c = static_cast<size_t>(matrix.column[at]);
      const int32_t twin = next[c]++;
      if (twin >= matrix.row_begin[c + 1]) return row;
      if (matrix.column[static_cast<size_t>(twin)] != row) return row;
      const double other = matrix.value[static_cast<size_t>(twin)];
      const double scale = std::max(std::abs(other), std::abs(matrix.value[at]));
      if (std::abs(other - matrix.value[at]) > 1e-12 * scale) return row;
    }
  }
  return -1;
}

int32_t NonPositiveDiagonal(const CsrMatrix& matrix) {
  for (int32_t row = 0; row < matrix.size; ++row) {
    const auto begin =
        matrix.column.begin() + matrix.row_begin[static_cast<size_t>(row)];
    const auto end =
        matrix.column.begin() + matrix.row_begin[static_cast<size_t>(row) + 1];
    const auto found = std::lower_bound(begin, end, row);
    if (found == end || *found != row) return row;
    if (!(matrix.value[static_cast<size_t>(found - matrix.column.begin())] > 0))
      return row;
  }
  return -1;
}

// Preconditioned conjugate gradients (Saad, Iterative Methods, algorithm 9.1).
class ConjugateGradients {
 public:
  ConjugateGradients(const CsrMatrix& matrix, const IncompleteCholesky& factor,
                     std::span<const double> rhs, std::vector<double>& x)
      : matrix_(matrix),
        factor_(factor),
        rhs_(rhs),
        x_(x),
        r_(x.size()),
        z_(x.size()),
        p_(x.size()),
        q_(x.size()) {}

  // Runs until ||r|| <= target or the count is used up; returns iterations done. Stops
  // early when a direction has no positive energy (matrix not positive definite).
  int Run(double target, int max_iterations) {
    Multiply(matrix_, x_, q_);
    for (size_t i = 0; i < r_.size(); ++i) r_[i] = rhs_[i] - q_[i];
    if (std::sqrt(Dot(r_, r_)) <= target) return 0;
    factor_.Apply(r_, z_);
    p_ = z_;
    double rz = Dot(r_, z_);
    for (int iteration = 1; iteration <= max_iterations; ++iteration) {
      Multiply(matrix_, p_, q_);
      const double energy = Dot(p_, q_);
      if (!(energy > 0) || !std::isfinite(energy)) return iteration - 1;
      const double alpha = rz / energy;
      double norm = 0;
      for (size_t i = 0; i < r_.size(); ++i) {
        x_[i] += alpha * p_[i];
        r_[i] -= alpha * q_[i];
        norm += r_[i] * r_[i];
      }
      if (std::sqrt(norm) <= target) return iteration;
      factor_.Apply(r_, z_);
      const double rz_next = Dot(r_, z_);
      const double beta = rz_next / rz;
      rz = rz_next;
      for (size_t i = 0; i < p_.size(); ++i) p_[i] = z_[i] + beta * p_[i];
    }
    return std::max(max_iterations, 0);
  }

 private:
  const CsrMatrix& matrix_;
  const IncompleteCholesky& factor_;
  std::span<const double> rhs_;
  std::vector<double>& x_;
  std::vector<double> r_, z_, p_, q_;
};

}  // namespace

int64_t ThreadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

IrSolver::IrSolver(CsrMatrix matrix, std::unique_ptr<IncompleteCholesky> factor)
    : matrix_(std::move(matrix)), factor_(std::move(factor)) {}
IrSolver::IrSolver(IrSolver&&) noexcept = default;
IrSolver& IrSolver::operator=(IrSolver&&) noexcept = default;
IrSolver::~IrSolver() = default;

base::Result<IrSolver> IrSolver::Build(CsrMatrix matrix) {
  if (!StructureIsSound(matrix)) {
    return base::Fail("EDA-0002", base::ExitCode::kInput,
                      "the sparse rows are damaged: sizes, order of columns or values",
                      "matrix", "make the matrix with BuildCsr");
  }
  if (const int32_t row = AsymmetricRow(matrix); row >= 0) {
    return base::Fail(
        "EDA-0003", base::ExitCode::kInput, "the conductance matrix is not symmetric",
        fmt::format("row {}", row), "enter every conductance with both of its nodes");
  }
  const int32_t row = NonPositiveDiagonal(matrix);
  std::optional<IncompleteCholesky> factor;
  if (row < 0) factor = IncompleteCholesky::Factor(matrix);
  if (!factor.has_value()) {
    return base::Fail(
        "EDA-0004", base::ExitCode::kInput,
        "the conductance matrix is not positive definite",
        row < 0 ? "matrix" : fmt::format("row {}", row),
        "look for a node without any conductance or a negative resistance");
  }
  return IrSolver(std::move(matrix),
                  std::make_unique<IncompleteCholesky>(std::move(*factor)));
}

base::Result<Solution> IrSolver::Solve(std::span<const double> rhs,
                                       const SolveOptions& options) const {
  const int64_t wall_start = base::NowNs();
  const int64_t cpu_start = ThreadCpuNs();
  const bool finite =
      std::all_of(rhs.begin(), rhs.end(), [](double v) { return std::isfinite(v); });
  if (rhs.size() != static_cast<size_t>(matrix_.size) || !finite) {
    return base::Fail(
        "EDA-0005", base::ExitCode::kInput,
        fmt::format("the right side needs {} finite values", matrix_.size),
        "right side", "check the currents");
  }
  Solution solution;
  solution.x.assign(rhs.size(), 0);
  const double norm = std::sqrt(Dot(rhs, rhs));
  ConjugateGradients method(matrix_, *factor_, rhs, solution.x);
  SolveStats& stats = solution.stats;
  for (int attempt = 0; attempt < kRestarts; ++attempt) {
    stats.iterations += method.Run(kRecurrenceMargin * options.tolerance * norm,
                                   options.max_iterations - stats.iterations);
    stats.relative_residual = RelativeResidual(matrix_, rhs, solution.x);
    if (stats.relative_residual <= options.tolerance) break;
  }
  if (!(stats.relative_residual <= options.tolerance)) {
    return base::Fail(
        "EDA-0006", base::ExitCode::kInput,
        fmt::format("relative residual {:.3g} after {} iterations, wanted "
                    "{:.3g}",
                    stats.relative_residual, stats.iterations, options.tolerance),
        "conjugate gradients", "look for nodes without a path to a voltage source");
  }
  stats.wall_ns = base::NowNs() - wall_start;
  stats.cpu_ns = ThreadCpuNs() - cpu_start;
  return solution;
}

}  // namespace stepslack::eda
