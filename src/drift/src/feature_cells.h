// One feature of both tables as sparse histograms, one a cell (group and side), so that
// a permutation of groups or a bootstrap adds up histograms and never looks at rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "group_design.h"
#include "stepslack/data/table.h"
#include "stepslack/drift/radix_histogram.h"
#include "stepslack/drift/table_drift.h"

namespace stepslack::drift {

using Bins = std::vector<RadixHistogram::Bin>;

struct FeatureCells {
  struct Entry {
    uint16_t bin = 0;
    double count = 0;
    double excess = 0;
  };
  DriftKind kind = DriftKind::kNumber;
  BinScale scale;        // numbers only
  size_t fine_bins = 0;  // of `reference` and `current`
  size_t bins = 0;       // of the entries: coarser, for the null distribution
  Bins reference;        // fine, all rows of the reference
  Bins current;
  std::vector<size_t> offsets;  // entries of cell c: [offsets[c], offsets[c + 1])
  std::vector<Entry> entries;

  // Distance of the cells with side 0 from those with side 1: W1 in u, or total
  // variation. NaN when a side holds no value.
  double Distance(const Sides& sides) const;
  // Sums of the cells of one side, each taken `weight` times.
  Bins Weighted(const std::vector<double>& weight, int side) const;
  double DistanceOf(std::span<const RadixHistogram::Bin> x,
                    std::span<const RadixHistogram::Bin> y) const;
};

FeatureCells NumberCells(const data::Column& reference, const data::Column& current,
                         const GroupDesign& design);
// `categories`: how many there were; rare ones beyond 1,023 share one bin.
FeatureCells TextCells(const data::Column& reference, const data::Column& current,
                       const GroupDesign& design, int64_t& categories);
FeatureCells MissingCells(const data::Column& reference, const data::Column& current,
                          const GroupDesign& design);
// Cells without a value, NaN and infinities included.
int64_t MissingIn(const data::Column& column, int64_t rows);

}  // namespace stepslack::drift
