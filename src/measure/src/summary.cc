#include "summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace stepslack::measure {
namespace {

using analyze::RankTrace;

std::string Milliseconds(int64_t ns) {
  return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

// Sum over ranks of one time over the sum of another, and the ranks at both ends.
Headline ShareOf(const TraceReport& report, std::string name, std::string_view of,
                 const std::function<int64_t(const RankTrace&)>& part,
                 const std::function<int64_t(const RankTrace&)>& whole) {
  Headline headline{std::move(name), std::nullopt, ""};
  int64_t parts = 0;
  int64_t wholes = 0;
  std::pair<double, int32_t> least{2.0, -1};
  std::pair<double, int32_t> most{-1.0, -1};
  for (const RankTrace& rank : report.ranks) {
    const int64_t length = whole(rank);
    if (length <= 0) continue;
    parts += part(rank);
    wholes += length;
    const double share = static_cast<double>(part(rank)) / static_cast<double>(length);
    least = std::min(least, {share, rank.rank});
    if (share > most.first) most = {share, rank.rank};
  }
  if (wholes == 0) {
    headline.text = fmt::format("no {} to measure against", of);
    return headline;
  }
  headline.value = static_cast<double>(parts) / static_cast<double>(wholes);
  headline.text = fmt::format("of {}", of);
  if (report.ranks.size() > 1 && most.first - least.first < 0.0005) {
    headline.text += "; all ranks alike";
  } else if (report.ranks.size() > 1) {
    headline.text += fmt::format("; rank {} {:.1f} % to rank {} {:.1f} %", least.second,
                                 100 * least.first, most.second, 100 * most.first);
  }
  return headline;
}

int64_t StepTime(const RankTrace& rank) {
  int64_t total = 0;
  for (const auto& step : rank.steps) total += step.end_ns - step.start_ns;
  return total;
}

int64_t DataInSteps(const RankTrace& rank) {
  int64_t total = 0;
  for (const auto& step : rank.steps) total += step.phases.data_ns;
  return total;
}

Headline WaitShare(const TraceReport& report) {
  Headline headline{"waiting in communication", std::nullopt, ""};
  if (!report.cross || !report.cross->waits) {
    headline.text = report.cross && !report.cross->reasons.empty()
                        ? report.cross->reasons.front()
                        : "no traces of several ranks";
    return headline;
  }
  const analyze::WaitSummary& waits = *report.cross->waits;
  headline.value = waits.wait_share_estimate;
  headline.text = fmt::format(
      "of the time in {} matched collectives is beyond their shortest rank's",
      report.cross->matched - report.cross->refused);
  return headline;
}

Headline Efficiency(const TraceReport& report) {
  Headline headline{"parallel efficiency", report.pop.parallel_efficiency, ""};
  if (!headline.value) {
    headline.text = report.pop.reasons.empty() ? "no traces of several ranks"
                                               : report.pop.reasons.front();
    return headline;
  }
  headline.text = fmt::format("load balance {:.3f}", *report.pop.load_balance);
  if (report.pop.serialisation && report.pop.transfer) {
    headline.text += fmt::format(" x serialisation {:.3f} x transfer {:.3f}",
                                 *report.pop.serialisation, *report.pop.transfer);
  }
  headline.text += ", " + report.pop.window;
  return headline;
}

// The step with the most of one time, over all ranks.
void AddWorstStep(const TraceReport& report, std::string_view what,
                  const std::function<int64_t(const analyze::TraceStep&)>& lost,
                  std::vector<WorstPlace>& places) {
  WorstPlace worst;
  for (const RankTrace& rank : report.ranks) {
    for (const analyze::TraceStep& step : rank.steps) {
      const int64_t time = lost(step);
      if (time <= worst.lost_ns) continue;
      worst.rank = rank.rank;
      worst.step = step.step;
      worst.start_ns = step.start_ns;
      worst.end_ns = step.end_ns;
      worst.lost_ns = time;
      worst.what = fmt::format("{} {} of a step of {}", what, Milliseconds(time),
                               Milliseconds(step.end_ns - step.start_ns));
    }
  }
  if (worst.rank >= 0) places.push_back(std::move(worst));
}

// The rank that kept the others waiting longest.
void AddLastArriver(const TraceReport& report, std::vector<WorstPlace>& places) {
  if (!report.cross || !report.cross->waits) return;
  const analyze::RankWaits* worst = nullptr;
  for (const analyze::RankWaits& rank : report.cross->waits->by_rank) {
    if (worst == nullptr || rank.wait_caused_ns > worst->wait_caused_ns) worst = &rank;
  }
  if (worst == nullptr || worst->wait_caused_ns == 0) return;
  WorstPlace place;
  place.rank = worst->rank;
  place.lost_ns = worst->wait_caused_ns;
  place.what = fmt::format(
      "arrived last in {} of {} collectives; the others waited {} for it",
      worst->times_last, worst->collectives, Milliseconds(worst->wait_caused_ns));
  const analyze::MatchedCollective* longest = nullptr;
  for (const auto& collective : report.cross->collectives) {
    if (collective.last_rank == worst->rank &&
        (longest == nullptr || collective.wait_caused_ns > longest->wait_caused_ns)) {
      longest = &collective;
    }
  }
  if (longest != nullptr) {
    place.start_ns = longest->last_start_ns + report.cross->Correction(worst->rank);
    place.end_ns = longest->last_end_ns + report.cross->Correction(worst->rank);
  }
  places.push_back(std::move(place));
}

// Without steps, the ranks as a whole.
void AddWorstRank(const TraceReport& report, std::vector<WorstPlace>& places) {
  const RankTrace* worst = nullptr;
  for (const RankTrace& rank : report.ranks) {
    if (!rank.steps.empty()) return;
    if (worst == nullptr || rank.total.idle_ns > worst->total.idle_ns) worst = &rank;
  }
  if (worst == nullptr || worst->total.idle_ns == 0) return;
  WorstPlace place;
  place.rank = worst->rank;
  place.start_ns = worst->window_start_ns;
  place.end_ns = worst->window_end_ns;
  place.lost_ns = worst->total.idle_ns;
  place.what = fmt::format("device idle {} of {}", Milliseconds(worst->total.idle_ns),
                           Milliseconds(worst->total.span_ns));
  places.push_back(std::move(place));
}

}  // namespace

void Summarise(TraceReport& report) {
  if (report.ranks.empty()) return;
  const auto span = [](const RankTrace& rank) { return rank.total.span_ns; };
  report.headline = {
      ShareOf(
          report, "exposed communication", "device span",
          [](const RankTrace& r) { return r.total.exposed_comm_ns; }, span),
      WaitShare(report),
      ShareOf(
          report, "device idle", "device span",
          [](const RankTrace& r) { return r.total.idle_ns; }, span),
      ShareOf(report, "data loading", "step time", DataInSteps, StepTime),
      Efficiency(report)};
  std::vector<WorstPlace>& places = report.worst;
  AddLastArriver(report, places);
  AddWorstStep(
      report, "exposed communication",
      [](const auto& step) { return step.device.exposed_comm_ns; }, places);
  AddWorstStep(
      report, "device idle", [](const auto& step) { return step.device.idle_ns; },
      places);
  AddWorstStep(
      report, "data loading", [](const auto& step) { return step.phases.data_ns; },
      places);
  AddWorstRank(report, places);
  std::stable_sort(
      places.begin(), places.end(),
      [](const WorstPlace& a, const WorstPlace& b) { return a.lost_ns > b.lost_ns; });
}

}  // namespace stepslack::measure
