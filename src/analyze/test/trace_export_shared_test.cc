// Real traces merged and read back: the sums of every rank are those of its own file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "stepslack/analyze/trace_export.h"
#include "stepslack/base/file.h"
#include "stepslack/trace/intervals.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::analyze {
namespace {

using trace::EventStore;
using trace::Interval;
using trace::IntervalSet;

std::string SharedFolder() {
  if (const char* given = std::getenv("STEPSLACK_SHARED")) return given;
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return source == nullptr ? "" : base::JoinPath(base::ParentFolder(source), "shared");
}

// Events, collectives, first start, and length of the union by category.
struct Sums {
  size_t events = 0;
  size_t collectives = 0;
  int64_t first_ns = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> length_ns;
  friend bool operator==(const Sums&, const Sums&) = default;
};

Sums SumsOf(const EventStore& store, int64_t process, int64_t shift_ns) {
  Sums sums;
  std::map<std::string, std::vector<Interval>> spans;
  for (size_t i = 0; i < store.size(); ++i) {
    if (process >= 0 && store.process[i] != process) continue;
    if (sums.events++ == 0) sums.first_ns = store.start_ns[i] + shift_ns;
    spans[std::string(store.CategoryOf(i))].push_back(
        {store.start_ns[i], store.end_ns[i]});
    if (store.collective[i] == trace::kNoCollective) continue;
    ++sums.collectives;
    sums.bytes += store.collectives[static_cast<size_t>(store.collective[i])].bytes;
  }
  for (const auto& [category, intervals] : spans) {
    sums.length_ns[category] = IntervalSet(intervals).LengthNs();
  }
  return sums;
}

TEST(TraceExportShared, TwoRanksOfARealTraceKeepTheirSums) {
  const std::string folder =
      base::JoinPath(SharedFolder(), "data/traces/kineto/dlrm8_v100");
  const std::vector<ExportSource> sources = {
      {base::JoinPath(folder, "worker0_step_12.1694128201545.pt.trace.json.gz"), 0, 0},
      {base::JoinPath(folder, "worker5_step_12.1694128201549.pt.trace.json.gz"), 5,
       -1'234'567}};
  if (!base::PathExists(sources[0].path)) GTEST_SKIP() << "no traces in " << folder;
  const std::string output =
      testing::TempDir() + "merged_" + std::to_string(::getpid()) + ".json.gz";
  const auto written = ExportMerged(sources, {}, output);
  ASSERT_TRUE(written.has_value()) << base::Describe(written.error());
  const auto merged = trace::ReadKinetoTrace(output);
  std::remove(output.c_str());
  ASSERT_TRUE(merged.has_value());
  for (const ExportSource& source : sources) {
    const auto original = trace::ReadKinetoTrace(source.path);
    ASSERT_TRUE(original.has_value());
    const Sums expected = SumsOf(*original, -1, source.offset_ns);
    EXPECT_GT(expected.collectives, 0u);
    EXPECT_TRUE(SumsOf(*merged, source.rank, 0) == expected) << source.path;
  }
  EXPECT_EQ(static_cast<int64_t>(merged->size()), written->events);
}

}  // namespace
}  // namespace stepslack::analyze
