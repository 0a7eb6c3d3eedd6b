#include "stepslack/analyze/step_series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "clock_offsets.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::analyze {
namespace {

constexpr int64_t kTimeLimitNs = int64_t{1} << 61;

struct RankStep {
  int64_t step_ns = 0;
  int64_t own_ns = 0;
};

// Largest value and who alone has it; -1 when two do.
template <typename Value>
std::pair<int64_t, int32_t> Largest(std::span<const RankStep> row,
                                    std::span<const int32_t> ranks, Value value) {
  int64_t most = value(row[0]);
  int32_t rank = ranks[0];
  for (size_t r = 1; r < row.size(); ++r) {
    if (value(row[r]) > most) {
      most = value(row[r]);
      rank = ranks[r];
    } else if (value(row[r]) == most) {
      rank = -1;
    }
  }
  return {most, rank};
}

class SeriesMaker {
 public:
  SeriesMaker(std::span<const RankTrace> traces, const StepSeriesOptions& options)
      : options_(options) {
    for (const RankTrace& trace : traces) traces_.push_back(&trace);
    std::stable_sort(
        traces_.begin(), traces_.end(),
        [](const RankTrace* a, const RankTrace* b) { return a->rank < b->rank; });
    for (const RankTrace* trace : traces_) ranks_.push_back(trace->rank);
  }

  StepSeries Run() {
    if (!CollectSteps()) return std::move(series_);
    for (size_t i = 0; i < numbers_.size(); ++i) AddPoint(i);
    FindWarmup();
    FindChanges();
    FindPersistent();
    return std::move(series_);
  }

 private:
  bool CollectSteps();
  void AddPoint(size_t step);
  void FindWarmup();
  void FindChanges();
  void FindPersistent();
  size_t MostOwnRank() const;
  std::span<const RankStep> Row(size_t step) const {
    return std::span(cells_).subspan(step * ranks_.size(), ranks_.size());
  }
  size_t warmup() const { return static_cast<size_t>(series_.warmup_steps); }

  StepSeriesOptions options_;
  std::vector<const RankTrace*> traces_;
  std::vector<int32_t> ranks_;
  std::vector<int64_t> numbers_;  // of steps that all ranks have
  std::vector<RankStep> cells_;   // step by step, all ranks
  StepSeries series_;
};

bool SeriesMaker::CollectSteps() {
  if (traces_.empty()) {
    series_.reasons.push_back("no traces");
    return false;
  }
  std::map<int64_t, std::vector<RankStep>> rows;
  for (size_t r = 0; r < traces_.size(); ++r) {
    if (traces_[r]->step_source != traces_[0]->step_source) {
      series_.reasons.push_back(
          "the steps of the ranks were found in different ways, so their numbers can "
          "not be compared");
      return false;
    }
    for (const TraceStep& step : traces_[r]->steps) {
      if (step.end_ns < step.start_ns || step.start_ns < -kTimeLimitNs ||
          step.end_ns > kTimeLimitNs) {
        continue;
      }
      auto& row = rows[step.step];
      if (row.size() != r) continue;  // a rank before lacks it, or it is here twice
      const int64_t length = step.end_ns - step.start_ns;
      const int64_t comm = std::clamp<int64_t>(step.device.exposed_comm_ns, 0, length);
      row.push_back({length, length - comm});
    }
  }
  for (const auto& [number, row] : rows) {
    if (row.size() != traces_.size()) continue;
    numbers_.push_back(number);
    cells_.insert(cells_.end(), row.begin(), row.end());
  }
  if (numbers_.empty()) series_.reasons.push_back("no step that all ranks have");
  return !numbers_.empty();
}

void SeriesMaker::AddPoint(size_t step) {
  StepPoint point;
  point.step = numbers_[step];
  std::vector<int64_t> times;
  for (const RankStep& cell : Row(step)) times.push_back(cell.step_ns);
  point.median_ns = LowerMedian(times);
  std::tie(point.max_ns, point.slowest_rank) =
      Largest(Row(step), ranks_, [](const RankStep& c) { return c.step_ns; });
  std::tie(point.max_own_ns, point.most_own_rank) =
      Largest(Row(step), ranks_, [](const RankStep& c) { return c.own_ns; });
  series_.steps.push_back(point);
}

void SeriesMaker::FindWarmup() {
  std::vector<int64_t> times;
  for (const StepPoint& point : series_.steps) times.push_back(point.max_ns);
  const size_t most = times.size() / 4;
  const auto median_of = [&](size_t from, size_t to) {
    std::vector<int64_t> part(
        times.begin() + static_cast<std::ptrdiff_t>(from),
        times.begin() + static_cast<std::ptrdiff_t>(std::min(to, times.size())));
    return static_cast<double>(LowerMedian(part));
  };
  size_t w = 0;
  for (; w < most; ++w) {
    const double rest = median_of(w, times.size());
    const auto near = [&](double value) {
      return std::fabs(value - rest) <= options_.warmup_within * rest;
    };
    if (near(static_cast<double>(times[w])) && near(median_of(w, w + 3))) break;
  }
  series_.warmup_steps = static_cast<int64_t>(w);
  series_.median_ns = static_cast<int64_t>(median_of(w, times.size()));
}

void SeriesMaker::FindChanges() {
  std::vector<double> times;
  for (size_t i = warmup(); i < series_.steps.size(); ++i) {
    times.push_back(static_cast<double>(series_.steps[i].max_ns));
  }
  stats::ChangePointOptions options = options_.changes;
  options.alpha = options_.alpha;
  options.min_relative_change = options_.min_relative_change;
  for (const stats::ChangePoint& point : stats::FindChangePoints(times, options)) {
    series_.changes.push_back({series_.steps[warmup() + point.index].step, point.before,
                               point.after, point.p});
  }
}

size_t SeriesMaker::MostOwnRank() const {
  size_t best = 0;
  int64_t most = -1;
  std::vector<int64_t> own;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    own.clear();
    for (size_t i = warmup(); i < numbers_.size(); ++i) {
      own.push_back(Row(i)[r].own_ns);
    }
    const int64_t median = LowerMedian(own);
    if (median <= most) continue;
    most = median;
    best = r;
  }
  return best;
}

void SeriesMaker::FindPersistent() {
  if (ranks_.size() < 2) {
    series_.reasons.push_back("one rank has no others to be slower than");
    return;
  }
  const size_t candidate = MostOwnRank();
  PersistentRank found;
  found.rank = ranks_[candidate];
  std::vector<int64_t> excess;
  std::vector<int64_t> own;
  for (size_t i = warmup(); i < numbers_.size(); ++i) {
    own.clear();
    for (const RankStep& cell : Row(i)) own.push_back(cell.own_ns);
    const int64_t mine = own[candidate];
    excess.push_back(mine - LowerMedian(own));
    const StepPoint& point = series_.steps[i];
    if (point.most_own_rank < 0 && mine == point.max_own_ns) continue;  // a tie with it
    ++found.steps;
    found.steps_slowest += point.most_own_rank == found.rank ? 1 : 0;
  }
  if (found.steps == 0) return;
  // P(K >= k) = P(K <= n - k) under a fair coin.
  const double tail =
      stats::BinomialCdf(found.steps - found.steps_slowest, found.steps, 0.5);
  found.p = std::min(1.0, tail * static_cast<double>(ranks_.size()));
  found.median_excess_ns = LowerMedian(excess);
  if (found.p <= options_.alpha) series_.persistent = found;
}

base::Json OfPoint(const StepPoint& point) {
  const auto rank = [](int32_t r) { return r >= 0 ? base::Json(r) : base::Json(); };
  base::Json json;
  json.Set("step", point.step);
  json.Set("max_ns", point.max_ns);
  json.Set("median_ns", point.median_ns);
  json.Set("slowest_rank", rank(point.slowest_rank));
  json.Set("max_own_ns", point.max_own_ns);
  json.Set("most_own_rank", rank(point.most_own_rank));
  return json;
}

}  // namespace

StepSeries MeasureSteps(std::span<const RankTrace> traces,
                        const StepSeriesOptions& options) {
  return SeriesMaker(traces, options).Run();
}

base::Json ToJson(const StepSeries& series, size_t max_steps) {
  base::Json json;
  base::Json steps{base::Json::Array{}};
  const size_t shown = std::min(series.steps.size(), max_steps);
  for (size_t i = 0; i < shown; ++i) steps.Append(OfPoint(series.steps[i]));
  json.Set("steps", std::move(steps));
  json.Set("steps_omitted", static_cast<int64_t>(series.steps.size() - shown));
  json.Set("warmup_steps", series.warmup_steps);
  json.Set("median_ns",
           series.median_ns ? base::Json(*series.median_ns) : base::Json());
  base::Json changes{base::Json::Array{}};
  for (const StepChange& change : series.changes) {
    base::Json row;
    row.Set("step", change.step);
    row.Set("before_ns", change.before_ns);
    row.Set("after_ns", change.after_ns);
    row.Set("p", change.p);
    changes.Append(std::move(row));
  }
  json.Set("changes", std::move(changes));
  base::Json persistent;
  if (series.persistent) {
    persistent.Set("rank", series.persistent->rank);
    persistent.Set("steps_slowest", series.persistent->steps_slowest);
    persistent.Set("steps", series.persistent->steps);
    persistent.Set("p", series.persistent->p);
    persistent.Set("median_excess_ns", series.persistent->median_excess_ns);
  }
  json.Set("persistent", std::move(persistent));
  base::Json reasons{base::Json::Array{}};
  for (const std::string& reason : series.reasons) reasons.Append(reason);
  json.Set("reasons", std::move(reasons));
  return json;
}

}  // namespace stepslack::analyze
