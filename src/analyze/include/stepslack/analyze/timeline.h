// A compact model of a few training steps for drawing: per rank one lane of phases and
// one of collectives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/phase_names.h"
#include "stepslack/base/json.h"
#include "stepslack/record/run_record.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

struct TimelineSpan {
  Phase phase = Phase::kOther;
  int64_t start_ns = 0;  // since Timeline::origin_ns
  int64_t end_ns = 0;
  int64_t bytes = 0;  // of a collective
};

struct TimelineStep {
  int64_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct TimelineRank {
  int rank = 0;
  std::vector<TimelineStep> steps;
  std::vector<TimelineSpan> phases;       // by start
  std::vector<TimelineSpan> collectives;  // by start
};

struct Timeline {
  std::string source;     // "traces", or "step records (order of phases assumed)"
  int64_t origin_ns = 0;  // earliest step start of the window
  int64_t length_ns = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  std::vector<TimelineRank> ranks;  // ascending
  int64_t dropped_spans = 0;        // shortest spans beyond the limit per lane
  int64_t dropped_ns = 0;           // their time
};

struct TimelineOptions {
  int64_t first_step =
      -1;  // -1: the first that every rank has, after the first traced one
  int64_t step_count = 3;
  size_t spans_per_lane = 400;
};

// Empty (no ranks) when the traces have no steps.
Timeline BuildTimeline(std::span<const trace::EventStore> traces,
                       const TimelineOptions& options = {});

// From step records alone: phases of a step laid out in the order data, forward,
// backward, comm_wait, optimizer.
Timeline BuildTimelineFromSteps(const record::RunRecord& run,
                                const TimelineOptions& options = {});

base::Json ToJson(const Timeline& timeline);  // "stepslack.timeline/1"

}  // namespace stepslack::analyze
