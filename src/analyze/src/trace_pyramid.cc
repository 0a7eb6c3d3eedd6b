#include "stepslack/analyze/trace_pyramid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

namespace stepslack::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

// Offsets and times up to 2^61 each, so that their sum fits.
constexpr int64_t kLargestOffsetNs = int64_t{1} << 60;
constexpr size_t kFewTiles = 16;

struct Window {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();

  bool empty() const { return first_ns >= last_ns; }
  void Add(int64_t start, int64_t end) {
    if (end <= start) return;
    first_ns = std::min(first_ns, start);
    last_ns = std::max(last_ns, end);
  }
  void Add(const IntervalSet& set) {
    if (set.empty()) return;
    Add(set.intervals().front().start_ns, set.intervals().back().end_ns);
  }
};

Window DeviceWindow(const RankTrace& trace) {
  Window window;
  window.Add(trace.compute);
  window.Add(trace.memory);
  window.Add(trace.comm);
  return window;
}

Window WholeWindow(const RankTrace& trace) {
  Window window = DeviceWindow(trace);
  for (const IntervalSet& set : trace.phase_sets) window.Add(set);
  for (const TraceStep& step : trace.steps) window.Add(step.start_ns, step.end_ns);
  for (const CollectiveSpan& span : trace.collectives) {
    window.Add(span.start_ns, span.end_ns);
  }
  return window;
}

// The disjoint parts of one rank; idle is what they leave of its span.
struct RankParts {
  IntervalSet compute;
  IntervalSet exposed;
  IntervalSet overlapped;
  IntervalSet memory;
};

RankParts SplitRank(const RankTrace& trace) {
  RankParts parts;
  parts.compute = trace.compute.Difference(trace.comm);
  parts.exposed = trace.comm.Difference(trace.compute);
  parts.overlapped = trace.comm.Intersection(trace.compute);
  parts.memory = trace.memory.Difference(trace.compute.Union(trace.comm));
  return parts;
}

// Adds the set, moved by `shift`, to one part of a row of tiles.
void Deposit(const IntervalSet& set, int64_t shift, int64_t tile_ns,
             int64_t TimeSplit::*part, std::vector<TimeSplit>& row) {
  for (const Interval& interval : set.intervals()) {
    int64_t at = interval.start_ns + shift;
    const int64_t end = interval.end_ns + shift;
    for (size_t tile = static_cast<size_t>(at / tile_ns); at < end; ++tile) {
      const int64_t stop = std::min(end, static_cast<int64_t>(tile + 1) * tile_ns);
      row[tile].*part += stop - at;
      at = stop;
    }
  }
}

void DepositIdle(const PyramidRank& rank, int64_t tile_ns,
                 std::vector<TimeSplit>& row) {
  int64_t at = rank.first_ns;
  for (size_t tile = static_cast<size_t>(at / tile_ns); at < rank.last_ns; ++tile) {
    const int64_t stop =
        std::min(rank.last_ns, static_cast<int64_t>(tile + 1) * tile_ns);
    row[tile].idle_ns = (stop - at) - row[tile].SumNs();
    at = stop;
  }
}

// Four tiles become one.
void Coarsen(std::vector<TimeSplit>& row) {
  const size_t tiles = (row.size() + 3) / 4;
  for (size_t tile = 0; tile < tiles; ++tile) {
    TimeSplit sum;
    for (size_t i = 4 * tile; i < std::min(row.size(), 4 * tile + 4); ++i) {
      sum += row[i];
    }
    row[tile] = sum;
  }
  row.resize(tiles);
}

// The row of a level that holds a rank, or nothing.
std::optional<size_t> RowIn(const PyramidLevel& level, size_t rank_row) {
  if (level.focus.empty()) return rank_row / level.ranks_per_row;
  const auto found = std::lower_bound(level.focus.begin(), level.focus.end(),
                                      static_cast<int32_t>(rank_row));
  if (found == level.focus.end() || *found != static_cast<int32_t>(rank_row)) {
    return std::nullopt;
  }
  return static_cast<size_t>(found - level.focus.begin());
}

void AddRow(const std::vector<TimeSplit>& row, size_t rank_row, size_t level_row,
            PyramidLevel& level) {
  PyramidTile* tiles = &level.data[level_row * level.tiles];
  for (size_t tile = 0; tile < row.size(); ++tile) {
    tiles[tile].sum += row[tile];
    if (row[tile].comm_exposed_ns > tiles[tile].worst_exposed_ns) {
      tiles[tile].worst_exposed_ns = row[tile].comm_exposed_ns;
      tiles[tile].worst_row = static_cast<int32_t>(rank_row);
    }
  }
}

size_t RowsOf(size_t ranks, size_t ranks_per_row) {
  return (ranks + ranks_per_row - 1) / ranks_per_row;
}

// Ranks per row of each kind of level, finest first.
std::vector<size_t> RowKinds(size_t ranks, size_t most_tiles,
                             const PyramidOptions& options) {
  const size_t merge = std::max<size_t>(options.merge, 2);
  const size_t enough = std::max<size_t>(options.rows_enough, 1);
  std::vector<size_t> kinds = {1};
  while (RowsOf(ranks, kinds.back()) > enough) kinds.push_back(kinds.back() * merge);
  // Rows of a few tiles only are not worth their memory.
  while (kinds.size() > 1 && RowsOf(ranks, kinds.front()) > most_tiles / 8) {
    kinds.erase(kinds.begin());
  }
  return kinds;
}

// The empty levels of one kind of row, finest first.
std::vector<PyramidLevel> EmptyLevels(size_t rows, size_t ranks_per_row,
                                      int64_t length_ns, size_t most_tiles,
                                      int64_t min_tile_ns) {
  const auto per_row = static_cast<int64_t>(std::max<size_t>(most_tiles / rows, 1));
  const auto count = [&](int64_t tile_ns) {
    return static_cast<size_t>((length_ns - 1) / tile_ns + 1);
  };
  std::vector<PyramidLevel> levels;
  int64_t tile_ns = std::max({(length_ns - 1) / per_row + 1, min_tile_ns, int64_t{1}});
  while (true) {
    PyramidLevel level;
    level.tile_ns = tile_ns;
    level.tiles = count(tile_ns);
    level.ranks_per_row = ranks_per_row;
    level.rows = rows;
    level.data.resize(rows * level.tiles);
    levels.push_back(std::move(level));
    if (levels.back().tiles <= kFewTiles) return levels;
    tile_ns *= 4;
  }
}

void FillLevels(std::span<const RankTrace> traces, TracePyramid& pyramid,
                std::vector<std::vector<PyramidLevel>>& kinds) {
  std::vector<TimeSplit> row;
  for (size_t i = 0; i < pyramid.ranks.size(); ++i) {
    PyramidRank& rank = pyramid.ranks[i];
    const RankParts parts = SplitRank(traces[rank.trace]);
    const int64_t shift = rank.offset_ns - pyramid.origin_ns;
    rank.total.compute_ns = parts.compute.LengthNs();
    rank.total.comm_exposed_ns = parts.exposed.LengthNs();
    rank.total.comm_overlapped_ns = parts.overlapped.LengthNs();
    rank.total.memory_ns = parts.memory.LengthNs();
    rank.total.idle_ns = rank.last_ns - rank.first_ns - rank.total.SumNs();
    for (std::vector<PyramidLevel>& levels : kinds) {
      const std::optional<size_t> level_row = RowIn(levels.front(), i);
      if (!level_row) continue;
      const int64_t tile_ns = levels.front().tile_ns;
      row.assign(levels.front().tiles, {});
      Deposit(parts.compute, shift, tile_ns, &TimeSplit::compute_ns, row);
      Deposit(parts.exposed, shift, tile_ns, &TimeSplit::comm_exposed_ns, row);
      Deposit(parts.overlapped, shift, tile_ns, &TimeSplit::comm_overlapped_ns, row);
      Deposit(parts.memory, shift, tile_ns, &TimeSplit::memory_ns, row);
      DepositIdle(rank, tile_ns, row);
      for (size_t level = 0; level < levels.size(); ++level) {
        if (level > 0) Coarsen(row);
        AddRow(row, i, *level_row, levels[level]);
      }
    }
  }
}

// Indices of the ranks in the focus, ascending.
std::vector<int32_t> FocusRows(std::span<const RankTrace> traces,
                               const TracePyramid& pyramid,
                               const PyramidOptions& options) {
  if (options.focus_count == 0 || traces.size() <= options.rows_enough) return {};
  std::vector<int32_t> wanted = options.focus;
  if (wanted.empty()) {
    for (const WorstStep& step :
         FindWorstSteps(traces, pyramid, 64 * options.focus_count)) {
      wanted.push_back(step.rank);
    }
  }
  std::set<int32_t> rows;
  for (const int32_t rank : wanted) {
    if (rows.size() >= options.focus_count) break;
    const auto found = std::lower_bound(
        pyramid.ranks.begin(), pyramid.ranks.end(), rank,
        [](const PyramidRank& row, int32_t number) { return row.rank < number; });
    if (found == pyramid.ranks.end() || found->rank != rank) continue;
    rows.insert(static_cast<int32_t>(found - pyramid.ranks.begin()));
  }
  return {rows.begin(), rows.end()};
}

// Ranks in order with their spans, relative to the earliest instant of all.
base::Status PlaceRanks(std::span<const RankTrace> traces,
                        std::span<const int64_t> offsets_ns, TracePyramid& pyramid) {
  Window all;
  for (size_t i = 0; i < traces.size(); ++i) {
    PyramidRank rank;
    rank.rank = traces[i].rank;
    rank.trace = i;
    rank.offset_ns = offsets_ns.empty() ? 0 : offsets_ns[i];
    if (rank.offset_ns > kLargestOffsetNs || rank.offset_ns < -kLargestOffsetNs) {
      return base::Fail(
          "RENDER-0152", base::ExitCode::kInput,
          fmt::format("a clock offset of {} ns is beyond 36 years", rank.offset_ns),
          fmt::format("rank {}", rank.rank),
          "leave the rank out, or correct its clock another way");
    }
    const Window whole = WholeWindow(traces[i]);
    if (!whole.empty()) {
      all.Add(whole.first_ns + rank.offset_ns, whole.last_ns + rank.offset_ns);
    }
    const Window device = DeviceWindow(traces[i]);
    if (!device.empty()) {
      rank.first_ns = device.first_ns + rank.offset_ns;
      rank.last_ns = device.last_ns + rank.offset_ns;
    }
    pyramid.ranks.push_back(rank);
  }
  if (!all.empty()) {
    pyramid.origin_ns = all.first_ns;
    // As unsigned: hostile times may lie further apart than an int64 holds.
    const uint64_t length =
        static_cast<uint64_t>(all.last_ns) - static_cast<uint64_t>(all.first_ns);
    pyramid.length_ns = length > static_cast<uint64_t>(kLargestOffsetNs)
                            ? std::numeric_limits<int64_t>::max()
                            : static_cast<int64_t>(length);
  }
  for (PyramidRank& rank : pyramid.ranks) {
    if (rank.first_ns == rank.last_ns) {
      rank.first_ns = rank.last_ns = 0;
    } else {
      rank.first_ns -= pyramid.origin_ns;
      rank.last_ns -= pyramid.origin_ns;
    }
  }
  std::stable_sort(
      pyramid.ranks.begin(), pyramid.ranks.end(),
      [](const PyramidRank& a, const PyramidRank& b) { return a.rank < b.rank; });
  return {};
}

}  // namespace

TimeSplit& TimeSplit::operator+=(const TimeSplit& other) {
  compute_ns += other.compute_ns;
  comm_exposed_ns += other.comm_exposed_ns;
  comm_overlapped_ns += other.comm_overlapped_ns;
  memory_ns += other.memory_ns;
  idle_ns += other.idle_ns;
  return *this;
}

base::Result<TracePyramid> BuildPyramid(std::span<const RankTrace> traces,
                                        std::span<const int64_t> offsets_ns,
                                        const PyramidOptions& options) {
  if (!offsets_ns.empty() && offsets_ns.size() != traces.size()) {
    return base::Fail(
        "RENDER-0150", base::ExitCode::kInternal,
        fmt::format("{} clock offsets for {} traces", offsets_ns.size(), traces.size()),
        "trace pyramid", "give one offset per trace, or none");
  }
  TracePyramid pyramid;
  SS_RETURN_IF_ERROR(PlaceRanks(traces, offsets_ns, pyramid));
  if (pyramid.length_ns == 0) return pyramid;

  const size_t all_tiles = options.max_bytes / sizeof(PyramidTile);
  const std::vector<size_t> kinds = RowKinds(traces.size(), all_tiles, options);
  // Sums over merged ranks must fit into an int64.
  if (pyramid.length_ns >
      (int64_t{1} << 62) / static_cast<int64_t>(std::max<size_t>(kinds.back(), 4))) {
    return base::Fail("RENDER-0151", base::ExitCode::kInput,
                      "the times of the traces lie too far apart to be of one run",
                      fmt::format("{} traces", traces.size()),
                      "one of them has a wrong clock or an event at time 0; correct "
                      "the clocks or leave it out");
  }
  const std::vector<int32_t> focus = FocusRows(traces, pyramid, options);
  // A level and its coarser ones, each a quarter, take 4/3 of it.
  const size_t most_tiles =
      all_tiles / (kinds.size() + (focus.empty() ? 0 : 1)) * 3 / 4;
  std::vector<std::vector<PyramidLevel>> levels;
  for (const size_t ranks_per_row : kinds) {
    levels.push_back(EmptyLevels(RowsOf(traces.size(), ranks_per_row), ranks_per_row,
                                 pyramid.length_ns, most_tiles, options.min_tile_ns));
  }
  if (!focus.empty()) {
    levels.push_back(EmptyLevels(focus.size(), 1, pyramid.length_ns, most_tiles,
                                 options.min_tile_ns));
    for (PyramidLevel& level : levels.back()) level.focus = focus;
  }
  FillLevels(traces, pyramid, levels);
  for (std::vector<PyramidLevel>& of_kind : levels) {
    for (PyramidLevel& level : of_kind) pyramid.levels.push_back(std::move(level));
  }
  return pyramid;
}

std::vector<WorstStep> FindWorstSteps(std::span<const RankTrace> traces,
                                      const TracePyramid& pyramid, size_t count) {
  std::vector<WorstStep> worst;
  for (const PyramidRank& rank : pyramid.ranks) {
    const int64_t shift = rank.offset_ns - pyramid.origin_ns;
    for (const TraceStep& step : traces[rank.trace].steps) {
      if (step.device.exposed_comm_ns + step.device.idle_ns <= 0) continue;
      worst.push_back({rank.rank, step.step, step.start_ns + shift, step.end_ns + shift,
                       step.device.exposed_comm_ns, step.device.idle_ns});
    }
  }
  std::stable_sort(
      worst.begin(), worst.end(), [](const WorstStep& a, const WorstStep& b) {
        return a.exposed_comm_ns + a.idle_ns > b.exposed_comm_ns + b.idle_ns;
      });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

}  // namespace stepslack::analyze
