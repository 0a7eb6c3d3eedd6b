// The metrics that a requirement in review.toml can bound, in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepslack::review {

struct MetricInfo {
  std::string_view name;  // "mae_mv"
  std::string_view unit;
  std::string_view category;  // "quality", "efficiency", ... (docs/causes.md)
  std::string_view meaning;
};

std::span<const MetricInfo> Metrics();
const MetricInfo* FindMetric(std::string_view name);  // null when unknown

}  // namespace stepslack::review
