// Histograms of numbers without sorting: the bin is read off the bits of a float, so
// that one pass serves any unit and any tail.
//
// u = (x - centre) / scale; the bits of float(|u| + 1) are a piecewise linear logarithm
// (64 bins an octave), so bins are scale / 64 wide in the middle and grow outwards;
// beyond 255 scales one bin takes the tail. Each bin holds a count and its summed
// distance to its upper edge, which make the integral of a distribution function over
// the bin exact: W1 below is exact unless F - G changes its sign inside a bin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepslack::drift {

struct BinScale {
  double centre = 0;
  double scale = 1;  // > 0, in the unit of the values
};

// From every k-th value of both, at most 16,384 each: median and interquartile range /
// 1.349, or the next best measure of spread when that is zero. Only the places of the
// bins depend on it.
BinScale ChooseScale(std::span<const double> reference,
                     std::span<const double> current);

class RadixHistogram {
 public:
  static constexpr int kOctaves = 8;
  static constexpr int kPerOctave = 64;
  static constexpr int kHalf = kOctaves * kPerOctave;
  static constexpr int kBins = 2 * kHalf;

  struct Bin {
    double count = 0;
    double excess = 0;  // sum of upper edge - u; of u - lower edge in the last bin
  };

  RadixHistogram() : bins_(kBins) {}
  // Values that are not finite are skipped and counted by the return value.
  int64_t Add(std::span<const double> values, const BinScale& scale);
  std::span<const Bin> bins() const { return bins_; }

 private:
  std::vector<Bin> bins_;
};

// Lower edge of a bin in u; the first bin also takes all that is below.
double LowerEdge(int bin);
// Bin of each value, kBins when it is not finite.
void BinsOf(std::span<const double> values, const BinScale& scale,
            std::span<uint16_t> bins);
// What a value adds to the `excess` of its bin.
double ExcessOf(double u, int bin);

// The same with `factor` neighbours in one bin; a divisor of kBins.
std::vector<RadixHistogram::Bin> Coarsened(std::span<const RadixHistogram::Bin> bins,
                                           int factor);

// Integral of |F - G| in u, of bins that are as fine or equally coarsened: multiply by
// the scale for the unit of the values. NaN when a side is empty.
double Wasserstein1OfBins(std::span<const RadixHistogram::Bin> x,
                          std::span<const RadixHistogram::Bin> y);
// Mean of the bin that holds the quantile, in u: exact for few distinct values, else
// within a bin. NaN when empty.
double QuantileOfBins(std::span<const RadixHistogram::Bin> bins, double level);
// Standard deviation of the bins' means, in u.
double DeviationOfBins(std::span<const RadixHistogram::Bin> bins);

}  // namespace stepslack::drift
