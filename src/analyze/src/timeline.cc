#include "stepslack/analyze/timeline.h"

#include <algorithm>
#include <map>
#include <optional>

#include "step_table.h"

namespace stepslack::analyze {
namespace {

bool ByStart(const TimelineSpan& a, const TimelineSpan& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.phase < b.phase;
}

// Absolute times; cut and shifted later.
std::map<int, TimelineRank> CollectRanks(std::span<const trace::EventStore> traces) {
  std::map<int, TimelineRank> ranks;
  for (size_t s = 0; s < traces.size(); ++s) {
    const trace::EventStore& store = traces[s];
    const int fallback = store.file_rank >= 0 ? store.file_rank : static_cast<int>(s);
    for (size_t i = 0; i < store.size(); ++i) {
      if (store.CategoryOf(i) == "gpu_user_annotation") continue;
      TimelineRank& rank = ranks[store.rank[i] >= 0 ? store.rank[i] : fallback];
      TimelineSpan span{Phase::kCollective, store.start_ns[i], store.end_ns[i], 0};
      if (store.collective[i] != trace::kNoCollective) {
        span.bytes = store.collectives[static_cast<size_t>(store.collective[i])].bytes;
        rank.collectives.push_back(span);
      } else if (const int64_t step = StepOfSpan(store.NameOf(i)); step >= 0) {
        rank.steps.push_back({step, span.start_ns, span.end_ns});
      } else {
        span.phase = PhaseOfSpan(store.NameOf(i));
        if (span.phase != Phase::kOther) rank.phases.push_back(span);
      }
    }
  }
  for (auto& [number, rank] : ranks) rank.rank = number;
  return ranks;
}

// First step of the window when none is asked for: the second that every rank has,
// because the first traced one carries the start of tracing; the only one when there is
// only one.
std::optional<int64_t> ChooseFirstStep(const std::map<int, TimelineRank>& ranks) {
  std::map<int64_t, size_t> seen;
  size_t with_steps = 0;
  for (const auto& [number, rank] : ranks) {
    with_steps += rank.steps.empty() ? 0 : 1;
    for (const TimelineStep& step : rank.steps) ++seen[step.step];
  }
  std::optional<int64_t> first;
  bool skipped_one = false;
  for (const auto& [step, count] : seen) {
    if (count < with_steps) continue;
    first = step;
    if (skipped_one) break;
    skipped_one = true;
  }
  return first;
}

// Keeps the `limit` longest spans of a lane; the rest is counted.
void LimitLane(std::vector<TimelineSpan>& lane, size_t limit, Timeline& timeline) {
  std::sort(lane.begin(), lane.end(), ByStart);
  if (lane.size() <= limit) return;
  std::stable_sort(lane.begin(), lane.end(), [](const auto& a, const auto& b) {
    return a.end_ns - a.start_ns > b.end_ns - b.start_ns;
  });
  for (size_t i = limit; i < lane.size(); ++i) {
    ++timeline.dropped_spans;
    timeline.dropped_ns += lane[i].end_ns - lane[i].start_ns;
  }
  lane.resize(limit);
  std::sort(lane.begin(), lane.end(), ByStart);
}

// Cuts a lane to [start, end) and makes its times relative to `start`.
void CutLane(std::vector<TimelineSpan>& lane, int64_t start, int64_t end) {
  std::erase_if(lane, [start, end](const TimelineSpan& span) {
    return span.end_ns <= start || span.start_ns >= end;
  });
  for (TimelineSpan& span : lane) {
    span.start_ns = std::max(span.start_ns, start) - start;
    span.end_ns = std::min(span.end_ns, end) - start;
  }
}

// Chooses the window and fills the timeline from ranks in absolute time.
Timeline Assemble(std::map<int, TimelineRank> ranks, std::string source,
                  const TimelineOptions& options) {
  Timeline timeline;
  timeline.source = std::move(source);
  const std::optional<int64_t> first =
      options.first_step >= 0 ? options.first_step : ChooseFirstStep(ranks);
  if (!first) return timeline;
  const int64_t count = std::max<int64_t>(options.step_count, 1);
  std::optional<int64_t> start;
  int64_t end = 0;
  timeline.first_step = *first;
  timeline.last_step = *first;
  for (auto& [number, rank] : ranks) {
    std::erase_if(rank.steps, [&](const TimelineStep& step) {
      return step.step < *first || step.step - *first >= count;
    });
    for (const TimelineStep& step : rank.steps) {
      start = std::min(start.value_or(step.start_ns), step.start_ns);
      end = std::max(end, step.end_ns);
      timeline.last_step = std::max(timeline.last_step, step.step);
    }
  }
  if (!start) return timeline;
  timeline.origin_ns = *start;
  timeline.length_ns = end - *start;
  for (auto& [number, rank] : ranks) {
    if (rank.steps.empty()) continue;
    for (TimelineStep& step : rank.steps) {
      step.start_ns -= *start;
      step.end_ns -= *start;
    }
    CutLane(rank.phases, *start, end);
    CutLane(rank.collectives, *start, end);
    LimitLane(rank.phases, options.spans_per_lane, timeline);
    LimitLane(rank.collectives, options.spans_per_lane, timeline);
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

void LayOutStep(const record::StepRecord& record, int rank_number, int world_size,
                TimelineRank& rank) {
  const StepPhases phases = PhasesOf(record, rank_number, world_size);
  int64_t at = record.start_ns;
  rank.steps.push_back({record.step, at, at + phases.step_ns});
  const std::pair<Phase, int64_t> parts[] = {{Phase::kData, phases.data_ns},
                                             {Phase::kForward, phases.forward_ns},
                                             {Phase::kBackward, phases.backward_ns},
                                             {Phase::kCommWait, phases.exposed_comm_ns},
                                             {Phase::kOptimizer, phases.optimizer_ns}};
  for (const auto& [phase, length] : parts) {
    if (length > 0) rank.phases.push_back({phase, at, at + length, 0});
    at += length;
  }
}

base::Json SpansJson(const std::vector<TimelineSpan>& spans) {
  base::Json json = base::Json::Array{};
  for (const TimelineSpan& span : spans) {
    base::Json item;
    item.Set("phase", ToString(span.phase));
    item.Set("start_ns", span.start_ns);
    item.Set("end_ns", span.end_ns);
    if (span.bytes > 0) item.Set("message_bytes", span.bytes);
    json.Append(std::move(item));
  }
  return json;
}

}  // namespace

Timeline BuildTimeline(std::span<const trace::EventStore> traces,
                       const TimelineOptions& options) {
  return Assemble(CollectRanks(traces), "traces", options);
}

Timeline BuildTimelineFromSteps(const record::RunRecord& run,
                                const TimelineOptions& options) {
  // A damaged record must not overflow the times.
  constexpr int64_t kLatest = int64_t{1} << 61;
  std::map<int, TimelineRank> ranks;
  int64_t dropped = 0;
  for (size_t r = 0; r < run.steps.size(); ++r) {
    const int number = static_cast<int>(r);
    for (const record::StepRecord& record : run.steps[r]) {
      if (record.start_ns < -kLatest || record.start_ns > kLatest) {
        ++dropped;
        continue;
      }
      ranks[number].rank = number;
      LayOutStep(record, number, WorldSize(run), ranks[number]);
    }
  }
  Timeline timeline =
      Assemble(std::move(ranks), "step records (order of phases assumed)", options);
  timeline.dropped_spans += dropped;
  return timeline;
}

base::Json ToJson(const Timeline& timeline) {
  base::Json json;
  json.Set("schema", "stepslack.timeline/1");
  json.Set("source", timeline.source);
  json.Set("origin_ns", timeline.origin_ns);
  json.Set("length_ns", timeline.length_ns);
  json.Set("first_step", timeline.first_step);
  json.Set("last_step", timeline.last_step);
  json.Set("dropped_spans", timeline.dropped_spans);
  json.Set("dropped_ns", timeline.dropped_ns);
  base::Json ranks = base::Json::Array{};
  for (const TimelineRank& rank : timeline.ranks) {
    base::Json item;
    item.Set("rank", rank.rank);
    base::Json steps = base::Json::Array{};
    for (const TimelineStep& step : rank.steps) {
      base::Json one;
      one.Set("step", step.step);
      one.Set("start_ns", step.start_ns);
      one.Set("end_ns", step.end_ns);
      steps.Append(std::move(one));
    }
    item.Set("steps", std::move(steps));
    item.Set("phases", SpansJson(rank.phases));
    item.Set("collectives", SpansJson(rank.collectives));
    ranks.Append(std::move(item));
  }
  json.Set("ranks", std::move(ranks));
  return json;
}

}  // namespace stepslack::analyze
