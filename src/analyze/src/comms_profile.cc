#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "block_estimate.h"
#include "step_table.h"
#include "stepslack/analyze/phases.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

using base::Estimate;

// One run, prepared once.
struct RunView {
  StepTable table;
  bool has_traces = false;
  CollectiveMatch match;
  std::vector<TracedStep> traced;
};

class Profiler {
 public:
  Profiler(std::span<const RunEvidence> evidence, const ProfileOptions& options);
  CommsProfile Run();

 private:
  using Part = std::function<double(const StepPhases&)>;
  using TracedPart = std::function<double(const TracedStep&)>;

  std::vector<std::vector<RatioTerm>> RecordTerms(const Part& part,
                                                  const Part& whole) const;
  Estimate RecordShare(int64_t StepPhases::*part) const;
  Estimate TracedShare(const TracedPart& part, const TracedPart& whole,
                       bool needs_matching) const;
  void AddRecordShares();
  void AddTracedShares();
  void AddPerStepMeans();
  void AddLoadBalance();
  void AddSlowestRank();
  void AddCoverage();
  void AddRankTotals();
  void AddMatching();
  void AddCollectives();
  Estimate Zero() const;

  ProfileOptions options_;
  std::vector<RunView> views_;
  EstimateBasis basis_;
  CommsProfile profile_;
};

Profiler::Profiler(std::span<const RunEvidence> evidence, const ProfileOptions& options)
    : options_(options),
      basis_(ChooseBasis(evidence.size(), options.blocks, options.confidence)) {
  for (const RunEvidence& one : evidence) {
    profile_.world_size = std::max(profile_.world_size, WorldSize(*one.run));
    RunView view;
    view.table = BuildStepTable(*one.run, options.warmup_steps);
    view.has_traces = !one.traces.empty();
    view.match = MatchCollectives(one.traces, options.match);
    view.traced = PhasesOfTraces(one.traces, view.match);
    views_.push_back(std::move(view));
  }
  profile_.runs = static_cast<int64_t>(evidence.size());
  profile_.interval_over = basis_.over_runs ? "runs" : "step blocks";
}

CommsProfile Profiler::Run() {
  AddCoverage();
  AddMatching();
  AddRecordShares();
  AddTracedShares();
  AddPerStepMeans();
  AddLoadBalance();
  AddSlowestRank();
  AddRankTotals();
  AddCollectives();
  return std::move(profile_);
}

std::vector<std::vector<RatioTerm>> Profiler::RecordTerms(const Part& part,
                                                          const Part& whole) const {
  std::vector<std::vector<RatioTerm>> runs;
  for (const RunView& view : views_) {
    std::vector<RatioTerm> terms;
    for (const auto& row : view.table.rows) {
      RatioTerm sum;
      for (size_t r = 0; r < row.size(); ++r) {
        const StepPhases phases =
            PhasesOf(*row[r], view.table.ranks[r], profile_.world_size);
        sum.numerator += part(phases);
        sum.denominator += whole(phases);
      }
      terms.push_back(sum);
    }
    runs.push_back(std::move(terms));
  }
  return runs;
}

Estimate Profiler::RecordShare(int64_t StepPhases::*part) const {
  return ShareOverBlocks(
      RecordTerms([part](const StepPhases& p) { return static_cast<double>(p.*part); },
                  [](const StepPhases& p) { return static_cast<double>(p.step_ns); }),
      basis_);
}

Estimate Profiler::TracedShare(const TracedPart& part, const TracedPart& whole,
                               bool needs_matching) const {
  if (profile_.traced_steps == 0) return Unknown("1", "no traced step");
  if (needs_matching && !profile_.matching.valid) {
    return Unknown("1", "refused: " + profile_.matching.reason);
  }
  std::vector<std::vector<RatioTerm>> runs;
  for (const RunView& view : views_) {
    std::map<int64_t, RatioTerm> by_step;
    for (const TracedStep& step : view.traced) {
      by_step[step.step].numerator += part(step);
      by_step[step.step].denominator += whole(step);
    }
    std::vector<RatioTerm> terms;
    for (const auto& [step, term] : by_step) terms.push_back(term);
    runs.push_back(std::move(terms));
  }
  return ShareOverBlocks(runs, basis_);
}

Estimate Profiler::Zero() const {
  if (profile_.coverage.steps_used == 0)
    return Unknown("1", "no step to estimate it from");
  return base::Exact(0, "1", profile_.coverage.steps_used, "steps",
                     "one rank exchanges nothing");
}

void Profiler::AddRecordShares() {
  profile_.step_seconds = RatioOverBlocks(
      RecordTerms(
          [](const StepPhases& p) { return static_cast<double>(p.step_ns) * 1e-9; },
          [](const StepPhases&) { return 1.0; }),
      basis_, "s");
  profile_.exposed_share =
      profile_.world_size > 1 ? RecordShare(&StepPhases::exposed_comm_ns) : Zero();
  profile_.data_share = RecordShare(&StepPhases::data_ns);
  profile_.forward_share = RecordShare(&StepPhases::forward_ns);
  profile_.backward_share = RecordShare(&StepPhases::backward_ns);
  profile_.optimizer_share = RecordShare(&StepPhases::optimizer_ns);
  profile_.other_share = RecordShare(&StepPhases::other_ns);
}

void Profiler::AddTracedShares() {
  for (const RunView& view : views_) {
    profile_.traced_steps += static_cast<int64_t>(view.traced.size());
  }
  if (profile_.world_size <= 1) {
    for (Estimate* share :
         {&profile_.traced_exposed_share, &profile_.comm_share, &profile_.wait_share,
          &profile_.transfer_share, &profile_.exposed_wait_share,
          &profile_.exposed_transfer_share}) {
      *share = Zero();
    }
    profile_.overlap_share = Unknown("1", "one rank exchanges nothing");
    return;
  }
  const auto part = [](int64_t TracedStep::*member) {
    return [member](const TracedStep& s) { return static_cast<double>(s.*member); };
  };
  const auto step = [](const TracedStep& s) {
    return static_cast<double>(s.end_ns - s.start_ns);
  };
  profile_.traced_exposed_share =
      TracedShare(part(&TracedStep::exposed_ns), step, false);
  profile_.comm_share = TracedShare(part(&TracedStep::comm_ns), step, false);
  profile_.overlap_share =
      TracedShare(part(&TracedStep::overlapped_ns), part(&TracedStep::comm_ns), false);
  profile_.wait_share = TracedShare(part(&TracedStep::wait_ns), step, true);
  profile_.transfer_share = TracedShare(part(&TracedStep::transfer_ns), step, true);
  profile_.exposed_wait_share =
      TracedShare(part(&TracedStep::exposed_wait_ns), step, true);
  profile_.exposed_transfer_share =
      TracedShare(part(&TracedStep::exposed_transfer_ns), step, true);
}

void Profiler::AddPerStepMeans() {
  const auto mean = [this](
                        const std::function<double(const record::StepRecord&)>& field,
                        std::string_view unit) {
    std::vector<std::vector<RatioTerm>> runs;
    for (const RunView& view : views_) {
      std::vector<RatioTerm> terms;
      for (const auto& row : view.table.rows) {
        RatioTerm sum;
        for (const auto* record : row) {
          sum.numerator += field(*record);
          sum.denominator += 1;
        }
        terms.push_back(sum);
      }
      runs.push_back(std::move(terms));
    }
    return RatioOverBlocks(runs, basis_, unit);
  };
  profile_.bytes_per_step = mean(
      [](const auto& record) { return static_cast<double>(record.comm_bytes); }, "B");
  profile_.faults_per_step =
      mean([](const auto& record) { return static_cast<double>(record.minor_faults); },
           "faults");
}

void Profiler::AddLoadBalance() {
  std::vector<std::vector<RatioTerm>> runs;
  for (const RunView& view : views_) {
    std::vector<RatioTerm> terms;
    for (const auto& row : view.table.rows) {
      double sum = 0;
      double largest = 0;
      for (const auto* record : row) {
        const double compute = static_cast<double>(ComputeNs(*record));
        sum += compute;
        largest = std::max(largest, compute);
      }
      terms.push_back({sum / static_cast<double>(row.size()), largest});
    }
    runs.push_back(std::move(terms));
  }
  profile_.load_balance = ShareOverBlocks(runs, basis_);
}

// Compute time per sample of table column `r` over rows [begin, end); absent without
// samples.
std::optional<double> ComputePerSample(const StepTable& table, size_t r, size_t begin,
                                       size_t end) {
  double compute = 0;
  double samples = 0;
  for (size_t i = begin; i < end; ++i) {
    compute += static_cast<double>(ComputeNs(*table.rows[i][r]));
    samples += static_cast<double>(table.rows[i][r]->rank_samples);
  }
  if (samples <= 0 || compute <= 0) return std::nullopt;
  return compute / samples;
}

// That of `rank` over the mean of the others.
std::optional<double> OverOthers(const StepTable& table, int rank, size_t begin,
                                 size_t end) {
  std::optional<double> own;
  double others = 0;
  int count = 0;
  for (size_t r = 0; r < table.ranks.size(); ++r) {
    const auto cost = ComputePerSample(table, r, begin, end);
    if (!cost) continue;
    if (table.ranks[r] == rank) {
      own = cost;
    } else {
      others += *cost;
      ++count;
    }
  }
  if (!own || count == 0) return std::nullopt;
  return *own / (others / count);
}

void Profiler::AddSlowestRank() {
  std::map<int, std::pair<double, int>> cost;  // sum over runs and number of runs
  std::vector<size_t> steps;
  for (const RunView& view : views_) {
    steps.push_back(view.table.rows.size());
    for (size_t r = 0; r < view.table.ranks.size(); ++r) {
      const auto one = ComputePerSample(view.table, r, 0, view.table.rows.size());
      if (!one) continue;
      auto& [sum, count] = cost[view.table.ranks[r]];
      sum += *one;
      ++count;
    }
  }
  if (cost.size() < 2) {
    profile_.slowest_over_others = Unknown("1", "needs steps of two ranks");
    return;
  }
  double largest = 0;
  for (const auto& [rank, sum] : cost) {
    const double mean = sum.first / sum.second;
    if (mean > largest) {
      largest = mean;
      profile_.slowest_rank = rank;
    }
  }
  profile_.slowest_over_others = EstimateOverBlocks(
      steps, basis_, "1", [this](size_t run, size_t begin, size_t end) {
        return OverOthers(views_[run].table, profile_.slowest_rank, begin, end);
      });
  profile_.slowest_over_others.method += "; the rank was chosen as the slowest";
}

void Profiler::AddCoverage() {
  StepCoverage& total = profile_.coverage;
  std::set<int> missing;
  for (const RunView& view : views_) {
    const StepCoverage& one = view.table.coverage;
    total.steps_seen += one.steps_seen;
    total.steps_used += one.steps_used;
    total.warmup_steps += one.warmup_steps;
    total.incomplete_steps += one.incomplete_steps;
    total.zero_steps += one.zero_steps;
    total.repeated_records += one.repeated_records;
    total.overfull_records += one.overfull_records;
    missing.insert(one.missing_ranks.begin(), one.missing_ranks.end());
  }
  total.missing_ranks.assign(missing.begin(), missing.end());
}

void Profiler::AddRankTotals() {
  std::map<int, RankTotals> totals;
  for (const RunView& view : views_) {
    for (const auto& row : view.table.rows) {
      for (size_t r = 0; r < row.size(); ++r) {
        const int rank = view.table.ranks[r];
        const StepPhases phases = PhasesOf(*row[r], rank, profile_.world_size);
        RankTotals& sum = totals[rank];
        ++sum.steps;
        sum.samples += row[r]->rank_samples;
        sum.step_ns += phases.step_ns;
        sum.data_ns += phases.data_ns;
        sum.forward_ns += phases.forward_ns;
        sum.backward_ns += phases.backward_ns;
        sum.exposed_comm_ns += phases.exposed_comm_ns;
        sum.optimizer_ns += phases.optimizer_ns;
        sum.other_ns += phases.other_ns;
        sum.comm_bytes += row[r]->comm_bytes;
        sum.minor_faults += row[r]->minor_faults;
        sum.cpu_seconds += row[r]->cpu_seconds;
      }
    }
    if (!profile_.matching.valid) continue;
    for (const MatchedCollective& collective : view.match.collectives) {
      for (const CollectiveOnRank& r : collective.ranks)
        totals[r.rank].wait_ns += r.wait_ns;
      if (collective.last_rank < 0) continue;
      RankTotals& last = totals[collective.last_rank];
      ++last.times_last;
      last.wait_caused_ns += collective.wait_caused_ns;
    }
  }
  for (auto& [rank, sum] : totals) {
    sum.rank = rank;
    profile_.ranks.push_back(sum);
  }
}

void Profiler::AddMatching() {
  MatchingQuality& total = profile_.matching;
  std::vector<int64_t> skews;
  bool all_valid = true;
  for (const RunView& view : views_) {
    if (!view.has_traces) continue;
    const MatchingQuality& one = view.match.quality;
    total.spans += one.spans;
    total.matched += one.matched;
    total.matched_spans += one.matched_spans;
    total.unmatched_spans += one.unmatched_spans;
    total.duplicate_spans += one.duplicate_spans;
    total.mismatched_spans += one.mismatched_spans;
    total.matched_by_order += one.matched_by_order;
    total.acausal += one.acausal;
    total.size_mismatches += one.size_mismatches;
    if (total.reason.empty() || (all_valid && !one.valid)) total.reason = one.reason;
    all_valid = all_valid && one.valid;
    for (const auto& collective : view.match.collectives) {
      skews.push_back(collective.end_skew_ns);
    }
  }
  total.valid = all_valid && !total.reason.empty();
  if (total.reason.empty()) total.reason = "no traces";
  if (skews.empty()) return;
  std::sort(skews.begin(), skews.end());
  total.largest_end_skew_ns = skews.back();
  total.median_end_skew_ns = skews[(skews.size() - 1) / 2];
}

// The collectives of one row of the table.
struct RowValues {
  std::vector<double> wait_us;
  std::vector<double> transfer_us;
  std::vector<double> bandwidth;
  double total_us = 0;
};

void AddTo(RowValues& row, const MatchedCollective& collective) {
  double wait = 0;
  for (const CollectiveOnRank& r : collective.ranks) {
    wait += static_cast<double>(r.wait_ns) * 1e-3;
  }
  row.wait_us.push_back(wait / static_cast<double>(collective.ranks.size()));
  const double transfer_ns =
      static_cast<double>(collective.last_end_ns - collective.last_start_ns);
  row.transfer_us.push_back(transfer_ns * 1e-3);
  row.total_us += row.wait_us.back() + row.transfer_us.back();
  if (transfer_ns > 0 && collective.bytes > 0) {
    // Bytes per nanosecond are GB/s.
    row.bandwidth.push_back(BusFactor(collective.name, collective.group_size) *
                            static_cast<double>(collective.bytes) / transfer_ns);
  }
}

void Profiler::AddCollectives() {
  std::map<std::tuple<std::string, std::string, int64_t, int64_t>, RowValues> rows;
  for (const RunView& view : views_) {
    for (const MatchedCollective& c : view.match.collectives) {
      AddTo(rows[{c.name, c.group, c.bytes, c.group_size}], c);
    }
  }
  std::vector<std::pair<double, CollectiveRow>> sorted;
  for (const auto& [key, values] : rows) {
    CollectiveRow row;
    std::tie(row.name, row.group, row.bytes, row.group_size) = key;
    row.count = static_cast<int64_t>(values.wait_us.size());
    if (profile_.matching.valid) {
      const double level = options_.confidence;
      row.wait_us = stats::MeanInterval(values.wait_us, "us", "collectives", level);
      row.transfer_us =
          stats::MeanInterval(values.transfer_us, "us", "collectives", level);
      row.bus_bandwidth =
          values.bandwidth.empty()
              ? Unknown("GB/s", "no message size in the trace, or no time measured")
              : stats::GeometricMeanInterval(values.bandwidth, "GB/s", "collectives",
                                             level);
    } else {
      const std::string why = "refused: " + profile_.matching.reason;
      row.wait_us = Unknown("us", why);
      row.transfer_us = Unknown("us", why);
      row.bus_bandwidth = Unknown("GB/s", why);
    }
    sorted.emplace_back(values.total_us, std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [time, row] : sorted) profile_.collectives.push_back(std::move(row));
}

}  // namespace

CommsProfile ProfileComms(std::span<const RunEvidence> runs,
                          const ProfileOptions& options) {
  return Profiler(runs, options).Run();
}

}  // namespace stepslack::analyze
