#include "dihedral.h"

#include <bit>

#include "stepslack/base/digest.h"

namespace stepslack::data {
namespace {

// -1, 0 or 1: order of the two transformed forms.
int CompareForms(const PlaneList& planes, const Walk& a, const Walk& b) {
  if (a.height != b.height) return a.height < b.height ? -1 : 1;
  for (const auto* plane : planes) {
    for (int64_t r = 0; r < a.height; ++r) {
      const float* x = plane->data() + a.start + r * a.row_step;
      const float* y = plane->data() + b.start + r * b.row_step;
      for (int64_t c = 0; c < a.width; ++c) {
        const auto p = std::bit_cast<uint32_t>(x[c * a.column_step]);
        const auto q = std::bit_cast<uint32_t>(y[c * b.column_step]);
        if (p != q) return p < q ? -1 : 1;
      }
    }
  }
  return 0;
}

}  // namespace

Walk WalkOf(int64_t height, int64_t width, int transform) {
  const bool exchange = (transform & 1) != 0;
  const bool flip_rows = (transform & 2) != 0;
  const bool flip_columns = (transform & 4) != 0;
  const int64_t down = flip_rows ? -width : width;  // step to the next original row
  const int64_t right = flip_columns ? -1 : 1;      // to the next original column
  Walk walk;
  walk.height = exchange ? width : height;
  walk.width = exchange ? height : width;
  walk.start = (flip_rows ? (height - 1) * width : 0) + (flip_columns ? width - 1 : 0);
  walk.row_step = exchange ? right : down;
  walk.column_step = exchange ? down : right;
  return walk;
}

std::vector<float> Transformed(const std::vector<float>& plane, int64_t height,
                               int64_t width, int transform) {
  const Walk walk = WalkOf(height, width, transform);
  std::vector<float> out;
  out.reserve(plane.size());
  for (int64_t r = 0; r < walk.height; ++r) {
    const float* row = plane.data() + walk.start + r * walk.row_step;
    for (int64_t c = 0; c < walk.width; ++c) out.push_back(row[c * walk.column_step]);
  }
  return out;
}

int CanonicalTransform(const PlaneList& planes, int64_t height, int64_t width) {
  int best = 0;
  for (int t = 1; t < kTransforms; ++t) {
    const int order =
        CompareForms(planes, WalkOf(height, width, t), WalkOf(height, width, best));
    if (order < 0) best = t;
  }
  return best;
}

std::string HashOf(const PlaneList& planes, int64_t height, int64_t width,
                   int transform) {
  const Walk walk = WalkOf(height, width, transform);
  base::Sha256 hash;
  const int64_t shape[2] = {walk.height, walk.width};
  hash.Update(shape, sizeof shape);
  for (const auto* plane : planes) {
    if (transform == 0) {
      hash.Update(plane->data(), plane->size() * sizeof(float));
      continue;
    }
    const std::vector<float> form = Transformed(*plane, height, width, transform);
    hash.Update(form.data(), form.size() * sizeof(float));
  }
  return hash.Finish();
}

std::string InvariantHashOf(const PlaneList& planes, int64_t height, int64_t width) {
  return HashOf(planes, height, width, CanonicalTransform(planes, height, width));
}

}  // namespace stepslack::data
