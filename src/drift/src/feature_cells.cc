#include "feature_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace stepslack::drift {
namespace {

using Bin = RadixHistogram::Bin;
constexpr int kBins = RadixHistogram::kBins;
constexpr int kCoarser = 2;             // of the null distribution: 512 bins
constexpr size_t kMostDense = 256;      // cells whose bins fit a cache (4 MB)
constexpr uint16_t kNone = UINT16_MAX;  // no value

bool IsMissing(const data::Column& column, size_t row) {
  if (!column.missing.empty() && column.missing[row] != data::Missing::kPresent) {
    return true;
  }
  return column.kind == data::ColumnKind::kNumber &&
         !std::isfinite(column.numbers[row]);
}

// Appends the bins of one cell that hold something.
void AppendCell(const Bins& bins, FeatureCells& out) {
  for (size_t b = 0; b < bins.size(); ++b) {
    if (bins[b].count > 0) {
      out.entries.push_back({static_cast<uint16_t>(b), bins[b].count, bins[b].excess});
    }
  }
  out.offsets.push_back(out.entries.size());
}

void AddTo(Bins& sum, const Bins& part) {
  for (size_t b = 0; b < sum.size(); ++b) {
    sum[b].count += part[b].count;
    sum[b].excess += part[b].excess;
  }
}

// Rows in the order of their cells (counting sort), with the place where each begins.
struct Order {
  std::vector<uint32_t> rows;
  std::vector<size_t> first;
};

Order ByCell(const std::vector<int32_t>& cells, size_t count) {
  Order order;
  order.first.assign(count + 1, 0);
  for (int32_t cell : cells) ++order.first[static_cast<size_t>(cell) + 1];
  for (size_t c = 0; c < count; ++c) order.first[c + 1] += order.first[c];
  order.rows.resize(cells.size());
  std::vector<size_t> next(order.first.begin(), order.first.end() - 1);
  for (size_t i = 0; i < cells.size(); ++i) {
    order.rows[next[static_cast<size_t>(cells[i])]++] = static_cast<uint32_t>(i);
  }
  return order;
}

// Few cells: all their bins at once, rows in the order of the file.
void AddDense(const data::Column& column, const std::vector<int32_t>& cells,
              const BinScale& scale, std::vector<Bins>& dense) {
  constexpr size_t kBlock = 1024;
  std::array<uint16_t, kBlock> where;
  const std::span<const double> values = column.numbers;
  const double inverse = 1 / scale.scale;
  for (size_t first = 0; first < values.size(); first += kBlock) {
    const auto part = values.subspan(first, std::min(kBlock, values.size() - first));
    BinsOf(part, scale, where);
    for (size_t i = 0; i < part.size(); ++i) {
      const int bin = where[i];
      if (bin == kBins || IsMissing(column, first + i)) continue;
      Bin& target =
          dense[static_cast<size_t>(cells[first + i])][static_cast<size_t>(bin)];
      target.count += 1;
      target.excess += ExcessOf((part[i] - scale.centre) * inverse, bin);
    }
  }
}

// Any number of cells, one after the other.
void AddSorted(const data::Column& column, const Order& order, size_t cell,
               const BinScale& scale, Bins& bins) {
  for (size_t i = order.first[cell]; i < order.first[cell + 1]; ++i) {
    const size_t row = order.rows[i];
    if (IsMissing(column, row)) continue;
    uint16_t bin = 0;
    BinsOf(std::span(&column.numbers[row], 1), scale, std::span(&bin, 1));
    bins[bin].count += 1;
    bins[bin].excess +=
        ExcessOf((column.numbers[row] - scale.centre) / scale.scale, bin);
  }
}

// Counts of `bin_of` (a place, or kNone) in each cell; text and missing shares.
void CountCells(const std::array<std::vector<uint16_t>, 2>& bin_of,
                const GroupDesign& design, size_t bins, FeatureCells& out) {
  out.bins = out.fine_bins = bins;
  out.reference.assign(bins, {});
  out.current.assign(bins, {});
  std::vector<std::map<uint16_t, double>> counts(design.cells());
  for (size_t side = 0; side < 2; ++side) {
    const auto& cells = side == 0 ? design.reference_cells() : design.current_cells();
    Bins& all = side == 0 ? out.reference : out.current;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (bin_of[side][i] == kNone) continue;
      all[bin_of[side][i]].count += 1;
      counts[static_cast<size_t>(cells[i])][bin_of[side][i]] += 1;
    }
  }
  out.offsets.push_back(0);
  for (const auto& cell : counts) {
    for (const auto& [bin, count] : cell) out.entries.push_back({bin, count, 0});
    out.offsets.push_back(out.entries.size());
  }
}

}  // namespace

int64_t MissingIn(const data::Column& column, int64_t rows) {
  int64_t count = 0;
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) count += IsMissing(column, i);
  return count;
}

FeatureCells NumberCells(const data::Column& reference, const data::Column& current,
                         const GroupDesign& design) {
  FeatureCells out;
  out.kind = DriftKind::kNumber;
  out.scale = ChooseScale(reference.numbers, current.numbers);
  out.fine_bins = kBins;
  out.bins = kBins / kCoarser;
  out.reference.assign(kBins, {});
  out.current.assign(kBins, {});
  out.offsets.push_back(0);
  const bool few = design.cells() <= kMostDense;
  std::vector<Bins> dense;
  std::array<Order, 2> order;
  if (few) {
    dense.assign(design.cells(), Bins(kBins));
    AddDense(reference, design.reference_cells(), out.scale, dense);
    AddDense(current, design.current_cells(), out.scale, dense);
  } else {
    order = {ByCell(design.reference_cells(), design.cells()),
             ByCell(design.current_cells(), design.cells())};
  }
  Bins one(kBins);
  for (size_t cell = 0; cell < design.cells(); ++cell) {
    const bool is_current = cell % 2 == 1;
    if (few) {
      one.swap(dense[cell]);
    } else {
      const Order& rows = order[cell % 2];
      if (rows.first[cell] == rows.first[cell + 1]) {
        out.offsets.push_back(out.entries.size());
        continue;
      }
      one.assign(kBins, {});
      AddSorted(is_current ? current : reference, rows, cell, out.scale, one);
    }
    AddTo(is_current ? out.current : out.reference, one);
    AppendCell(Coarsened(one, kCoarser), out);
  }
  return out;
}

FeatureCells TextCells(const data::Column& reference, const data::Column& current,
                       const GroupDesign& design, int64_t& categories) {
  constexpr size_t kMost = 1023;
  std::map<std::string, double> counts;
  for (const data::Column* column : {&reference, &current}) {
    for (size_t i = 0; i < column->codes.size(); ++i) {
      if (!IsMissing(*column, i)) counts[column->texts[column->codes[i]]] += 1;
    }
  }
  categories = static_cast<int64_t>(counts.size());
  std::vector<std::pair<std::string, double>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::string, uint16_t> bin;
  for (size_t i = 0; i < order.size(); ++i) {
    bin[order[i].first] = static_cast<uint16_t>(std::min(i, kMost));
  }
  std::array<std::vector<uint16_t>, 2> bin_of;
  for (size_t side = 0; side < 2; ++side) {
    const data::Column& column = side == 0 ? reference : current;
    for (size_t i = 0; i < column.codes.size(); ++i) {
      bin_of[side].push_back(IsMissing(column, i) ? kNone
                                                  : bin[column.texts[column.codes[i]]]);
    }
  }
  FeatureCells out;
  out.kind = DriftKind::kText;
  CountCells(bin_of, design, std::min(order.size(), kMost + 1), out);
  return out;
}

FeatureCells MissingCells(const data::Column& reference, const data::Column& current,
                          const GroupDesign& design) {
  std::array<std::vector<uint16_t>, 2> bin_of;
  for (size_t side = 0; side < 2; ++side) {
    const data::Column& column = side == 0 ? reference : current;
    const size_t rows =
        (side == 0 ? design.reference_cells() : design.current_cells()).size();
    for (size_t i = 0; i < rows; ++i) bin_of[side].push_back(IsMissing(column, i));
  }
  FeatureCells out;
  out.kind = DriftKind::kMissingShare;
  CountCells(bin_of, design, 2, out);
  return out;
}

double FeatureCells::DistanceOf(std::span<const Bin> x, std::span<const Bin> y) const {
  if (kind == DriftKind::kNumber) return Wasserstein1OfBins(x, y);
  double n = 0;
  double m = 0;
  for (const Bin& bin : x) n += bin.count;
  for (const Bin& bin : y) m += bin.count;
  if (!(n > 0) || !(m > 0)) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (size_t b = 0; b < x.size(); ++b) {
    sum += std::abs(x[b].count / n - y[b].count / m) / 2;
  }
  return sum;
}

double FeatureCells::Distance(const Sides& sides) const {
  std::array<Bins, 2> sums = {Bins(bins), Bins(bins)};
  for (size_t cell = 0; cell < sides.size(); ++cell) {
    Bins& sum = sums[sides[cell]];
    for (size_t i = offsets[cell]; i < offsets[cell + 1]; ++i) {
      sum[entries[i].bin].count += entries[i].count;
      sum[entries[i].bin].excess += entries[i].excess;
    }
  }
  return DistanceOf(sums[0], sums[1]);
}

Bins FeatureCells::Weighted(const std::vector<double>& weight, int side) const {
  Bins sum(bins);
  for (size_t cell = static_cast<size_t>(side); cell < weight.size(); cell += 2) {
    if (weight[cell] == 0) continue;
    for (size_t i = offsets[cell]; i < offsets[cell + 1]; ++i) {
      sum[entries[i].bin].count += weight[cell] * entries[i].count;
      sum[entries[i].bin].excess += weight[cell] * entries[i].excess;
    }
  }
  return sum;
}

}  // namespace stepslack::drift
