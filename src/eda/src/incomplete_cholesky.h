// Modified incomplete Cholesky factorisation without fill: A ~ L D L^T on the pattern
// of A (Meijerink and van der Vorst 1977; Gustafsson 1978). Dropped fill is moved to
// the diagonal with weight `kModification`, which turns O(N) iterations on an N x N
// grid into O(sqrt N).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepslack/eda/ir_solver.h"

namespace stepslack::eda {

class IncompleteCholesky {
 public:
  // Symmetric, positive diagonal. A pivot that is lost with full modification is
  // retried without modification and then with growing diagonal shifts; no value: all
  // are lost.
  static std::optional<IncompleteCholesky> Factor(const CsrMatrix& matrix);

  // z = (L D L^T)^-1 r.
  void Apply(std::span<const double> r, std::span<double> z) const;

 private:
  bool TryFactor(const CsrMatrix& matrix, double modification, double shift);
  void EliminateColumn(int32_t k, double modification, std::vector<double>& pivot);

  int32_t size_ = 0;
  // Strictly upper rows of L^T: row k holds L(j, k) for j > k.
  std::vector<int32_t> begin_;
  std::vector<int32_t> column_;
  std::vector<double> value_;
  std::vector<double> inverse_pivot_;
};

}  // namespace stepslack::eda
