// Any bytes either are refused or give intervals that do not end before they start.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/mllog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = stepslack::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto run = trace::ParseMllog(text, "fuzz");
  if (!run.has_value()) return 0;
  for (size_t i = 0; i < run->intervals.size(); ++i) {
    const trace::MllogInterval& interval = run->intervals[i];
    SS_CHECK(interval.start_ns >= 0 && interval.end_ns >= interval.start_ns);
    SS_CHECK(i == 0 || run->intervals[i - 1].start_ns <= interval.start_ns);
  }
  for (const trace::MllogPoint& point : run->eval_accuracy) {
    SS_CHECK(std::isfinite(point.value));
  }
  if (run->train_ns) {
    SS_CHECK(*run->train_ns >= 0 && *run->eval_ns >= 0);
    SS_CHECK(*run->train_ns + *run->eval_ns == *run->run_ns);
  }
  SS_CHECK(run->init_ns.has_value() == run->no_init.empty());
  SS_CHECK(run->run_ns.has_value() == run->no_run.empty());
  SS_CHECK(run->eval_ns.has_value() == run->no_eval.empty());
  SS_CHECK(!trace::ToJson(*run).Dump().empty());
  return 0;
}
