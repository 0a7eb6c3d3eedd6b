#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/eda/ir_solver.h"

namespace stepslack::eda {
namespace {

// Sorts each row by column and sums equal columns. Rows are short, and insertion sort
// is stable, so the order of summation is the order of the triplets.
void SortAndMergeRows(CsrMatrix& matrix) {
  int32_t out = 0;
  for (int32_t row = 0; row < matrix.size; ++row) {
    const auto r = static_cast<size_t>(row);
    const int32_t begin = matrix.row_begin[r];
    const int32_t end = matrix.row_begin[r + 1];
    const int32_t first = out;
    for (int32_t k = begin; k < end; ++k) {
      const int32_t column = matrix.column[static_cast<size_t>(k)];
      const double value = matrix.value[static_cast<size_t>(k)];
      int32_t at = out;
      while (at > first && matrix.column[static_cast<size_t>(at - 1)] > column) --at;
      if (at > first && matrix.column[static_cast<size_t>(at - 1)] == column) {
        matrix.value[static_cast<size_t>(at - 1)] += value;
        continue;
      }
      for (int32_t m = out; m > at; --m) {
        const auto to = static_cast<size_t>(m);
        matrix.column[to] = matrix.column[to - 1];
        matrix.value[to] = matrix.value[to - 1];
      }
      matrix.column[static_cast<size_t>(at)] = column;
      matrix.value[static_cast<size_t>(at)] = value;
      ++out;
    }
    matrix.row_begin[r] = first;
  }
  matrix.row_begin[static_cast<size_t>(matrix.size)] = out;
  matrix.column.resize(static_cast<size_t>(out));
  matrix.value.resize(static_cast<size_t>(out));
}

base::Status CheckTriplets(int32_t size, std::span<const Triplet> triplets) {
  const auto refuse = [](std::string what, std::string where) -> base::Status {
    return base::Fail("EDA-0001", base::ExitCode::kInput, std::move(what),
                      std::move(where),
                      "check the network that the matrix was made of");
  };
  if (size <= 0) return refuse("a linear system needs at least one unknown", "matrix");
  if (triplets.size() > static_cast<size_t>(INT32_MAX)) {
    return refuse("more than 2^31 - 1 matrix entries", "matrix");
  }
  for (size_t i = 0; i < triplets.size(); ++i) {
    const Triplet& t = triplets[i];
    if (t.row < 0 || t.column < 0 || t.row >= size || t.column >= size) {
      return refuse(fmt::format("entry ({}, {}) lies outside a matrix of size {}",
                                t.row, t.column, size),
                    fmt::format("triplet {}", i));
    }
    if (!std::isfinite(t.value)) {
      return refuse(fmt::format("entry ({}, {}) is not finite", t.row, t.column),
                    fmt::format("triplet {}", i));
    }
  }
  return {};
}

}  // namespace

base::Result<CsrMatrix> BuildCsr(int32_t size, std::span<const Triplet> triplets) {
  SS_RETURN_IF_ERROR(CheckTriplets(size, triplets));
  CsrMatrix matrix;
  matrix.size = size;
  matrix.row_begin.assign(static_cast<size_t>(size) + 1, 0);
  matrix.column.resize(triplets.size());
  matrix.value.resize(triplets.size());
  for (const Triplet& t : triplets) ++matrix.row_begin[static_cast<size_t>(t.row) + 1];
  for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
    matrix.row_begin[i + 1] += matrix.row_begin[i];
  }
  std::vector<int32_t> next(matrix.row_begin.begin(), matrix.row_begin.end() - 1);
  for (const Triplet& t : triplets) {
    const auto at = static_cast<size_t>(next[static_cast<size_t>(t.row)]++);
    matrix.column[at] = t.column;
    matrix.value[at] = t.value;
  }
  SortAndMergeRows(matrix);
  return matrix;
}

void Multiply(const CsrMatrix& matrix, std::span<const double> x, std::span<double> y) {
  const double* in = x.data();
  const int32_t* column = matrix.column.data();
  const double* value = matrix.value.data();
  int32_t k = 0;
  for (int32_t row = 0; row < matrix.size; ++row) {
    const int32_t end = matrix.row_begin[static_cast<size_t>(row) + 1];
    double sum = 0;
    for (; k < end; ++k) sum += value[k] * in[column[k]];
    y[static_cast<size_t>(row)] = sum;
  }
}

double RelativeResidual(const CsrMatrix& matrix, std::span<const double> rhs,
                        std::span<const double> x) {
  std::vector<double> product(static_cast<size_t>(matrix.size));
  Multiply(matrix, x, product);
  double residual = 0;
  double norm = 0;
  for (size_t i = 0; i < product.size(); ++i) {
    const double r = rhs[i] - product[i];
    residual += r * r;
    norm += rhs[i] * rhs[i];
  }
  if (norm == 0) return residual == 0 ? 0 : INFINITY;
  return std::sqrt(residual / norm);
}

}  // namespace stepslack::eda
