// Sparse symmetric positive definite systems G v = j: conjugate gradients with a
// modified incomplete Cholesky preconditioner, and a residual that is measured, not
// assumed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::eda {

struct Triplet {
  int32_t row = 0;
  int32_t column = 0;
  double value = 0;
};

// Compressed sparse rows, square; columns ascend within a row.
struct CsrMatrix {
  int32_t size = 0;
  std::vector<int32_t> row_begin;  // size + 1
  std::vector<int32_t> column;
  std::vector<double> value;
};

// Sums triplets at the same place. EDA-0001: empty or too large, an index outside the
// matrix, or a value that is not finite.
base::Result<CsrMatrix> BuildCsr(int32_t size, std::span<const Triplet> triplets);

// y = A x. Both spans have A.size elements.
void Multiply(const CsrMatrix& matrix, std::span<const double> x, std::span<double> y);

// ||b - A x|| / ||b||, from scratch; 0 when b = 0 and x = 0.
double RelativeResidual(const CsrMatrix& matrix, std::span<const double> rhs,
                        std::span<const double> x);

struct SolveOptions {
  double tolerance = 1e-10;  // on the true relative residual
  int max_iterations = 5000;
};

struct SolveStats {
  int iterations = 0;
  double relative_residual = 0;  // recomputed from scratch after the last iteration
  int64_t wall_ns = 0;  // what the spans cover is said where stats are returned
  int64_t cpu_ns = 0;   // of the calling thread
};

struct Solution {
  std::vector<double> x;
  SolveStats stats;
};

class IncompleteCholesky;

// A matrix with its preconditioner; solves any number of right sides. Solve() is const
// and may run on several threads at once.
class IrSolver {
 public:
  // EDA-0002: the structure is damaged; EDA-0003: not symmetric; EDA-0004: a diagonal
  // is not positive or the matrix is so far from positive definite that no shifted
  // incomplete factor exists.
  static base::Result<IrSolver> Build(CsrMatrix matrix);
  IrSolver(IrSolver&&) noexcept;
  IrSolver& operator=(IrSolver&&) noexcept;
  ~IrSolver();

  // Stats cover the iteration and the final residual, not Build(). EDA-0005: the right
  // side has another size or is not finite; EDA-0006: the residual stays above the
  // tolerance (singular or indefinite matrix, or too few iterations allowed).
  base::Result<Solution> Solve(std::span<const double> rhs,
                               const SolveOptions& options = {}) const;

  const CsrMatrix& matrix() const { return matrix_; }

 private:
  IrSolver(CsrMatrix matrix, std::unique_ptr<IncompleteCholesky> factor);
  CsrMatrix matrix_;
  std::unique_ptr<IncompleteCholesky> factor_;
};

// CPU time of the calling thread.
int64_t ThreadCpuNs();

}  // namespace stepslack::eda
