// Gradients exchanged in bfloat16: half the bytes, 8 bits of precision.
#pragma once

#include "compression.h"

namespace stepslack::train {

// Every rank gathers the words of all and sums them in float32, in rank order: one
// rounding on the way, whose error is fed back, and none of the sum. A rank receives
// 2 (n - 1) bytes a value where a ring of float32 takes 8 (n - 1) / n, so this saves
// traffic up to three ranks, breaks even at four and costs more beyond.
class Bfloat16Compressor final : public Compressor {
 public:
  explicit Bfloat16Compressor(size_t buffer_floats) : Compressor(buffer_floats) {}
  std::string_view name() const override { return "bfloat16"; }
  base::Status Exchange(std::span<float> gradients,
                        comm::Communicator& communicator) override;
  bool by_range() const override { return true; }
  comm::Work Launch(std::span<float> gradients, std::span<float> range,
                    comm::Communicator& communicator) override;
  void Collect(std::span<float> gradients, std::span<float> range) override;

 private:
  // Where a range lies in the words of a rank. A float behind the parameters travels as
  // its two halves.
  struct Place {
    size_t first = 0;  // word
    size_t values = 0;
    size_t scalars = 0;
    size_t words() const { return values + 2 * scalars; }
  };
  Place PlaceOf(std::span<float> gradients, std::span<float> range) const;

  std::vector<uint16_t> outgoing_;
  std::vector<uint16_t> gathered_words_;  // of a range: a block a rank, in rank order
  size_t ranks_ = 1;
};

// To nearest, ties to even; no number stays no number.
uint16_t ToBfloat16(float value);
float FromBfloat16(uint16_t word);

}  // namespace stepslack::train
