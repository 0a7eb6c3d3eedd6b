// What the kernel counts for a rank, read at the borders of a step: tens of
// microseconds for both readings (files stay open and are read in place).
#pragma once

#include <cstdint>
#include <string_view>

#include "stepslack/record/run_record.h"

namespace stepslack::train {

// Total since the process, or its control group, began; -1: not told by this host.
struct CounterReading {
  double cpu_seconds = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  int64_t run_queue_ns = -1;
  int64_t throttled_ns = -1;
  int64_t throttle_count = -1;
  int64_t resident_bytes = -1;
};

// Second number of schedstat ("running waiting slices", nanoseconds): waited on a run
// queue. -1: not of that form.
int64_t RunQueueNs(std::string_view schedstat);
// Fills throttled_ns and throttle_count from cpu.stat of either version of control
// groups: "nr_throttled", "throttled_usec" (2) or "throttled_time" in ns (1).
void ReadThrottling(std::string_view cpu_stat, CounterReading& reading);

class StepCounters {
 public:
  // Opens the files for the calling thread: the run-queue delay is its own.
  StepCounters();
  ~StepCounters();
  StepCounters(const StepCounters&) = delete;
  StepCounters& operator=(const StepCounters&) = delete;

  CounterReading Read() const;

 private:
  int schedstat_ = -1;  // descriptors; -1: not there
  int statm_ = -1;
  int cpu_stat_ = -1;
};

// What happened between two readings; resident memory is that of the second.
void FillCounters(const CounterReading& before, const CounterReading& after,
                  record::StepRecord& record);

}  // namespace stepslack::train
