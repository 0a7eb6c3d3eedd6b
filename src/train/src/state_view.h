// A named part of the training state, for checkpoints.
#pragma once

#include <span>
#include <string_view>

namespace stepslack::train {

// Floats in the order and of the length of the parameter buffer, so that a checkpoint
// can cut them by parameter. Not owned: valid as long as its owner lives.
struct StateView {
  std::string_view name;  // "moment1"; static
  std::span<float> values;
};

}  // namespace stepslack::train
