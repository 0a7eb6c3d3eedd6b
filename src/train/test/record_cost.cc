// What keeping records costs a step, as one JSON object:
//   record_cost [repeats]
//     tracer_event_ns    CPU time of one traced operation, those inside it included
//     trace_write_event_ns  CPU time of its line in the file, after training
//     tracer_overhead    CPU time of 1,000 events over that of a step of step_ms
//     step_ms            a step of some 1,000 operations on maps of 32 x 32
//     counters_us        both readings of the kernel's counters
//     line_us            making and buffering the step's line
//     status_us          replacing status.json
//     rank_facts_ms      facts of the host, once at start
// Steps with and without tracer alternate, so that a change of the machine meets both.
// The cost of an event is taken from steps of tiny operations, where it is not lost in
// the noise of what they compute.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "metrics_log.h"
#include "step_counters.h"
#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/model/network.h"
#include "stepslack/model/op_trace.h"
#include "stepslack/model/runtime.h"
#include "stepslack/record/rank_facts.h"
#include "stepslack/record/run_status.h"
#include "tracer.h"

namespace stepslack::train {
namespace {

constexpr int64_t kEvents = 1'000;
constexpr int64_t kSide = 32;
constexpr int64_t kSamples = 4;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Median time of one call in microseconds.
template <typename Work>
double MicrosecondsOf(int repeats, Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const int64_t start_ns = base::NowNs();
    work();
    times.push_back(static_cast<double>(base::NowNs() - start_ns) * 1e-3);
  }
  return Median(std::move(times));
}

class Steps {
 public:
  Steps(int base_channels, int64_t side)
      : network_(*model::Network::Create({4, base_channels, 4, 1, 0})),
        side_(side),
        inputs_(static_cast<size_t>(kSamples * 4 * side * side), 0.5F),
        targets_(static_cast<size_t>(kSamples * side * side), 1.0F) {
    model::OpTrace once(kEvents * 100);
    once.Start();
    Pass();
    once.Stop();
    const auto in_one = static_cast<int64_t>(once.events().size());
    passes_ = (kEvents + in_one - 1) / in_one;
    events_ = passes_ * in_one;
  }

  int64_t events() const { return events_; }
  void Step() {
    for (int64_t pass = 0; pass < passes_; ++pass) Pass();
  }

 private:
  void Pass() {
    const model::Batch batch{kSamples, side_, side_, inputs_.data(), targets_.data()};
    SS_CHECK(network_.Forward(batch, 1.0).has_value());
    SS_CHECK(network_.Backward().has_value());
  }

  model::Network network_;
  int64_t side_;
  int64_t passes_ = 1;
  int64_t events_ = 0;
  std::vector<float> inputs_;
  std::vector<float> targets_;
};

double CpuMicroseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) +
         1e-3 * static_cast<double>(time.tv_nsec);
}

struct TracerCost {
  double off_us = 0;  // CPU time of a step
  double event_ns = 0;
};

TracerCost MeasureTracer(Steps& steps, int repeats) {
  std::vector<double> with, without;
  for (int i = 0; i < repeats; ++i) {
    Tracer tracer(0, 1);  // its memory is made here, outside the measured time
    const double start = CpuMicroseconds();
    steps.Step();
    const double off = CpuMicroseconds();
    const int64_t start_ns = base::NowNs();
    tracer.Begin();
    steps.Step();
    tracer.End(0, start_ns, base::NowNs());
    with.push_back(CpuMicroseconds() - off);
    without.push_back(off - start);
  }
  const double off = Median(without);
  return {off, (Median(with) - off) * 1e3 / static_cast<double>(steps.events())};
}

// CPU time of the file of a step, per event, once training is over.
double WriteEventNs(Steps& steps, const std::string& path) {
  Tracer tracer(0, 1);
  tracer.Begin();
  steps.Step();
  tracer.End(0, 0, 1);
  const double start = CpuMicroseconds();
  SS_CHECK(tracer.Write(path, {}).has_value());
  return (CpuMicroseconds() - start) * 1e3 / static_cast<double>(steps.events());
}

int Run(int repeats) {
  model::ConfigureRuntime();
  Steps tiny(1, 8), real(16, kSide);
  const double event_ns = MeasureTracer(tiny, 20 * repeats).event_ns;
  const double step_us = MeasureTracer(real, repeats).off_us;
  const double overhead = event_ns * static_cast<double>(kEvents) / (1e3 * step_us);
  const StepCounters counters;
  record::StepRecord record;
  const double counters_us = MicrosecondsOf(2'000, [&] {
    const CounterReading before = counters.Read();
    FillCounters(before, counters.Read(), record);
  });
  std::string folder = "/tmp/record_cost.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 4;
  double line_us = 0;
  if (auto log = MetricsLog::Open(folder + "/metrics.jsonl", 0)) {
    line_us = MicrosecondsOf(2'000, [&] { (void)log->Append(record::ToJson(record)); });
  }
  const double status_us =
      MicrosecondsOf(300, [&] { (void)record::WriteRunStatus(folder, {}); });
  const double write_ns = WriteEventNs(tiny, folder + "/trace.json.gz");
  const double facts_ms = MicrosecondsOf(3, [] { (void)record::RankFacts(); }) * 1e-3;
  for (const char* name : {"/metrics.jsonl", "/status.json", "/trace.json.gz"}) {
    std::remove((folder + name).c_str());
  }
  std::remove(folder.c_str());
  fmt::print(
      "{{\"tracer_overhead\": {:.5f}, \"tracer_event_ns\": {:.0f}, "
      "\"trace_write_event_ns\": {:.0f}, \"step_ms\": "
      "{:.2f}, \"counters_us\": "
      "{:.2f}, \"line_us\": {:.2f}, \"status_us\": {:.1f}, \"rank_facts_ms\": "
      "{:.0f}}}\n",
      overhead, event_ns, write_ns, step_us * 1e-3, counters_us, line_us, status_us,
      facts_ms);
  return 0;
}

}  // namespace
}  // namespace stepslack::train

int main(int argc, char** argv) {
  const auto repeats = stepslack::base::ParseInt(argc > 1 ? argv[1] : "30");
  if (!repeats || *repeats < 1 || *repeats > 100'000) {
    std::fputs("usage: record_cost [repeats]\n", stderr);
    return 2;
  }
  return stepslack::train::Run(static_cast<int>(*repeats));
}
