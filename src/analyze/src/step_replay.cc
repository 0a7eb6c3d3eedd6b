#include "stepslack/analyze/step_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::analyze {
namespace {

constexpr double kMostEvents = 1e9;

struct Event {
  double seconds = 0;
  int64_t rank = 0;  // who finishes computing
  bool operator>(const Event& other) const {
    return seconds != other.seconds ? seconds > other.seconds : rank > other.rank;
  }
};

bool Sane(const StepReplayOptions& o) {
  const double events =
      static_cast<double>(o.world_size) * static_cast<double>(o.steps);
  return o.world_size >= 1 && o.steps >= 1 && events <= kMostEvents &&
         o.compute_seconds > 0 && o.compute_seconds < 1e9 && o.compute_cv >= 0 &&
         o.compute_cv <= 10 && o.exchange_seconds >= 0 && o.exchange_seconds < 1e9 &&
         o.overlap >= 0 && o.overlap <= 1;
}

double Exposed(const StepReplayOptions& o) {
  return std::max(0.0, o.exchange_seconds - o.overlap * o.compute_seconds);
}

}  // namespace

double ExpectedLargestNormal(int64_t n) {
  if (n <= 1) return 0;
  const double ranks = static_cast<double>(n);
  return stats::NormalQuantile((ranks - 0.375) / (ranks + 0.25));
}

double ClosedFormStep(const StepReplayOptions& o) {
  return o.compute_seconds * (1 + o.compute_cv * ExpectedLargestNormal(o.world_size)) +
         Exposed(o);
}

base::Result<StepReplay> ReplaySteps(const StepReplayOptions& options) {
  if (!Sane(options)) {
    return base::Fail(
        "PROJ-0004", base::ExitCode::kUsage,
        "a value of the replay is outside its range",
        fmt::format("{} ranks, {} steps", options.world_size, options.steps),
        "use positive times and at most 1e9 events");
  }
  base::Random random(base::DeriveSeed(options.seed, "step replay"));
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
  const auto start = [&](double now) {
    for (int64_t rank = 0; rank < options.world_size; ++rank) {
      const double factor = 1 + options.compute_cv * random.Normal();
      queue.push({now + options.compute_seconds * std::max(factor, 0.0), rank});
    }
  };
  StepReplay replay;
  double now = 0, waited = 0, exposed = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    start(now);
    double sum = 0;
    while (!queue.empty()) {
      now = queue.top().seconds;
      sum += now;
      queue.pop();
      ++replay.events;
    }
    const double ranks = static_cast<double>(options.world_size);
    waited += now - sum / ranks;
    exposed += Exposed(options);
    now += Exposed(options);
  }
  const double steps = static_cast<double>(options.steps);
  replay.step_seconds = now / steps;
  replay.wait_seconds = waited / steps;
  replay.exposed_seconds = exposed / steps;
  return replay;
}

}  // namespace stepslack::analyze
