// Records top-level tensor operations ("aten::conv2d") of the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stepslack::model {

struct OpEvent {
  std::string name;
  int64_t start_ns = 0;  // monotonic clock, as base::NowNs
  int64_t duration_ns = 0;
};

// Active from construction to Stop or destruction; one at a time on a thread.
// Operations inside another recorded one are left out; beyond `max_events` they are
// only counted.
class OpTrace {
 public:
  explicit OpTrace(int64_t max_events);
  ~OpTrace();
  OpTrace(const OpTrace&) = delete;
  OpTrace& operator=(const OpTrace&) = delete;

  void Stop();
  const std::vector<OpEvent>& events() const { return events_; }
  int64_t dropped() const { return dropped_; }

 private:
  struct Callbacks;
  friend struct Callbacks;
  std::vector<OpEvent> events_;
  int64_t max_events_;
  int64_t dropped_ = 0;
  int depth_ = 0;
  uint64_t handle_ = 0;  // of the registered callback; 0: stopped
};

}  // namespace stepslack::model
