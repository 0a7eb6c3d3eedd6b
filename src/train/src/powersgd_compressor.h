// PowerSGD (Vogels, Karimireddy and Jaggi 2019, algorithms 1 and 2): every gradient
// matrix is sent as a product of two thin ones, found by one step of subspace iteration
// from where the last step ended.
#pragma once

#include "compression.h"

namespace stepslack::train {

// A tensor [rows, ...] is the matrix of its first dimension and all others. Tensors
// that the thin matrices would not shrink (vectors, small kernels) are sent whole. Two
// all-reduces a step: left factors with the whole tensors, then right factors.
class PowerSgdCompressor final : public Compressor {
 public:
  PowerSgdCompressor(const CompressionOptions& options,
                     std::vector<model::ParameterInfo> parameters,
                     size_t buffer_floats);
  std::string_view name() const override { return "powersgd"; }
  base::Status Exchange(std::span<float> gradients,
                        comm::Communicator& communicator) override;
  // The right factors, from which the next step starts, lie one after the other at the
  // begin of their parameter.
  std::vector<StateView> state() override {
    return {{"residual", residual_}, {"basis", basis_}};
  }

 private:
  struct Matrix {
    size_t offset = 0;  // into the parameter buffer
    size_t rows = 0;
    size_t columns = 0;
  };
  struct Range {
    size_t offset = 0;
    size_t count = 0;
  };
  void FindLeft(std::span<float> gradients);
  void FindRight();
  void Reconstruct(std::span<float> gradients, std::span<const float> own_right);
  void KeepBasis(const Matrix& m, const float* right);

  size_t rank_;
  std::vector<Matrix> matrices_;
  std::vector<Range> whole_;
  std::vector<float> basis_;  // in buffer order
  std::vector<float> left_;   // rows x rank of every matrix, then the whole tensors
  std::vector<float> right_;  // rank x columns of every matrix
};

// Makes the columns of a row-major [rows, rank] matrix orthonormal (modified
// Gram-Schmidt); a column that depends on earlier ones becomes zero.
void Orthonormalise(std::span<float> matrix, size_t rank);

}  // namespace stepslack::train
