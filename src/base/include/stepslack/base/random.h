// Seeded random numbers whose sequence is fixed by this file, not by the standard
// library, so that data and analysis are bit-equal on every compiler.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace stepslack::base {

// xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed);
  uint64_t Next();
  double Uniform();                         // [0, 1), 53 bits
  double Uniform(double low, double high);  // [low, high)
  uint64_t Below(uint64_t bound);           // [0, bound), unbiased; bound > 0
  double Normal();                          // mean 0, deviation 1 (polar method)

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[Below(i)]);
    }
  }

 private:
  uint64_t state_[4];
};

// A child seed that depends on every argument; used for per-rank, per-epoch and
// per-worker streams so that no two share a sequence by accident.
uint64_t DeriveSeed(uint64_t seed, std::string_view purpose, uint64_t index = 0);

}  // namespace stepslack::base
