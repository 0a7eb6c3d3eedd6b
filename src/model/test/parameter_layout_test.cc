#include "stepslack/model/parameter_layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::model {
namespace {

TEST(ParameterLayout, OffsetsAscendOnCacheLines) {
  ParameterLayout layout;
  layout.AddKernel("a", 3, 2, 3, 1.0);  // 54 floats -> 64
  layout.AddVector("b", 16, 0.0);       // exactly one line
  layout.AddVector("c", 1, 2.5);
  const auto& parameters = layout.parameters();
  EXPECT_EQ(parameters[0].offset, 0);
  EXPECT_EQ(parameters[1].offset, 64);
  EXPECT_EQ(parameters[2].offset, 80);
  EXPECT_EQ(layout.buffer_floats(), 96);
  EXPECT_EQ(layout.parameter_count(), 54 + 16 + 1);
  EXPECT_TRUE(parameters[0].decay);
  EXPECT_FALSE(parameters[1].decay);
}

TEST(ParameterLayout, GapsStayZeroAndKernelsHaveTheHeVariance) {
  ParameterLayout layout;
  layout.AddKernel("a", 61, 7, 3, 0.5);
  layout.AddVector("b", 3, 2.5);
  std::vector<float> values(static_cast<size_t>(layout.buffer_floats()), 9.0F);
  layout.Initialise(1, values);
  const auto count = static_cast<size_t>(layout.parameters()[0].count);  // 3843
  double square = 0;
  for (size_t i = 0; i < count; ++i) square += std::pow(values[i], 2);
  // Variance gain^2 * 2 / fan in; 3843 draws: standard error 2.3 %.
  EXPECT_NEAR(square / static_cast<double>(count) / (0.25 * 2.0 / 63.0), 1.0, 0.1);
  const auto b = static_cast<size_t>(layout.parameters()[1].offset);
  for (size_t i = count; i < b; ++i) EXPECT_EQ(values[i], 0.0F);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(values[b + i], 2.5F);
  EXPECT_EQ(values[b + 3], 0.0F);
}

TEST(ParameterLayout, AnotherLayerDoesNotChangeTheStartOfTheOthers) {
  ParameterLayout small;
  small.AddKernel("a", 2, 2, 3, 1.0);
  ParameterLayout large;
  large.AddVector("new", 5, 1.0);
  large.AddKernel("a", 2, 2, 3, 1.0);
  std::vector<float> first(static_cast<size_t>(small.buffer_floats()));
  std::vector<float> second(static_cast<size_t>(large.buffer_floats()));
  small.Initialise(7, first);
  large.Initialise(7, second);
  const auto at = static_cast<size_t>(large.parameters()[1].offset);
  for (size_t i = 0; i < 36; ++i) EXPECT_EQ(first[i], second[at + i]);
}

}  // namespace
}  // namespace stepslack::model
