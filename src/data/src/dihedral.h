// The eight flips and quarter turns of a rectangular plane (the dihedral group of the
// square), and a form that is the same for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepslack::data {

constexpr int kTransforms = 8;

// How to walk a plane so that it comes out transformed: element (r, c) of the result is
// plane[start + r * row_step + c * column_step].
struct Walk {
  int64_t height = 0;
  int64_t width = 0;
  int64_t start = 0;
  int64_t row_step = 0;
  int64_t column_step = 0;
};

// transform: bit 0 exchanges rows and columns, bit 1 flips the rows of the original,
// bit 2 its columns; 0 is the identity.
Walk WalkOf(int64_t height, int64_t width, int transform);

std::vector<float> Transformed(const std::vector<float>& plane, int64_t height,
                               int64_t width, int transform);

using PlaneList = std::vector<const std::vector<float>*>;

// The transform whose result is smallest: first by height, then by the bits of the
// values of the first plane, the second and so on (all planes are transformed
// together). Equal for maps that are flips or turns of each other up to their own
// symmetry, so the result has the same bytes. Cheaper than hashing all eight: most
// comparisons end early.
int CanonicalTransform(const PlaneList& planes, int64_t height, int64_t width);

// SHA-256 over height, width and the bytes of the transformed planes.
std::string HashOf(const PlaneList& planes, int64_t height, int64_t width,
                   int transform = 0);

// Equal exactly for planes that are flips or turns of each other, all together.
std::string InvariantHashOf(const PlaneList& planes, int64_t height, int64_t width);

}  // namespace stepslack::data
