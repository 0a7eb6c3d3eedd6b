#include "stepslack/drift/radix_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stepslack/base/random.h"
#include "stepslack/stats/sample_distance.h"

namespace stepslack::drift {
namespace {

std::vector<double> Draw(uint64_t seed, int count, double mean, double deviation) {
  base::Random random(seed);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(mean + deviation * random.Normal());
  return out;
}

double Binned(const std::vector<double>& x, const std::vector<double>& y, int coarser) {
  const BinScale scale = ChooseScale(x, y);
  RadixHistogram a;
  RadixHistogram b;
  a.Add(x, scale);
  b.Add(y, scale);
  return scale.scale *
         Wasserstein1OfBins(Coarsened(a.bins(), coarser), Coarsened(b.bins(), coarser));
}

TEST(RadixHistogram, EveryValueLiesBetweenTheEdgesOfItsBin) {
  const std::vector<double> values = {-1000, -255, -3, -0.5, -1e-9, 0,
                                      1e-9,  0.5,  1,  2.99, 254,   1e300};
  std::vector<uint16_t> bins(values.size());
  BinsOf(values, {0, 1}, bins);
  for (size_t i = 0; i < values.size(); ++i) {
    if (bins[i] > 0) {
      EXPECT_GE(values[i] + 1e-6, LowerEdge(bins[i])) << values[i];
    }
    if (bins[i] + 1 < RadixHistogram::kBins) {
      EXPECT_LE(values[i] - 1e-6, LowerEdge(bins[i] + 1)) << values[i];
    }
  }
}

// The independent answer sorts both samples.
TEST(RadixHistogram, DistanceAgreesWithThatOfTheSortedValuesInAnyUnit) {
  for (double unit : {1.0, 1e-12, 1e9}) {
    const auto x = Draw(1, 3000, 5 * unit, unit);
    const auto y = Draw(2, 2000, 5.5 * unit, 1.3 * unit);
    const double exact = stats::Wasserstein1(x, y);
    EXPECT_NEAR(Binned(x, y, 1), exact, 0.002 * exact);
    EXPECT_NEAR(Binned(x, y, 4), exact, 0.01 * exact);
  }
}

// Shifts of one sign are exact, also in the tails and with one wild value.
TEST(RadixHistogram, AShiftIsMeasuredExactlyAlsoWithOutliers) {
  std::vector<double> x = Draw(3, 500, 0, 1);
  x.push_back(1e6);
  x.push_back(-1e4);
  std::vector<double> y = x;
  for (double& value : y) value += 0.3;
  EXPECT_NEAR(Binned(x, y, 1), 0.3, 1e-5);
  EXPECT_NEAR(Binned(x, y, 8), 0.3, 1e-5);
}

TEST(RadixHistogram, ValuesThatAreNotFiniteAreCountedAndSkipped) {
  const double infinity = std::numeric_limits<double>::infinity();
  RadixHistogram histogram;
  const std::vector<double> values = {1, std::nan(""), infinity, -infinity, 3};
  EXPECT_EQ(histogram.Add(values, {0, 1}), 3);
  EXPECT_NEAR(QuantileOfBins(histogram.bins(), 0.5), 1, 1e-9);
  EXPECT_NEAR(QuantileOfBins(histogram.bins(), 1), 3, 1e-9);
  EXPECT_NEAR(DeviationOfBins(histogram.bins()), 1, 1e-9);
  EXPECT_NEAR(DeviationOfBins(Coarsened(histogram.bins(), 4)), 1, 1e-9);
}

TEST(RadixHistogram, ScaleOfAConstantOrOfNothingIsUsable) {
  const std::vector<double> constant(10, 4e-15);
  EXPECT_GT(ChooseScale(constant, constant).scale, 0);
  EXPECT_EQ(ChooseScale({}, {}).scale, 1);
  const std::vector<double> zeros(10, 0.0);
  EXPECT_EQ(ChooseScale(zeros, zeros).scale, 1);
}

}  // namespace
}  // namespace stepslack::drift
