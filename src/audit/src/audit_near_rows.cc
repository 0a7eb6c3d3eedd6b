// Rows that share nearly all of their cells: one-permutation MinHash (Li, Owen and
// Zhang, "One permutation hashing", NIPS 2012) over the bins of the cells, four bands
// of four minima, every candidate verified cell by cell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "audit_rows.h"
#include "stepslack/audit/row_hash.h"

namespace stepslack::audit {
namespace {

using data::Column;
using data::ColumnKind;

constexpr size_t kLeastColumns = 8;
constexpr int kMinima = 16;
constexpr int kBands = 4;
constexpr double kLeastShared = 0.9;  // of the informative cells
constexpr double kLeastDistinct =
    0.05;  // of the rows: columns with few values say little
constexpr size_t kMostInBucket = 64;
constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();

// Bins of equal ratio for numbers, so that the tolerance is relative; the value itself
// for texts. Two rows a bin edge apart miss one cell, which the bands forgive.
uint64_t BinOf(const Column& column, size_t row, double tolerance) {
  if (column.kind == ColumnKind::kText) return column.codes[row];
  const double value = column.numbers[row];
  if (std::isnan(value)) return kEmpty;
  if (value == 0) return 0;
  const double bin = std::floor(std::log(std::abs(value)) / tolerance);
  return HashBytes(&bin, sizeof bin, value < 0 ? 1 : 2);
}

std::vector<size_t> InformativeColumns(const AuditRows& rows, double tolerance) {
  std::vector<size_t> chosen;
  const auto least =
      std::max(20.0, kLeastDistinct * static_cast<double>(rows.table->rows));
  for (const int64_t at : rows.features) {
    const Column& column = rows.table->columns[static_cast<size_t>(at)];
    std::unordered_set<uint64_t> bins;
    for (size_t row = 0; row < static_cast<size_t>(rows.table->rows); ++row) {
      bins.insert(BinOf(column, row, tolerance));
      if (static_cast<double>(bins.size()) >= least) {
        chosen.push_back(static_cast<size_t>(at));
        break;
      }
    }
  }
  return chosen;
}

std::array<uint64_t, kBands> BandsOf(const AuditRows& rows,
                                     const std::vector<size_t>& columns, size_t row,
                                     double tolerance) {
  std::array<uint64_t, kMinima> minima;
  minima.fill(kEmpty);
  for (const size_t at : columns) {
    const uint64_t bin = BinOf(rows.table->columns[at], row, tolerance);
    const uint64_t hash = HashBytes(&bin, sizeof bin, at + 1);
    uint64_t& minimum = minima[hash % kMinima];
    minimum = std::min(minimum, hash);
  }
  // An empty bin takes the next one's minimum (Shrivastava and Li 2014).
  for (int i = 0; i < kMinima; ++i) {
    for (int step = 1; minima[static_cast<size_t>(i)] == kEmpty && step < kMinima;
         ++step) {
      minima[static_cast<size_t>(i)] =
          minima[static_cast<size_t>((i + step) % kMinima)];
    }
  }
  std::array<uint64_t, kBands> bands;
  constexpr size_t kWidth = kMinima / kBands;
  for (size_t band = 0; band < kBands; ++band) {
    bands[band] =
        HashBytes(&minima[band * kWidth], kWidth * sizeof(uint64_t), band + 1);
  }
  return bands;
}

double SharedCells(const AuditRows& rows, const std::vector<size_t>& columns, size_t a,
                   size_t b, double tolerance) {
  size_t shared = 0;
  for (const size_t at : columns) {
    const Column& column = rows.table->columns[at];
    if (column.kind == ColumnKind::kText) {
      shared += column.codes[a] == column.codes[b];
      continue;
    }
    const double x = column.numbers[a], y = column.numbers[b];
    const bool both_missing = std::isnan(x) && std::isnan(y);
    shared += both_missing || x == y ||
              std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
  }
  return static_cast<double>(shared) / static_cast<double>(columns.size());
}

struct NearPairs {
  std::set<std::pair<int64_t, int64_t>> pairs;
  int64_t compared = 0;
  int64_t crowded = 0;  // buckets in which only neighbours were compared
};

NearPairs FindPairs(const AuditRows& rows, const std::vector<size_t>& columns,
                    double tolerance) {
  NearPairs found;
  std::vector<std::pair<uint64_t, int64_t>> buckets;
  std::vector<std::array<uint64_t, kBands>> bands;
  for (int64_t row = 0; row < rows.table->rows; ++row) {
    bands.push_back(BandsOf(rows, columns, static_cast<size_t>(row), tolerance));
  }
  for (size_t band = 0; band < kBands; ++band) {
    buckets.clear();
    for (int64_t row = 0; row < rows.table->rows; ++row) {
      buckets.emplace_back(bands[static_cast<size_t>(row)][band], row);
    }
    std::ranges::sort(buckets);
    for (size_t start = 0, end; start < buckets.size(); start = end) {
      for (end = start;
           end < buckets.size() && buckets[end].first == buckets[start].first;)
        ++end;
      const bool crowded = end - start > kMostInBucket;
      found.crowded += crowded;
      for (size_t i = start; i < end; ++i) {
        const size_t last = crowded ? std::min(end, i + 2) : end;
        for (size_t j = i + 1; j < last; ++j) {
          ++found.compared;
          const auto a = static_cast<size_t>(buckets[i].second);
          const auto b = static_cast<size_t>(buckets[j].second);
          if (SharedCells(rows, columns, a, b, tolerance) >= kLeastShared) {
            found.pairs.emplace(std::min(buckets[i].second, buckets[j].second),
                                std::max(buckets[i].second, buckets[j].second));
          }
        }
      }
    }
  }
  return found;
}

bool Equal(const AuditRows& rows, int64_t a, int64_t b) {
  return SameRow(*rows.table, rows.features, CellForm::kCanonical, a, b);
}

}  // namespace

void AuditNearRows(const AuditRows& rows, DataAudit& audit) {
  const std::string id = "near_duplicates";
  const double tolerance = rows.options->tolerance;
  const std::vector<size_t> columns = InformativeColumns(rows, tolerance);
  if (columns.size() < kLeastColumns) {
    return ReportNotRun(
        audit, id,
        fmt::format("{} features have enough different values, {} are needed for "
                    "nearness to mean a copy",
                    columns.size(), kLeastColumns));
  }
  const NearPairs found = FindPairs(rows, columns, tolerance);
  std::set<int64_t> touched, leaked;
  int64_t pairs = 0, across = 0;
  Finding finding;
  for (const auto& [a, b] : found.pairs) {
    if (Equal(rows, a, b)) continue;  // counted as canonical duplicates
    ++pairs;
    touched.insert({a, b});
    if (rows.GroupName(a) != rows.GroupName(b)) ++across;
    if (rows.divided()) {
      const int x = rows.part[static_cast<size_t>(a)],
                y = rows.part[static_cast<size_t>(b)];
      if (x == kTrain && y == kTest) leaked.insert(b);
      if (x == kTest && y == kTrain) leaked.insert(a);
    }
    if (finding.examples.size() < kMostExamples) {
      finding.examples.push_back(rows.Name(a) + " ~ " + rows.Name(b));
    }
  }
  const std::string reason = fmt::format(
      "{} pairs share {:.0f} % of {} features within {:g}; {} candidates compared{}",
      pairs, 100 * kLeastShared, columns.size(), tolerance, found.compared,
      found.crowded > 0
          ? fmt::format("; in {} crowded buckets neighbours only", found.crowded)
          : std::string());
  // Inside one leakage unit relatives are expected; a split that parts them is not.
  const bool matters = rows.divided()
                           ? !leaked.empty()
                           : (rows.group_of.empty() ? pairs > 0 : across > 0);
  if (!matters) return Report(audit, id, std::nullopt, reason, rows.table->rows);
  finding.kind = "near rows (MinHash)";
  finding.leakage_type = leakage::kDuplicates;
  const auto& rows_hit = rows.divided() ? leaked : touched;
  finding.rows = static_cast<int64_t>(rows_hit.size());
  const auto of = rows.divided()
                      ? std::ranges::count(rows.part, static_cast<int>(kTest))
                      : rows.table->rows;
  finding.share = static_cast<double>(finding.rows) / static_cast<double>(of);
  finding.share_of = rows.divided() ? "test rows" : "rows";
  const std::vector<int64_t> hit(rows_hit.begin(), rows_hit.end());
  finding.groups = GroupsOf(rows, hit);
  finding.facts = {{"pairs", pairs}, {"pairs_across_leakage_units", across}};
  finding.text = reason;
  if (rows.divided()) {
    Measure(rows, rows.part, hit, finding);
  } else {
    finding.metric_reason = "no split is given";
  }
  Report(audit, id, std::move(finding), reason, rows.table->rows);
}

}  // namespace stepslack::audit
