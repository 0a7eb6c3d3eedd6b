#include "stepslack/drift/radix_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace stepslack::drift {
namespace {

using Bin = RadixHistogram::Bin;
constexpr int kBins = RadixHistogram::kBins;
constexpr int kHalf = RadixHistogram::kHalf;
constexpr int kShift = 23 - 6;      // 2^6 bins an octave
constexpr double kFarthest = 1e30;  // in u: a float, and its square a double
constexpr uint32_t kOne = 0x3f800000U >> kShift;

// Distance from the centre at which bin k of a half begins: |u| + 1 has those bits.
double Outward(int k) {
  const auto bits = (kOne + static_cast<uint32_t>(k)) << kShift;
  return static_cast<double>(std::bit_cast<float>(bits)) - 1;
}

std::array<double, kBins + 1> MakeEdges() {
  std::array<double, kBins + 1> edges{};
  for (int k = 0; k <= kHalf; ++k) {
    edges[static_cast<size_t>(kHalf + k)] = Outward(k);
    edges[static_cast<size_t>(kHalf - k)] = -Outward(k);
  }
  return edges;
}

const std::array<double, kBins + 1>& Edges() {
  static const std::array<double, kBins + 1> edges = MakeEdges();
  return edges;
}

std::vector<double> EveryKth(std::span<const double> values) {
  constexpr size_t kMost = 16384;
  std::vector<double> out;
  const size_t stride = std::max<size_t>(1, values.size() / kMost);
  for (size_t i = 0; i < values.size(); i += stride) {
    if (std::isfinite(values[i])) out.push_back(values[i]);
  }
  if (!out.empty()) return out;
  for (double value : values) {  // hardly a value is there
    if (std::isfinite(value)) out.push_back(value);
    if (out.size() == kMost) break;
  }
  return out;
}

}  // namespace

BinScale ChooseScale(std::span<const double> reference,
                     std::span<const double> current) {
  std::vector<double> sample = EveryKth(reference);
  const std::vector<double> more = EveryKth(current);
  sample.insert(sample.end(), more.begin(), more.end());
  if (sample.empty()) return {};
  std::sort(sample.begin(), sample.end());
  const auto at = [&](double level) {
    return sample[static_cast<size_t>(level * static_cast<double>(sample.size() - 1))];
  };
  const double centre = at(0.5);
  // Halves first: the difference of two large values may overflow.
  const std::array<double, 4> spreads = {
      (at(0.75) / 2 - at(0.25) / 2) * 2 / 1.349, at(0.95) / 2 - at(0.05) / 2,
      (sample.back() / 2 - sample.front() / 2) / 8, std::abs(centre)};
  for (double spread : spreads) {
    if (spread > std::numeric_limits<double>::min() * 1024 && std::isfinite(spread)) {
      return {centre, spread};
    }
  }
  return {centre, 1};
}

double LowerEdge(int bin) { return Edges()[static_cast<size_t>(bin)]; }

double ExcessOf(double value, int bin) {
  const double u = std::clamp(value, -kFarthest, kFarthest);
  return bin == kBins - 1 ? u - LowerEdge(bin) : LowerEdge(bin + 1) - u;
}

void BinsOf(std::span<const double> values, const BinScale& scale,
            std::span<uint16_t> bins) {
  const double inverse = 1 / scale.scale;
  for (size_t i = 0; i < values.size(); ++i) {
    const double u = (values[i] - scale.centre) * inverse;
    const auto outward = static_cast<float>(std::min(std::abs(u) + 1, kFarthest));
    const uint32_t bits = std::bit_cast<uint32_t>(outward) >> kShift;
    const int k = std::min(static_cast<int>(bits) - static_cast<int>(kOne), kHalf - 1);
    const int bin = u < 0 ? kHalf - 1 - k : kHalf + k;
    // NaN - NaN, and inf - inf, differ from themselves.
    bins[i] = static_cast<uint16_t>(values[i] - values[i] == 0 ? bin : kBins);
  }
}

int64_t RadixHistogram::Add(std::span<const double> values, const BinScale& scale) {
  constexpr size_t kBlock = 1024;
  std::array<uint16_t, kBlock> where;
  const double inverse = 1 / scale.scale;
  int64_t skipped = 0;
  for (size_t first = 0; first < values.size(); first += kBlock) {
    const auto part = values.subspan(first, std::min(kBlock, values.size() - first));
    BinsOf(part, scale, where);
    for (size_t i = 0; i < part.size(); ++i) {
      const int bin = where[i];
      if (bin == kBins) {
        ++skipped;
        continue;
      }
      Bin& target = bins_[static_cast<size_t>(bin)];
      target.count += 1;
      target.excess += ExcessOf((part[i] - scale.centre) * inverse, bin);
    }
  }
  return skipped;
}

double Wasserstein1OfBins(std::span<const Bin> x, std::span<const Bin> y) {
  double n = 0;
  double m = 0;
  for (const Bin& bin : x) n += bin.count;
  for (const Bin& bin : y) m += bin.count;
  if (!(n > 0) || !(m > 0)) return std::numeric_limits<double>::quiet_NaN();
  const auto& edges = Edges();
  double area = 0;
  double below_x = 0;
  double below_y = 0;
  const size_t last = x.size() - 1;
  const size_t stride = kBins / x.size();
  for (size_t b = 0; b < last; ++b) {
    const double before = below_x / n - below_y / m;
    const double width = b == 0 ? 0.0 : edges[(b + 1) * stride] - edges[b * stride];
    area += std::abs(before * width + x[b].excess / n - y[b].excess / m);
    below_x += x[b].count;
    below_y += y[b].count;
  }
  return area + std::abs(x[last].excess / n - y[last].excess / m);
}

std::vector<Bin> Coarsened(std::span<const Bin> bins, int factor) {
  const auto step = static_cast<size_t>(factor);
  std::vector<Bin> out(bins.size() / step);
  const auto& edges = Edges();
  for (size_t b = 0; b < bins.size(); ++b) {
    const Bin& fine = bins[b];
    if (!(fine.count > 0)) continue;
    const size_t k = b / step;
    Bin& coarse = out[k];
    coarse.count += fine.count;
    const bool tail = k + 1 == out.size();
    if (!tail) {
      coarse.excess +=
          fine.excess + fine.count * (edges[(k + 1) * step] - edges[b + 1]);
    } else if (b + 1 == bins.size()) {
      coarse.excess += fine.excess + fine.count * (edges[b] - edges[k * step]);
    } else {
      coarse.excess += fine.count * (edges[b + 1] - edges[k * step]) - fine.excess;
    }
  }
  return out;
}

namespace {

double MeanOf(std::span<const Bin> bins, size_t place) {
  const double mean = bins[place].excess / bins[place].count;
  const size_t stride = kBins / bins.size();
  return place + 1 == bins.size() ? Edges()[place * stride] + mean
                                  : Edges()[(place + 1) * stride] - mean;
}

}  // namespace

double QuantileOfBins(std::span<const Bin> bins, double level) {
  double count = 0;
  for (const Bin& bin : bins) count += bin.count;
  double seen = 0;
  for (size_t b = 0; b < bins.size(); ++b) {
    seen += bins[b].count;
    if (bins[b].count > 0 && seen >= level * count) {
      return MeanOf(bins, b);
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double DeviationOfBins(std::span<const Bin> bins) {
  double count = 0;
  double mean = 0;
  double squares = 0;
  for (size_t b = 0; b < bins.size(); ++b) {
    if (!(bins[b].count > 0)) continue;
    const double value = MeanOf(bins, b);
    const double before = value - mean;
    count += bins[b].count;
    mean += before * bins[b].count / count;
    squares += bins[b].count * before * (value - mean);
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

}  // namespace stepslack::drift
