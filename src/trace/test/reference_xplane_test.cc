// A real profile against numbers that an independent decoder of the wire format gave:
// union of the spans in whole nanoseconds, each end rounded half up.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/trace/intervals.h"
#include "stepslack/trace/xplane_reader.h"

namespace stepslack::trace {
namespace {

std::string Sample() {
  const char* given = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string shared = given != nullptr ? given
                             : source == nullptr
                                 ? ""
                                 : base::JoinPath(base::ParentFolder(source), "shared");
  return base::JoinPath(shared, "data/traces/xplane/934987a2fc2f.xplane.pb");
}

TEST(ReferenceXplane, DeviceAndHostAgreeWithAnIndependentDecoder) {
  const std::string path = Sample();
  if (!base::PathExists(path)) GTEST_SKIP() << "no reference profile at " << path;
  const auto traces = ReadXplane(path);
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(traces->host, "934987a2fc2f");
  ASSERT_EQ(traces->traces.size(), 1u);  // seven more devices did nothing
  EXPECT_EQ(traces->traces[0].device, "/device:GPU:0");
  const EventStore& store = traces->traces[0].store;
  EXPECT_FALSE(store.truncated);
  EXPECT_EQ(store.stats.CountOf(Severity::kError), 0);
  EXPECT_EQ(store.stats.CountOf(Severity::kWarning), 0);
  std::vector<Interval> kernels;
  int64_t kernel_sum = 0;
  int64_t launches = 0;
  int64_t python = 0;
  int64_t ops = 0;
  int64_t launched = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    const std::string_view category = store.CategoryOf(i);
    python += category == "python_function" ? 1 : 0;
    ops += category == "cpu_op" ? 1 : 0;
    launches += category == "cuda_runtime" ? 1 : 0;
    if (category != "kernel") continue;
    kernels.push_back({store.start_ns[i], store.end_ns[i]});
    kernel_sum += store.end_ns[i] - store.start_ns[i];
    launched += store.correlation[i] > 0 ? 1 : 0;
    EXPECT_EQ(store.stream[i], 2);
  }
  EXPECT_EQ(kernels.size(), 150u);
  EXPECT_EQ(launched, 150);
  EXPECT_EQ(launches, 150);
  EXPECT_EQ(python, 59);
  EXPECT_EQ(ops, 1633);
  EXPECT_EQ(kernel_sum, 12'133'585);
  const IntervalSet busy(kernels);
  EXPECT_EQ(busy.LengthNs(), 12'133'127);
  constexpr int64_t kSessionStartNs = 1'779'266'702'889'805'563;
  EXPECT_EQ(busy.intervals().front().start_ns, kSessionStartNs + 9'716'533'018);
  EXPECT_EQ(busy.intervals().back().end_ns, kSessionStartNs + 9'729'489'769);
}

}  // namespace
}  // namespace stepslack::trace
