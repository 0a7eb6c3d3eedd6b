#include "stepslack/model/op_trace.h"

#include <gtest/gtest.h>

#include <set>

#include "stepslack/base/context.h"
#include "stepslack/model/network.h"
#include "stepslack/model/runtime.h"

namespace stepslack::model {
namespace {

class OpTraceTest : public testing::Test {
 protected:
  OpTraceTest() : network_(*Network::Create({2, 4, 3, 1, 0})) {}
  void Step() {
    ASSERT_TRUE(
        network_.Forward({1, 8, 8, inputs_.data(), targets_.data()}, 1.0).has_value());
    ASSERT_TRUE(network_.Backward().has_value());
  }
  Network network_;
  std::vector<float> inputs_ = std::vector<float>(2 * 64, 0.5F);
  std::vector<float> targets_ = std::vector<float>(64, 1.0F);
};

TEST_F(OpTraceTest, RecordsForwardAndBackwardWithoutNesting) {
  const int64_t before = base::NowNs();
  OpTrace trace(100'000);
  trace.Start();
  Step();
  trace.Stop();
  const int64_t after = base::NowNs();
  std::multiset<std::string> names;
  int64_t last_end = before;
  for (const OpEvent& event : trace.events()) {
    const std::string& name = trace.names().at(static_cast<size_t>(event.name));
    names.insert(name);
    EXPECT_GE(event.start_ns, last_end) << name;  // none inside another
    EXPECT_GE(event.end_ns, event.start_ns) << name;
    last_end = event.end_ns;
  }
  EXPECT_LE(last_end, after);
  EXPECT_EQ(names.count("aten::conv2d"), 7U);  // 6 blocks and the head
  EXPECT_EQ(names.count("aten::group_norm"), 6U);
  EXPECT_EQ(names.count("aten::convolution_backward"), 7U);
  EXPECT_EQ(names.count("aten::convolution"), 0U);  // inside conv2d
  EXPECT_EQ(trace.dropped(), 0);
}

TEST_F(OpTraceTest, CountsWhatDoesNotFit) {
  OpTrace all(100'000);
  all.Start();
  Step();
  all.Stop();
  OpTrace few(5);
  few.Start();
  Step();
  few.Stop();
  EXPECT_EQ(few.events().size(), 5U);
  EXPECT_EQ(few.dropped(), static_cast<int64_t>(all.events().size()) - 5);
}

TEST_F(OpTraceTest, RecordsNothingAfterStop) {
  OpTrace trace(100);
  Step();
  trace.Start();
  trace.Stop();
  Step();
  EXPECT_TRUE(trace.events().empty());
}

TEST_F(OpTraceTest, ASecondWindowAddsToTheFirstWithTheSameNames) {
  OpTrace trace(100'000);
  trace.Start();
  Step();
  trace.Stop();
  const size_t once = trace.events().size();
  const size_t names = trace.names().size();
  Step();
  trace.Start();
  Step();
  trace.Stop();
  ASSERT_EQ(trace.events().size(), 2 * once);
  EXPECT_EQ(trace.names().size(), names);
  for (size_t i = 0; i < once; ++i) {
    EXPECT_EQ(trace.events()[i].name, trace.events()[once + i].name);
  }
}

TEST(Runtime, OneThreadAndNamedFacts) {
  ConfigureRuntime();
  const auto facts = RuntimeFacts();
  EXPECT_EQ(facts.at("threads"), "1");
  EXPECT_FALSE(facts.at("libtorch").empty());
  EXPECT_NE(facts.at("cpu_capability"), "unknown");
}

}  // namespace
}  // namespace stepslack::model
