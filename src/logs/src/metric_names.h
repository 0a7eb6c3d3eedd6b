// From the name that a program logs to the canonical name of a metric and its unit.
#pragma once

#include <string>
#include <string_view>

namespace stepslack::logs {

struct MetricName {
  std::string metric;
  std::string unit;
  double divisor = 1;  // logged value / divisor is in `unit`
  bool known = false;
};

// Letters small, everything but letters and digits one "_", a unit at the end cut off.
MetricName NameMetric(std::string_view original);

}  // namespace stepslack::logs
