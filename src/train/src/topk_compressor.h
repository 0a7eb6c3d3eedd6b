// Only the largest gradient values are exchanged, as (index, value) pairs (Aji and
// Heafield 2017; Stich et al. 2018 for the error feedback).
#pragma once

#include "compression.h"

namespace stepslack::train {

class TopKCompressor final : public Compressor {
 public:
  TopKCompressor(double share, std::vector<model::ParameterInfo> parameters,
                 size_t buffer_floats);
  std::string_view name() const override { return "topk"; }
  base::Status Exchange(std::span<float> gradients,
                        comm::Communicator& communicator) override;
  size_t count() const { return count_; }  // pairs a rank sends

 private:
  size_t count_;
};

// Indices of the `count` values of largest magnitude, ascending; of equal ones those
// with the lower index; what is no number counts as largest. Linear time.
std::vector<uint32_t> LargestMagnitudes(std::span<const float> values, size_t count);

}  // namespace stepslack::train
