#include "stepslack/base/context.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "stepslack/base/text.h"

namespace stepslack::base {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kTerminalIntervalNs = kSecondNs / 5;
constexpr int64_t kPlainIntervalNs = 30 * kSecondNs;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kSecondNs; }

}  // namespace

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * kSecondNs + now.tv_nsec;
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Progress::Progress(Mode mode) : mode_(mode) {}

void Progress::ClearLine() {
  if (line_open_) std::fputs("\r\033[K", stderr);
  line_open_ = false;
}

void Progress::Stage(int index, int count, std::string_view name) {
  stage_ = fmt::format("[{}/{}] {}", index, count, name);
  stage_start_ns_ = NowNs();
  last_draw_ns_ = stage_start_ns_;
}

void Progress::Update(std::string_view detail, double fraction) {
  const int64_t now = NowNs();
  const int64_t interval =
      mode_ == Mode::kTerminal ? kTerminalIntervalNs : kPlainIntervalNs;
  // Short stages draw nothing: a flicker tells nobody anything.
  if (mode_ == Mode::kQuiet || now - stage_start_ns_ < kSecondNs ||
      now - last_draw_ns_ < interval) {
    return;
  }
  last_draw_ns_ = now;
  const double elapsed = Seconds(now - stage_start_ns_);
  std::string line = fmt::format("{}: {}", stage_, detail);
  if (fraction > 0.02 && fraction < 1) {
    line += fmt::format(", ETA {}", HumanDuration(elapsed * (1 - fraction) / fraction));
  }
  if (mode_ == Mode::kTerminal) {
    fmt::print(stderr, "\r\033[K{}", line);
    line_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

void Progress::EndStage(std::string_view summary) {
  ClearLine();
  if (mode_ == Mode::kQuiet) return;
  fmt::print(stderr, "{}: {} ({})\n", stage_, summary,
             HumanDuration(Seconds(NowNs() - stage_start_ns_)));
  std::fflush(stderr);
}

void Progress::Say(std::string_view line) {
  ClearLine();
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

}  // namespace stepslack::base
