#include "channel_rows.h"

#include <cstring>

// Bodies are inlined into one function for any processor and one for AVX-512.
#define SS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define SS_WIDE __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#else
#define SS_WIDE
#endif

namespace stepslack::model {
namespace {

// Eight values at a time, sums in double: a mean far from zero costs no accuracy.
constexpr int64_t kLanes = 8;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));

bool HasWideVectors() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512dq") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0;
  return has;
#else
  return false;
#endif
}

SS_INLINE RowSums MomentsBody(const float* x, int64_t count) {
  Doubles sum = {};
  Doubles square = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats values;
    std::memcpy(&values, x + i, sizeof(values));
    const Doubles wide = __builtin_convertvector(values, Doubles);
    sum += wide;
    square += wide * wide;
  }
  RowSums sums;
  for (int64_t k = 0; k < kLanes; ++k) {
    sums.first += sum[k];
    sums.second += square[k];
  }
  for (; i < count; ++i) {
    const auto value = static_cast<double>(x[i]);
    sums.first += value;
    sums.second += value * value;
  }
  return sums;
}

SS_INLINE void NormaliseBody(const RowScale& scale, const float* x, float* y,
                             int64_t count) {
  const RowScale s = scale;
  if (s.relu) {
    for (int64_t i = 0; i < count; ++i) {
      const float value = (x[i] - s.mean) * s.factor + s.shift;
      y[i] = value < 0.0F ? 0.0F : value;  // a NaN stays one
    }
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - s.mean) * s.factor + s.shift;
  }
}

SS_INLINE RowSums SlopesBody(const RowScale& scale, const float* x, const float* dy,
                             int64_t count) {
  const RowScale s = scale;
  Doubles sum = {};
  Doubles product = {};
  const float floor = s.relu ? 0.0F : -__builtin_inff();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats centred, slope;
    std::memcpy(&centred, x + i, sizeof(centred));
    std::memcpy(&slope, dy + i, sizeof(slope));
    centred -= s.mean;
    const Floats zero = {};
    slope = centred * s.factor + s.shift > floor ? slope : zero;
    const Doubles wide = __builtin_convertvector(slope, Doubles);
    sum += wide;
    product += wide * __builtin_convertvector(centred, Doubles);
  }
  RowSums sums;
  for (int64_t k = 0; k < kLanes; ++k) {
    sums.first += sum[k];
    sums.second += product[k];
  }
  for (; i < count; ++i) {
    const float centred = x[i] - s.mean;
    if (!(centred * s.factor + s.shift > floor)) continue;
    sums.first += static_cast<double>(dy[i]);
    sums.second += static_cast<double>(dy[i]) * static_cast<double>(centred);
  }
  return sums;
}

SS_INLINE void BackPropagateBody(const RowScale& scale, float slope, float product,
                                 const float* x, const float* dy, float* dx,
                                 int64_t count) {
  const RowScale s = scale;
  const float floor = s.relu ? 0.0F : -__builtin_inff();
  for (int64_t i = 0; i < count; ++i) {
    const float centred = x[i] - s.mean;
    const float own = centred * s.factor + s.shift > floor ? dy[i] : 0.0F;
    dx[i] = s.factor * (own - slope - centred * product);
  }
}

SS_WIDE RowSums WideMoments(const float* x, int64_t count) {
  return MomentsBody(x, count);
}
SS_WIDE void WideNormalise(const RowScale& scale, const float* x, float* y,
                           int64_t count) {
  NormaliseBody(scale, x, y, count);
}
SS_WIDE RowSums WideSlopes(const RowScale& scale, const float* x, const float* dy,
                           int64_t count) {
  return SlopesBody(scale, x, dy, count);
}
SS_WIDE void WideBackPropagate(const RowScale& scale, float slope, float product,
                               const float* x, const float* dy, float* dx,
                               int64_t count) {
  BackPropagateBody(scale, slope, product, x, dy, dx, count);
}

}  // namespace

RowSums MomentsOfRow(const float* x, int64_t count) {
  return HasWideVectors() ? WideMoments(x, count) : MomentsBody(x, count);
}

void NormaliseRow(const RowScale& scale, const float* x, float* y, int64_t count) {
  HasWideVectors() ? WideNormalise(scale, x, y, count)
                   : NormaliseBody(scale, x, y, count);
}

RowSums SlopesOfRow(const RowScale& scale, const float* x, const float* dy,
                    int64_t count) {
  return HasWideVectors() ? WideSlopes(scale, x, dy, count)
                          : SlopesBody(scale, x, dy, count);
}

void BackPropagateRow(const RowScale& scale, float slope, float product, const float* x,
                      const float* dy, float* dx, int64_t count) {
  HasWideVectors() ? WideBackPropagate(scale, slope, product, x, dy, dx, count)
                   : BackPropagateBody(scale, slope, product, x, dy, dx, count);
}

}  // namespace stepslack::model
