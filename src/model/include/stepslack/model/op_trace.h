// Records top-level tensor operations ("aten::conv2d") of the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stepslack::model {

struct OpEvent {
  int32_t name = 0;      // index into OpTrace::names()
  int64_t start_ns = 0;  // monotonic clock, as base::NowNs
  int64_t end_ns = 0;
};

// Records between Start and Stop into memory that is there beforehand: an operation
// costs two readings of the clock and a look-up of its name, no allocation. One may be
// active at a time on a thread; Start and Stop must come from the same one. Operations
// inside another recorded one are left out: where a name has shown many of them, the
// library is told not to report them at all, which is cheaper than to be told of each.
// Beyond `max_events` in all operations are only counted.
class OpTrace {
 public:
  explicit OpTrace(int64_t max_events);
  ~OpTrace();
  OpTrace(const OpTrace&) = delete;
  OpTrace& operator=(const OpTrace&) = delete;

  void Start();
  void Stop();
  std::span<const OpEvent> events() const { return {events_.data(), used_}; }
  const std::vector<std::string>& names() const { return names_; }
  int64_t dropped() const { return dropped_; }

 private:
  struct Callbacks;
  friend struct Callbacks;
  // Where the tensor library keeps a name, and which it was when last seen there.
  struct Seen {
    const char* text = nullptr;
    int32_t name = -1;  // -1: not an operation of tensors
    bool nests = false;
  };
  static constexpr size_t kSeen = 512;  // a power of two

  // What is known of an operation by this name; -1 for one that is not recorded.
  Seen& Find(const char* text);
  void Open(const char* text);
  void Close();
  std::vector<OpEvent> events_;
  size_t used_ = 0;
  std::vector<std::string> names_;
  std::vector<Seen> seen_;
  int64_t dropped_ = 0;
  int64_t depth_ = 0;
  int64_t outer_start_ns_ = 0;
  Seen* outer_ = nullptr;  // of the operation at depth 1
  int64_t inside_ = 0;     // operations seen within it
  bool silent_ = false;    // and not reported
  uint64_t handle_ = 0;    // of the registered callback; 0: stopped
};

}  // namespace stepslack::model
