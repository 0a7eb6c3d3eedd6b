#include "series_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "derived_series.h"
#include "stepslack/base/text.h"

namespace stepslack::logs {
namespace {

// Far above what a run logs; a file that has more names is damaged or no metric log.
constexpr size_t kMaxSeries = 20000;
constexpr size_t kMaxNameBytes = 512;

bool EqualNoCase(std::string_view text, std::string_view lower) {
  return std::equal(
      text.begin(), text.end(), lower.begin(), lower.end(),
      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  text = base::Trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  const std::string_view bare = text.substr(negative ? 1 : 0);
  if (EqualNoCase(bare, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (EqualNoCase(bare, "inf") || EqualNoCase(bare, "infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  if (bare.empty() || !((bare[0] >= '0' && bare[0] <= '9') || bare[0] == '.')) {
    return std::nullopt;
  }
  if (bare.find(',') == std::string_view::npos) return base::ParseDouble(text);
  if (bare.size() > 64) return std::nullopt;
  // Groups of three digits behind the first comma: anything else is a list.
  std::string digits;
  const size_t point = std::min(text.find('.'), text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      digits += text[i];
    } else if (i > point || (point - i) % 4 != 0) {
      return std::nullopt;
    }
  }
  return base::ParseDouble(digits);
}

SeriesBuilder::SeriesBuilder(std::string_view name, std::string_view format) {
  set_.run.name = name;
  set_.run.format = format;
}

void SeriesBuilder::Begin(const Place& place) {
  place_ = place;
  record_ = {};
  record_.step = place.step;
  record_.segment = place.segment.value_or(0);
  record_.time_ns = place.time_ns;
}

SeriesBuilder::Slot* SeriesBuilder::SlotOf(const MetricName& name,
                                           std::string_view original) {
  auto found = slots_.find(name.metric);
  // Segments are counted per source, so a series never has two of them.
  const bool other_spelling =
      found != slots_.end() && name.known &&
      set_.series[found->second.index].original != original &&
      (place_.source.empty() || found->second.last_offset == place_.offset);
  const bool taken = found != slots_.end() &&
                     (found->second.source != place_.source || other_spelling);
  std::string key = name.metric;
  if (taken) {
    key = std::string(place_.source) + '\x1f' + std::string(original);
    found = slots_.find(key);
  }
  if (found != slots_.end()) return &found->second;
  if (slots_.size() >= kMaxSeries || original.size() > kMaxNameBytes) return nullptr;
  Series series;
  series.metric = taken ? std::string(original) : name.metric;
  series.original = original;
  series.known = name.known && !taken;
  series.unit = name.unit;
  series.step_source = place_.step_source;
  set_.series.push_back(std::move(series));
  return &slots_
              .emplace(key, Slot{set_.series.size() - 1, place_.offset,
                                 std::string(place_.source)})
              .first->second;
}

void SeriesBuilder::Add(const MetricName& name, std::string_view original,
                        double value) {
  Slot* slot = SlotOf(name, original);
  if (slot == nullptr) {
    stats().Add("metric name too long or beyond 20000 names, not kept",
                trace::Severity::kError, static_cast<int64_t>(place_.offset));
    return;
  }
  slot->last_offset = place_.offset;
  if (!std::isfinite(value)) {
    stats().Add("value NaN or infinite", trace::Severity::kWarning,
                static_cast<int64_t>(place_.offset));
  }
  Series& series = set_.series[slot->index];
  Point point{.step = place_.step,
              .samples = place_.samples,
              .time_ns = place_.time_ns,
              .value = value};
  if (place_.segment) {
    point.segment = *place_.segment;
  } else if (!series.points.empty()) {
    const Point& last = series.points.back();
    point.segment = last.segment;
    if (place_.step < last.step) {
      ++point.segment;
      stats().Add("restart: step goes back", trace::Severity::kInfo,
                  static_cast<int64_t>(place_.offset));
    } else if (place_.step == last.step) {
      stats().Add("same step of a metric again", trace::Severity::kInfo,
                  static_cast<int64_t>(place_.offset));
    }
  }
  record_.by_metric.emplace(series.metric, value);
  series.points.push_back(point);
}

void SeriesBuilder::Value(std::string_view original, double value) {
  const MetricName name = NameMetric(original);
  Add(name, original, value / name.divisor);
}

void SeriesBuilder::ValueAs(std::string_view metric, std::string_view unit,
                            std::string_view original, double value) {
  Add({.metric = std::string(metric), .unit = std::string(unit), .known = true},
      original, value);
}

void SeriesBuilder::Text(std::string_view original, std::string_view text) {
  text = base::Trim(text);
  if (text.empty()) return;
  if (const auto value = ParseNumber(text)) {
    Value(original, *value);
  } else {
    stats().Add("field that is no number", trace::Severity::kInfo,
                static_cast<int64_t>(place_.offset));
  }
}

void SeriesBuilder::End() { checks_.Add(record_); }

SeriesSet SeriesBuilder::Finish() {
  AddDerived(set_);
  checks_.Finish(set_);
  return std::move(set_);
}

}  // namespace stepslack::logs
