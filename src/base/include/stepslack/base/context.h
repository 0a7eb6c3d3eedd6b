// What a stage needs from its surroundings, passed explicitly: where messages go, how
// progress is drawn, how many threads, whether the user asked to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace stepslack::base {

// Monotonic time in integer nanoseconds.
int64_t NowNs();
// Wall-clock time as "2026-11-30T15:20:41Z".
std::string UtcNow();

// Progress on stderr: redrawn in place on a terminal after one second, else one plain
// line at most every 30 s and when a stage ends. Never on stdout.
class Progress {
 public:
  enum class Mode { kTerminal, kPlain, kQuiet };
  explicit Progress(Mode mode);

  // "[3/14] seeds: run 2 of 3, epoch 5, ETA 40 s".
  void Stage(int index, int count, std::string_view name);
  void Update(std::string_view detail, double fraction);  // fraction < 0: unknown
  void EndStage(std::string_view summary);
  // A line that must be seen whatever the mode (warnings).
  void Say(std::string_view line);
  // Removes a half-drawn line, so that what others print starts at the left edge.
  void ClearLine();

 private:
  Mode mode_;
  std::string stage_;
  int64_t stage_start_ns_ = 0;
  int64_t last_draw_ns_ = 0;
  bool line_open_ = false;
};

struct Context {
  Progress* progress = nullptr;  // not owned, never null inside stages
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // set by SIGINT/SIGTERM; may be null
  bool StopRequested() const { return stop != nullptr && stop->load(); }
};

}  // namespace stepslack::base
