#include "stepslack/audit/map_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

namespace stepslack::audit {
namespace {

constexpr int kSide = 32;
constexpr int kHalf = kSide / 2;
constexpr int kFrequencies = 8;   // even ones along an axis: 0, 2, .. 14
constexpr size_t kPixels = 1024;  // kSide * kSide
using Picture = std::array<double, kPixels>;
using Quadrant = std::array<double, kHalf * kHalf>;

double At(const Picture& p, int r, int c) {
  return p[size_t(std::clamp(r, 0, kSide - 1) * kSide + std::clamp(c, 0, kSide - 1))];
}

// Sums `count` columns of a row over kSide equal parts; a pixel on a border counts by
// the part of it that lies inside.
class AxisParts {
 public:
  explicit AxisParts(int64_t count) : whole_(count % kSide == 0), step_(count / kSide) {
    for (int64_t i = 0; i < count && !whole_; ++i) {
      const double low = double(i) * kSide / double(count);
      const double high = double(i + 1) * kSide / double(count);
      for (int part = int(low); part < kSide && part < high; ++part) {
        const double share =
            std::min<double>(high, part + 1) - std::max<double>(low, part);
        if (share > 0) shares_.push_back({i, part, share});
      }
    }
  }

  void AddRow(const float* row, double weight, double* out) const {
    if (whole_) {
      for (int part = 0; part < kSide; ++part) {
        float sum = 0;
        for (int64_t i = 0; i < step_; ++i) sum += row[part * step_ + i];
        out[part] += weight * double(sum);
      }
      return;
    }
    for (const Share& share : shares_) {
      out[share.part] += weight * share.weight * double(row[share.pixel]);
    }
  }

  // Parts that row `i` belongs to, with their shares.
  template <typename Visit>
  void Parts(int64_t i, int64_t count, Visit visit) const {
    if (whole_) {
      visit(int(i / step_), 1.0);
      return;
    }
    const double low = double(i) * kSide / double(count);
    const double high = double(i + 1) * kSide / double(count);
    for (int part = int(low); part < kSide && part < high; ++part) {
      const double share =
          std::min<double>(high, part + 1) - std::max<double>(low, part);
      if (share > 0) visit(part, share);
    }
  }

 private:
  struct Share {
    int64_t pixel;
    int part;
    double weight;
  };
  bool whole_;
  int64_t step_;
  std::vector<Share> shares_;
};

Picture Shrink(std::span<const float> plane, int64_t height, int64_t width) {
  Picture out{};
  const AxisParts across(width);
  const AxisParts down(height);
  for (int64_t r = 0; r < height; ++r) {
    down.Parts(r, height, [&](int part, double weight) {
      across.AddRow(plane.data() + r * width, weight, out.data() + part * kSide);
    });
  }
  return out;
}

// The mean over the eight symmetries, of which one quadrant says everything.
Quadrant Symmetric(const Picture& p) {
  Quadrant out{};
  constexpr int kLast = kSide - 1;
  for (int r = 0; r < kHalf; ++r) {
    for (int c = r; c < kHalf; ++c) {
      // Sums of pairs of opposite pixels, so that no symmetry changes the rounding.
      std::array<double, 8> v = {At(p, r, c),         At(p, kLast - r, c),
                                 At(p, r, kLast - c), At(p, kLast - r, kLast - c),
                                 At(p, c, r),         At(p, kLast - c, r),
                                 At(p, c, kLast - r), At(p, kLast - c, kLast - r)};
      std::sort(v.begin(), v.end());
      double sum = 0;
      for (const double x : v) sum += x;
      out[size_t(r * kHalf + c)] = sum;
      out[size_t(c * kHalf + r)] = sum;
    }
  }
  return out;
}

using Basis = std::array<std::array<double, kHalf>, kFrequencies>;

Basis CosineBasis() {
  Basis basis{};
  for (int f = 0; f < kFrequencies; ++f) {
    for (int x = 0; x < kHalf; ++x) {
      // Even frequency 2f over kSide pixels, of which the first half is kept.
      basis[size_t(f)][size_t(x)] =
          std::cos(std::numbers::pi * 2 * f * (x + 0.5) / kSide);
    }
  }
  return basis;
}

// Signs of the coefficients (a, b), a <= b, 1 <= a + b <= 6: 15, then (1, 6), the
// lowest first.
uint64_t Signs(const Quadrant& q, const Basis& basis) {
  std::array<std::array<double, kHalf>, kFrequencies> rows{};
  for (int f = 0; f < kFrequencies; ++f) {
    for (int r = 0; r < kHalf; ++r) {
      double sum = 0;
      for (int c = 0; c < kHalf; ++c) {
        sum += basis[size_t(f)][size_t(c)] * q[size_t(r * kHalf + c)];
      }
      rows[size_t(f)][size_t(r)] = sum;
    }
  }
  uint64_t bits = 0;
  int taken = 0;
  for (int total = 1; taken < 16; ++total) {
    for (int a = 0; 2 * a <= total && taken < 16; ++a) {
      const int b = total - a;
      double sum = 0;
      for (int r = 0; r < kHalf; ++r) {
        sum += basis[size_t(a)][size_t(r)] * rows[size_t(b)][size_t(r)];
      }
      bits |= uint64_t{sum > 0 ? 1U : 0U} << taken++;
    }
  }
  return bits;
}

Picture AboveMean(const Picture& p) {
  double mean = 0;
  for (const double v : p) mean += v / double(p.size());
  Picture out;
  for (size_t i = 0; i < p.size(); ++i) out[i] = std::max(0.0, p[i] - mean);
  return out;
}

Picture Gradient(const Picture& p) {
  Picture out;
  for (int r = 0; r < kSide; ++r) {
    for (int c = 0; c < kSide; ++c) {
      const double x = At(p, r + 1, c) - At(p, r - 1, c);
      const double y = At(p, r, c + 1) - At(p, r, c - 1);
      out[size_t(r * kSide + c)] = std::sqrt(x * x + y * y);
    }
  }
  return out;
}

Picture Curvature(const Picture& p) {
  Picture out;
  for (int r = 0; r < kSide; ++r) {
    for (int c = 0; c < kSide; ++c) {
      // Opposite neighbours first: a turn then adds the same numbers.
      out[size_t(r * kSide + c)] =
          std::abs((At(p, r - 2, c) + At(p, r + 2, c)) +
                   (At(p, r, c - 2) + At(p, r, c + 2)) - 4 * At(p, r, c));
    }
  }
  return out;
}

}  // namespace

MapHash HashMap(std::span<const float> plane, int64_t height, int64_t width) {
  if (plane.empty()) return {};
  const Picture small = Shrink(plane, height, width);
  const auto [low, high] = std::minmax_element(small.begin(), small.end());
  double scale = 0;
  bool finite = true;
  for (const double v : small) {
    finite = finite && std::isfinite(v);
    scale = std::max(scale, std::abs(v));
  }
  // A plane that differs from a constant by rounding only has signs of no meaning.
  if (!finite || *high - *low <= 1e-6 * scale) return {};
  static const Basis basis = CosineBasis();
  uint64_t bits = Signs(Symmetric(small), basis);
  bits |= Signs(Symmetric(AboveMean(small)), basis) << 16;
  bits |= Signs(Symmetric(Gradient(small)), basis) << 32;
  bits |= Signs(Symmetric(Curvature(small)), basis) << 48;
  return {bits, true};
}

int HashDistance(uint64_t a, uint64_t b) { return std::popcount(a ^ b); }

}  // namespace stepslack::audit
