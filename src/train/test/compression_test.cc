#include "compression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "bfloat16_compressor.h"
#include "powersgd_compressor.h"
#include "rank_threads.h"
#include "stepslack/base/random.h"
#include "topk_compressor.h"

namespace stepslack::train {
namespace {

constexpr auto kMethods = {CompressionMethod::kBfloat16, CompressionMethod::kTopK,
                           CompressionMethod::kPowerSgd};
constexpr size_t kRows = 12, kColumns = 20;

// A kernel [12, 20, 1, 1] at 0 (240 values) and a vector of 16 at 240.
model::ParameterLayout Layout() {
  model::ParameterLayout layout;
  layout.AddKernel("k", kRows, kColumns, 1, 1.0);
  layout.AddVector("v", 16, 0.0);
  return layout;
}
constexpr size_t kFloats = 256;

std::unique_ptr<Compressor> Make(CompressionMethod method) {
  CompressionOptions options;
  options.method = method;
  options.topk_share = 0.1;
  options.powersgd_rank = 2;
  return MakeCompressor(options, Layout().parameters(), kFloats);
}

// The same for every call with the same seed.
std::vector<float> Normals(uint64_t seed, size_t count) {
  base::Random random(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(random.Normal()));
  }
  return values;
}

TEST(Compressor, WhatIsSentAndWhatIsKeptAddUpToTheGradients) {
  constexpr size_t kRanks = 3;
  for (CompressionMethod method : kMethods) {
    std::vector<std::vector<float>> sums(kRanks), kept(kRanks);
    RunRanks(kRanks, [&](comm::Communicator& communicator) {
      const auto rank = static_cast<size_t>(communicator.rank());
      const auto compressor = Make(method);
      std::vector<float> total(kFloats + 1);  // of what was exchanged in three steps
      for (uint64_t step = 0; step < 3; ++step) {
        std::vector<float> gradient = Normals(10 * step + rank, kFloats);
        gradient.push_back(0.1F * static_cast<float>(rank + 1));
        ASSERT_TRUE(compressor->Exchange(gradient, communicator).has_value());
        EXPECT_FLOAT_EQ(gradient.back(), 0.6F);  // a scalar behind: exact
        for (size_t i = 0; i < total.size(); ++i) total[i] += gradient[i];
      }
      sums[rank] = total;
      kept[rank].assign(compressor->residual().begin(), compressor->residual().end());
    });
    EXPECT_EQ(sums[0], sums[1]);  // bit-equal between ranks
    EXPECT_EQ(sums[0], sums[2]);
    double largest = 0;
    for (size_t i = 0; i < kFloats; ++i) {
      double given = 0, found = static_cast<double>(sums[0][i]);
      for (size_t rank = 0; rank < kRanks; ++rank) {
        for (uint64_t step = 0; step < 3; ++step) {
          given += static_cast<double>(Normals(10 * step + rank, kFloats)[i]);
        }
        found += static_cast<double>(kept[rank][i]);
        largest = std::max(largest, std::fabs(static_cast<double>(kept[rank][i])));
      }
      ASSERT_NEAR(given, found, 2e-5) << i;
    }
    EXPECT_GT(largest, 1e-3);  // something is kept indeed
  }
}

// |value - optimum| / |optimum| after descent on the mean of |value - target|^2 / 2
// over two targets that take turns, whose optimum is the mean target. Most of every
// gradient is noise that never vanishes.
double ErrorAfterDescent(CompressionMethod method, bool feedback) {
  const std::vector<std::vector<float>> targets = {Normals(1, kFloats),
                                                   Normals(2, kFloats)};
  std::vector<float> values(kFloats), gradient(kFloats);
  RunRanks(1, [&](comm::Communicator& communicator) {
    const auto compressor = Make(method);
    for (size_t step = 0; step < 1000; ++step) {
      const double decay = std::exp(-static_cast<double>(step) / 200.0);
      const auto rate = static_cast<float>(0.1 * decay + 0.001);
      for (size_t i = 0; i < kFloats; ++i) {
        gradient[i] = values[i] - targets[step % 2][i];
      }
      ASSERT_TRUE(compressor->Exchange(gradient, communicator).has_value());
      if (!feedback) {
        std::fill(compressor->residual().begin(), compressor->residual().end(), 0.0F);
      }
      for (size_t i = 0; i < kFloats; ++i) values[i] -= rate * gradient[i];
    }
  });
  double difference = 0, size = 0;
  for (size_t i = 0; i < kFloats; ++i) {
    const double optimum =
        0.5 * (static_cast<double>(targets[0][i]) + static_cast<double>(targets[1][i]));
    difference += std::pow(static_cast<double>(values[i]) - optimum, 2);
    size += optimum * optimum;
  }
  return std::sqrt(difference / size);
}

TEST(Compressor, DescentWithFeedbackEndsNearTheOptimum) {
  EXPECT_LT(ErrorAfterDescent(CompressionMethod::kBfloat16, true), 1e-3);
  EXPECT_LT(ErrorAfterDescent(CompressionMethod::kTopK, true), 0.05);
  EXPECT_LT(ErrorAfterDescent(CompressionMethod::kPowerSgd, true), 0.05);
}

TEST(Compressor, WithoutFeedbackTopKStaysAwayFromTheOptimum) {
  // Where both targets pull alike but weakly, nothing is ever sent.
  EXPECT_GT(ErrorAfterDescent(CompressionMethod::kTopK, false), 0.2);
}

TEST(Compressor, BytesAreThoseHandedToTheCollectives) {
  for (CompressionMethod method : kMethods) {
    RunRanks(2, [&](comm::Communicator& communicator) {
      const auto compressor = Make(method);
      std::vector<float> gradient = Normals(3, kFloats + 2);
      const int64_t before = communicator.record_count();
      ASSERT_TRUE(compressor->Exchange(gradient, communicator).has_value());
      int64_t bytes = 0;
      for (const auto& record : communicator.Records(before)) {
        if (record.bytes > 8) bytes += record.bytes;  // the gather sends lengths first
      }
      EXPECT_EQ(compressor->bytes(), bytes);
      // Two scalars are 8 bytes. Bfloat16: 2 a value. Top 10 % of 256: 26 pairs of 8.
      // PowerSGD: 2 x (12 + 20) factors and the vector of 16, 4 bytes each.
      const int64_t expected = method == CompressionMethod::kBfloat16 ? 256 * 2 + 8
                               : method == CompressionMethod::kTopK   ? 26 * 8 + 8
                                                                    : (64 + 16) * 4 + 8;
      EXPECT_EQ(bytes, expected);
    });
  }
}

TEST(Compressor, WhatIsNotFiniteReachesEveryRank) {
  for (CompressionMethod method : kMethods) {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::infinity()}) {
      RunRanks(2, [&](comm::Communicator& communicator) {
        const auto compressor = Make(method);
        std::vector<float> gradient = Normals(3, kFloats);
        if (communicator.rank() == 1) gradient[17] = bad;
        ASSERT_TRUE(compressor->Exchange(gradient, communicator).has_value());
        EXPECT_FALSE(std::all_of(gradient.begin(), gradient.end(),
                                 [](float value) { return std::isfinite(value); }));
      });
    }
  }
}

TEST(Bfloat16, RoundsToNearestEven) {
  const auto round = [](float value) { return FromBfloat16(ToBfloat16(value)); };
  // Eight bits of mantissa: steps of 1/128 between 1 and 2.
  EXPECT_EQ(round(1.0F), 1.0F);
  EXPECT_EQ(round(-1.0F - 1.0F / 128), -1.0F - 1.0F / 128);
  EXPECT_EQ(round(1.0F + 1.0F / 256), 1.0F);               // a tie: to even
  EXPECT_EQ(round(1.0F + 3.0F / 256), 1.0F + 2.0F / 128);  // a tie: to even
  EXPECT_EQ(round(1.0F + 1.1F / 256), 1.0F + 1.0F / 128);
  EXPECT_EQ(round(0.0F), 0.0F);
  EXPECT_TRUE(std::isinf(round(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(round(std::bit_cast<float>(0x7F800001U))));  // low bits only
}

TEST(LargestMagnitudes, MatchASortForAnyCount) {
  std::vector<float> values = Normals(5, 500);
  for (size_t i = 0; i < 100; ++i) values[i * 5] = (i % 2 == 0) ? 0.5F : -0.5F;  // ties
  std::vector<uint32_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  for (size_t count : {0, 1, 7, 250, 300, 320, 499, 500, 600}) {
    std::vector<uint32_t> expected(
        order.begin(),
        order.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(count, 500)));
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(LargestMagnitudes(values, count), expected) << count;
  }
  values[123] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(LargestMagnitudes(values, 1), (std::vector<uint32_t>{123}));
}

TEST(Orthonormalise, GivesOrthonormalColumnsOfTheSameSpan) {
  // Columns (3, 4, 0), (3, 4, 5) and, dependent, their sum.
  std::vector<float> matrix = {3, 3, 6, 4, 4, 8, 0, 5, 5};
  Orthonormalise(matrix, 3);
  const std::vector<float> expected = {0.6F, 0, 0, 0.8F, 0, 0, 0, 1, 0};
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(matrix[i], expected[i], 1e-6) << i;
}

TEST(PowerSgd, AMatrixOfItsRankIsSentWholeAndAZeroGradientDoesNoHarm) {
  RunRanks(1, [](comm::Communicator& communicator) {
    const auto compressor = Make(CompressionMethod::kPowerSgd);
    const auto left = Normals(7, kRows * 2), right = Normals(8, kColumns * 2);
    std::vector<float> matrix(kFloats);
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t column = 0; column < kColumns; ++column) {
        matrix[row * kColumns + column] = left[row * 2] * right[column * 2] +
                                          left[row * 2 + 1] * right[column * 2 + 1];
      }
    }
    std::vector<float> sent = matrix;
    ASSERT_TRUE(compressor->Exchange(sent, communicator).has_value());
    for (size_t i = 0; i < kFloats; ++i) ASSERT_NEAR(sent[i], matrix[i], 2e-5);
    // A step without gradient does not cost the basis.
    std::vector<float> nothing(kFloats);
    ASSERT_TRUE(compressor->Exchange(nothing, communicator).has_value());
    sent = matrix;
    ASSERT_TRUE(compressor->Exchange(sent, communicator).has_value());
    for (size_t i = 0; i < kFloats; ++i) ASSERT_NEAR(sent[i], matrix[i], 2e-5);
  });
}

}  // namespace
}  // namespace stepslack::train
