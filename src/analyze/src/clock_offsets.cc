#include "clock_offsets.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace stepslack::analyze {
namespace {

constexpr int kSweeps = 3;
constexpr int64_t kConstantAboveNs = 200'000;
constexpr size_t kConstantSets = 5;
constexpr int64_t kConstantShare = 20;  // scatter at most 1/20 of the offset

class ClockSolver {
 public:
  ClockSolver(const ClockSamples& samples, const ClockOptions& options)
      : samples_(samples), options_(options) {}

  ClockEstimate Run() {
    estimate_.offset_ns.resize(samples_.ranks);
    estimate_.applied.assign(samples_.ranks, false);
    FindLayouts();
    SolveParts();
    for (int sweep = 0; sweep < kSweeps; ++sweep) Sweep();
    CentreParts();
    ChooseApplied();
    MeasureResidual();
    return std::move(estimate_);
  }

 private:
  void FindLayouts();
  void SolveParts();
  void SolvePart(uint32_t root);
  void SolveLayout(size_t layout);
  void Sweep();
  void CentreParts();
  bool Propose(int64_t above_ns);
  void ChooseApplied();
  int64_t CountViolations() const;
  std::vector<int64_t> HarmWithout() const;
  std::vector<bool> Constant() const;
  void MeasureResidual();

  // Values of every rank over its sets, end minus the centre of the set.
  std::vector<std::vector<int64_t>> Deviations() const;
  int64_t Centre(std::span<const ClockMember> set, std::vector<int64_t>& scratch) const;

  const ClockSamples& samples_;
  ClockOptions options_;
  ClockEstimate estimate_;
  std::vector<std::vector<size_t>> layouts_;  // sets with the same members
  std::vector<std::vector<size_t>> layouts_of_rank_;
  std::vector<bool> reached_;  // layouts, while parts are solved
  std::vector<int> part_of_rank_;
  int parts_ = 0;
};

void ClockSolver::FindLayouts() {
  std::map<std::vector<uint32_t>, size_t> known;
  std::vector<uint32_t> ranks;
  layouts_of_rank_.resize(samples_.ranks);
  for (size_t s = 0; s < samples_.sets(); ++s) {
    ranks.clear();
    for (const ClockMember& m : samples_.Set(s)) ranks.push_back(m.rank);
    if (ranks.size() < 2) continue;
    const auto [at, is_new] = known.emplace(ranks, layouts_.size());
    if (is_new) {
      layouts_.emplace_back();
      for (const uint32_t r : ranks) layouts_of_rank_[r].push_back(at->second);
    }
    layouts_[at->second].push_back(s);
  }
}

void ClockSolver::SolveParts() {
  part_of_rank_.assign(samples_.ranks, -1);
  reached_.assign(layouts_.size(), false);
  std::vector<size_t> links(samples_.ranks, 0);
  for (size_t r = 0; r < samples_.ranks; ++r) {
    for (const size_t layout : layouts_of_rank_[r]) links[r] += layouts_[layout].size();
  }
  std::vector<uint32_t> by_links(samples_.ranks);
  for (uint32_t r = 0; r < by_links.size(); ++r) by_links[r] = r;
  std::stable_sort(by_links.begin(), by_links.end(),
                   [&](uint32_t a, uint32_t b) { return links[a] > links[b]; });
  for (const uint32_t r : by_links) {
    if (links[r] > 0 && part_of_rank_[r] < 0) SolvePart(r);
  }
}

// The layout with the most sets goes first: its medians are the surest.
void ClockSolver::SolvePart(uint32_t root) {
  const int part = parts_++;
  std::priority_queue<std::pair<size_t, size_t>> next;
  const auto reach = [&](uint32_t rank) {
    part_of_rank_[rank] = part;
    for (const size_t layout : layouts_of_rank_[rank]) {
      if (reached_[layout]) continue;
      reached_[layout] = true;
      next.emplace(layouts_[layout].size(), layouts_.size() - layout);
    }
  };
  estimate_.offset_ns[root] = 0;
  reach(root);
  while (!next.empty()) {
    const size_t layout = layouts_.size() - next.top().second;
    next.pop();
    SolveLayout(layout);
    for (const ClockMember& m : samples_.Set(layouts_[layout].front())) {
      if (part_of_rank_[m.rank] < 0) reach(m.rank);
    }
  }
}

// At least one member has an offset; the others get theirs.
void ClockSolver::SolveLayout(size_t layout) {
  const std::vector<size_t>& sets = layouts_[layout];
  const size_t width = samples_.Set(sets.front()).size();
  std::vector<int64_t> centres;
  std::vector<int64_t> scratch;
  for (const size_t s : sets) centres.push_back(Centre(samples_.Set(s), scratch));
  for (size_t k = 0; k < width; ++k) {
    const uint32_t rank = samples_.Set(sets.front())[k].rank;
    if (part_of_rank_[rank] >= 0) continue;
    scratch.clear();
    for (size_t i = 0; i < sets.size(); ++i) {
      scratch.push_back(samples_.Set(sets[i])[k].end_ns - centres[i]);
    }
    estimate_.offset_ns[rank] = LowerMedian(scratch);
  }
}

// Median end of the members that have an offset, on the common clock. Members that get
// theirs in this very layout are not in a part yet and do not count.
int64_t ClockSolver::Centre(std::span<const ClockMember> set,
                            std::vector<int64_t>& scratch) const {
  scratch.clear();
  for (const ClockMember& m : set) {
    if (part_of_rank_[m.rank] >= 0) {
      scratch.push_back(m.end_ns - *estimate_.offset_ns[m.rank]);
    }
  }
  const int64_t low = LowerMedian(scratch);
  if (scratch.size() % 2 == 1) return low;
  // The middle of the two middle ends, or pairs would take one of the two as the truth.
  const auto upper = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
  return low + (*std::min_element(upper, scratch.end()) - low) / 2;
}

std::vector<std::vector<int64_t>> ClockSolver::Deviations() const {
  std::vector<std::vector<int64_t>> values(samples_.ranks);
  std::vector<int64_t> scratch;
  for (size_t s = 0; s < samples_.sets(); ++s) {
    if (samples_.Set(s).size() < 2) continue;
    const int64_t centre = Centre(samples_.Set(s), scratch);
    for (const ClockMember& m : samples_.Set(s)) {
      values[m.rank].push_back(m.end_ns - centre);
    }
  }
  return values;
}

void ClockSolver::Sweep() {
  std::vector<std::vector<int64_t>> values = Deviations();
  for (size_t r = 0; r < values.size(); ++r) {
    if (!values[r].empty()) estimate_.offset_ns[r] = LowerMedian(values[r]);
  }
}

void ClockSolver::CentreParts() {
  std::vector<std::vector<int64_t>> of_part(static_cast<size_t>(parts_));
  for (size_t r = 0; r < samples_.ranks; ++r) {
    if (part_of_rank_[r] < 0) continue;
    of_part[static_cast<size_t>(part_of_rank_[r])].push_back(*estimate_.offset_ns[r]);
  }
  std::vector<int64_t> middle;
  for (std::vector<int64_t>& offsets : of_part) middle.push_back(LowerMedian(offsets));
  for (size_t r = 0; r < samples_.ranks; ++r) {
    if (part_of_rank_[r] < 0) continue;
    *estimate_.offset_ns[r] -= middle[static_cast<size_t>(part_of_rank_[r])];
  }
}

// The two most extreme values, so that one member can be taken out again.
struct Extremes {
  int64_t starts[2] = {std::numeric_limits<int64_t>::min(),
                       std::numeric_limits<int64_t>::min()};
  int64_t first_ends[2] = {std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::max()};
  int64_t last_ends[2] = {std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::min()};
  int64_t longest = 0;

  void Add(int64_t start, int64_t end) {
    starts[1] = std::max(starts[1], std::min(start, starts[0]));
    starts[0] = std::max(starts[0], start);
    first_ends[1] = std::min(first_ends[1], std::max(end, first_ends[0]));
    first_ends[0] = std::min(first_ends[0], end);
    last_ends[1] = std::max(last_ends[1], std::min(end, last_ends[0]));
    last_ends[0] = std::max(last_ends[0], end);
    longest = std::max(longest, end - start);
  }
};

// As cross_rank.cc refuses a collective: an end before the last start, or ends further
// apart than the longest of it took.
int Broken(int64_t last_start, int64_t first_end, int64_t last_end, int64_t longest,
           int64_t tolerance) {
  return first_end + tolerance < last_start ||
                 last_end - first_end > longest + tolerance
             ? 1
             : 0;
}

int64_t ClockSolver::CountViolations() const {
  int64_t count = 0;
  for (size_t s = 0; s < samples_.sets(); ++s) {
    Extremes of;
    for (const ClockMember& m : samples_.Set(s)) {
      const int64_t correction = estimate_.Correction(m.rank);
      of.Add(m.start_ns - correction, m.end_ns - correction);
    }
    count += Broken(of.starts[0], of.first_ends[0], of.last_ends[0], of.longest,
                    options_.tolerance_ns);
  }
  return count;
}

// How many more sets break causality when one rank's offset is put back and all others
// stay removed.
std::vector<int64_t> ClockSolver::HarmWithout() const {
  std::vector<int64_t> harm(samples_.ranks, 0);
  for (size_t s = 0; s < samples_.sets(); ++s) {
    Extremes of;
    for (const ClockMember& m : samples_.Set(s)) {
      const int64_t correction = estimate_.Correction(m.rank);
      of.Add(m.start_ns - correction, m.end_ns - correction);
    }
    const int now = Broken(of.starts[0], of.first_ends[0], of.last_ends[0], of.longest,
                           options_.tolerance_ns);
    for (const ClockMember& m : samples_.Set(s)) {
      if (!estimate_.applied[m.rank]) continue;
      const int64_t correction = estimate_.Correction(m.rank);
      const auto without = [&](const int64_t(&two)[2], int64_t own) {
        return own - correction == two[0] ? two[1] : two[0];
      };
      harm[m.rank] += Broken(std::max(without(of.starts, m.start_ns), m.start_ns),
                             std::min(without(of.first_ends, m.end_ns), m.end_ns),
                             std::max(without(of.last_ends, m.end_ns), m.end_ns),
                             of.longest, options_.tolerance_ns) -
                      now;
    }
  }
  return harm;
}

// Ends are held against the median of the other ranks' ends: in a small set a rank is
// part of the centre and would agree with itself.
std::vector<bool> ClockSolver::Constant() const {
  std::vector<std::vector<int64_t>> distances(samples_.ranks);
  std::vector<std::pair<int64_t, uint32_t>> ends;
  for (size_t s = 0; s < samples_.sets(); ++s) {
    ends.clear();
    for (const ClockMember& m : samples_.Set(s)) {
      ends.emplace_back(m.end_ns - estimate_.offset_ns[m.rank].value_or(0), m.rank);
    }
    if (ends.size() < 2) continue;
    std::sort(ends.begin(), ends.end());
    const size_t middle = (ends.size() - 2) / 2;  // of one fewer
    for (size_t k = 0; k < ends.size(); ++k) {
      const int64_t others = ends[k <= middle ? middle + 1 : middle].first;
      distances[ends[k].second].push_back(std::llabs(ends[k].first - others));
    }
  }
  std::vector<bool> constant(samples_.ranks, false);
  for (size_t r = 0; r < distances.size(); ++r) {
    if (!estimate_.offset_ns[r] || distances[r].size() < kConstantSets) continue;
    const int64_t offset = std::llabs(*estimate_.offset_ns[r]);
    constant[r] = offset >= kConstantAboveNs &&
                  LowerMedian(distances[r]) <= offset / kConstantShare;
  }
  return constant;
}

bool ClockSolver::Propose(int64_t above_ns) {
  bool any = false;
  for (size_t r = 0; r < samples_.ranks; ++r) {
    estimate_.applied[r] =
        estimate_.offset_ns[r] && std::llabs(*estimate_.offset_ns[r]) > above_ns;
    any = any || estimate_.applied[r];
  }
  return any;
}

// With other clocks in the trace at all, small offsets between them matter as well.
void ClockSolver::ChooseApplied() {
  estimate_.violations_before = CountViolations();
  estimate_.violations_after = estimate_.violations_before;
  const std::vector<bool> constant = Constant();
  for (const int64_t above_ns : {options_.apply_above_ns, options_.tolerance_ns}) {
    if (!Propose(above_ns)) return;
    const bool better = CountViolations() < estimate_.violations_before;
    const std::vector<int64_t> harm = HarmWithout();
    bool any = false;
    for (size_t r = 0; r < samples_.ranks; ++r) {
      estimate_.applied[r] =
          estimate_.applied[r] && ((better && harm[r] > 0) || constant[r]);
      any = any || estimate_.applied[r];
    }
    estimate_.violations_after = CountViolations();
    if (!any) return;
  }
}

void ClockSolver::MeasureResidual() {
  std::vector<int64_t> spreads;
  for (size_t s = 0; s < samples_.sets(); ++s) {
    if (samples_.Set(s).size() < 2) continue;
    int64_t first = std::numeric_limits<int64_t>::max();
    int64_t last = std::numeric_limits<int64_t>::min();
    for (const ClockMember& m : samples_.Set(s)) {
      const int64_t end = m.end_ns - estimate_.Correction(m.rank);
      first = std::min(first, end);
      last = std::max(last, end);
    }
    spreads.push_back(last - first);
  }
  if (spreads.empty()) return;
  estimate_.residual_max_ns = *std::max_element(spreads.begin(), spreads.end());
  estimate_.residual_ns = LowerMedian(spreads);
}

}  // namespace

int64_t LowerMedian(std::vector<int64_t>& values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ClockEstimate EstimateClocks(const ClockSamples& samples, const ClockOptions& options) {
  return ClockSolver(samples, options).Run();
}

}  // namespace stepslack::analyze
