// Any bytes either are refused or give finite slowdowns for parts that exist.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/analyze/what_if.h"
#include "stepslack/base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace analyze = stepslack::analyze;
  namespace trace = stepslack::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A job may stand before the table, divided by a line "===".
  const size_t cut = text.find("===\n");
  const std::string_view job = cut == std::string_view::npos ? "" : text.substr(0, cut);
  const std::string_view csv =
      cut == std::string_view::npos ? text : text.substr(cut + 4);
  const auto ops = trace::ParseOpTrace(csv, job, "fuzz");
  if (!ops.has_value()) return 0;
  const auto result = analyze::ComputeWhatIf(*ops);
  if (!result.has_value()) return 0;
  SS_CHECK(std::isfinite(result->slowdown) && result->slowdown > 0);
  SS_CHECK(!result->steps.empty());
  SS_CHECK(result->by_rank.size() ==
           result->by_dp_rank.size() * result->by_stage.size());
  for (const analyze::WhatIfWorker& worker : result->by_rank) {
    SS_CHECK(std::isfinite(worker.slowdown) && worker.rank >= 0);
  }
  if (result->slowest_workers) SS_CHECK(std::isfinite(result->slowest_workers->share));
  SS_CHECK(!analyze::ToJson(*result).Dump().empty());
  return 0;
}
