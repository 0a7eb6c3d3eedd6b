#include "stepslack/base/random.h"

#include <bit>
#include <cmath>

namespace stepslack::base {
namespace {

uint64_t SplitMix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix(seed);
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Random::Uniform(double low, double high) {
  return low + (high - low) * Uniform();
}

uint64_t Random::Below(uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound: rejected part
  uint64_t value = Next();
  while (value < threshold) value = Next();
  return value % bound;
}

double Random::Normal() {
  while (true) {
    const double u = Uniform(-1, 1);
    const double v = Uniform(-1, 1);
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * std::log(s) / s);
  }
}

uint64_t DeriveSeed(uint64_t seed, std::string_view purpose, uint64_t index) {
  uint64_t state = seed;
  uint64_t mixed = SplitMix(state);
  for (const char c : purpose) {
    state = mixed ^ static_cast<unsigned char>(c);
    mixed = SplitMix(state);
  }
  state = mixed ^ index;
  mixed = SplitMix(state);
  return SplitMix(state) ^ std::rotl(mixed, 32);
}

}  // namespace stepslack::base
