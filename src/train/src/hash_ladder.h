// Hashes of what a step is made of, in the order in which the parts follow from each
// other. Two runs that must agree first differ at the rung where they part: other
// samples, other parameters, another local gradient (computation), another reduced
// gradient (communication).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stepslack/record/run_record.h"

namespace stepslack::train {

class HashLadder {
 public:
  // Hashes steps every, 2 * every, ...; 0: none.
  explicit HashLadder(int64_t every_steps) : every_(every_steps) {}

  bool Covers(int64_t step) const { return every_ > 0 && step % every_ == 0; }

  // Rungs of one step; each in XXH3-128, about 10 GB/s, so a step of this many bytes
  // hardly notices.
  void Samples(std::span<const int64_t> indices);
  void Parameters(std::span<const float> values);
  void LocalGradient(std::span<const float> gradient);
  void ReducedGradient(std::span<const float> gradient);

  // Hands the rungs over to the step's record and forgets them.
  void MoveTo(record::StepRecord& record);

 private:
  int64_t every_;
  std::string samples_, parameters_, local_gradient_, reduced_gradient_;
};

}  // namespace stepslack::train
