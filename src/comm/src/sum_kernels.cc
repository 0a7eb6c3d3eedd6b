#include "sum_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace stepslack::comm {
namespace {

constexpr size_t kBlockBytes = size_t{16} << 10;  // fits the first-level cache twice

#define SS_INLINE inline __attribute__((always_inline))

struct Add {
  template <typename T>
  static SS_INLINE void Run(const T* a, const T* b, T* out, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<T>(a[i] + b[i]);
  }
};

// The hot case of two ranks in place: one pass, both outputs.
struct AddToBoth {
  template <typename T>
  static SS_INLINE void Run(T* a, T* b, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const T sum = static_cast<T>(a[i] + b[i]);
      a[i] = sum;
      b[i] = sum;
    }
  }
};

SS_INLINE float Widened(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16U);
}

SS_INLINE uint16_t Rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t nearest = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const uint32_t quiet_nan = (bits >> 16U) | 0x40U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<uint16_t>(is_nan ? quiet_nan : nearest);
}

struct Widen {
  static SS_INLINE void Run(const uint16_t* from, float* to, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] = Widened(from[i]);
  }
};
struct AddWidened {
  static SS_INLINE void Run(const uint16_t* from, float* to, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] += Widened(from[i]);
  }
};
struct Round {
  static SS_INLINE void Run(const float* from, uint16_t* to, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] = Rounded(from[i]);
  }
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
template <typename Body, typename... Arguments>
__attribute__((
    target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"))) void
With512(Arguments... arguments) {
  Body::Run(arguments...);
}
template <typename Body, typename... Arguments>
__attribute__((target("avx2"))) void With256(Arguments... arguments) {
  Body::Run(arguments...);
}
template <typename Body, typename... Arguments>
void Call(Arguments... arguments) {
  if (__builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0) {
    With512<Body>(arguments...);
  } else if (__builtin_cpu_supports("avx2") != 0) {
    With256<Body>(arguments...);
  } else {
    Body::Run(arguments...);
  }
}
#else
template <typename Body, typename... Arguments>
void Call(Arguments... arguments) {
  Body::Run(arguments...);
}
#endif

template <typename T>
void SumBlock(std::span<const void* const> sources, std::span<void* const> outputs,
              size_t first, size_t count, T* scratch) {
  auto source = [&](size_t r) { return static_cast<const T*>(sources[r]) + first; };
  auto output = [&](size_t r) { return static_cast<T*>(outputs[r]) + first; };
  const size_t ranks = sources.size();
  const bool direct = outputs.size() == 1 && ranks == 2;
  T* sum = direct ? output(0) : scratch;
  if (ranks == 1) {
    std::memmove(sum, source(0), count * sizeof(T));
  } else {
    Call<Add>(source(0), source(1), sum, count);
  }
  for (size_t r = 2; r < ranks; ++r) {
    Call<Add>(static_cast<const T*>(sum), source(r), sum, count);
  }
  if (direct) return;
  for (size_t r = 0; r < outputs.size(); ++r) {
    std::memcpy(output(r), sum, count * sizeof(T));
  }
}

template <typename T>
void Sum(std::span<const void* const> sources, std::span<void* const> outputs,
         size_t count) {
  if (sources.size() == 2 && outputs.size() == 2 && outputs[0] == sources[0] &&
      outputs[1] == sources[1]) {
    Call<AddToBoth>(static_cast<T*>(outputs[0]), static_cast<T*>(outputs[1]), count);
    return;
  }
  constexpr size_t kBlock = kBlockBytes / sizeof(T);
  alignas(64) std::array<T, kBlock> scratch;
  for (size_t first = 0; first < count; first += kBlock) {
    SumBlock<T>(sources, outputs, first, std::min(kBlock, count - first),
                scratch.data());
  }
}

void SumBFloat16(std::span<const void* const> sources, std::span<void* const> outputs,
                 size_t count) {
  constexpr size_t kBlock = kBlockBytes / sizeof(float);
  alignas(64) std::array<float, kBlock> sum;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t length = std::min(kBlock, count - first);
    auto source = [&](size_t r) {
      return static_cast<const uint16_t*>(sources[r]) + first;
    };
    Call<Widen>(source(0), sum.data(), length);
    for (size_t r = 1; r < sources.size(); ++r) {
      Call<AddWidened>(source(r), sum.data(), length);
    }
    for (void* const output : outputs) {
      Call<Round>(static_cast<const float*>(sum.data()),
                  static_cast<uint16_t*>(output) + first, length);
    }
  }
}

}  // namespace

void SumOver(std::span<const void* const> sources, std::span<void* const> outputs,
             size_t count, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Sum<float>(sources, outputs, count);
    case DType::kFloat64:
      return Sum<double>(sources, outputs, count);
    case DType::kInt64:
      return Sum<uint64_t>(sources, outputs, count);  // unsigned: wraps
    case DType::kBFloat16:
      return SumBFloat16(sources, outputs, count);
    case DType::kByte:
      return;
  }
}

void WidenBFloat16(const void* from, float* to, size_t count) {
  Call<Widen>(static_cast<const uint16_t*>(from), to, count);
}

void RoundToBFloat16(const float* from, void* to, size_t count) {
  Call<Round>(from, static_cast<uint16_t*>(to), count);
}

}  // namespace stepslack::comm
