#include "table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"

namespace stepslack::logs {
namespace {

constexpr std::array<std::string_view, 7> kStepNames = {
    "_step", "step", "Step", "global_step", "trainer/global_step", "iteration", "iter"};
constexpr std::array<std::string_view, 2> kSampleNames = {"samples_total",
                                                          "consumed_samples"};
constexpr std::array<std::string_view, 5> kTimeNames = {
    "_timestamp", "timestamp", "wall_time", "Wall time", "time"};
// Weights & Biases gives 500 points of a history unless asked for all of it.
constexpr int64_t kWandbSample = 500;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstDate = 365 * 86400 * kSecond;  // 1971

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Names>
std::string_view FirstIn(const Row& row, const Names& names) {
  for (const std::string_view name : names) {
    for (const auto& [key, text] : row) {
      if (key == name) return name;
    }
  }
  return {};
}

// Whole numbers, also "12.0" and "1e3".
std::optional<int64_t> Whole(std::string_view text) {
  if (const auto exact = base::ParseInt(base::Trim(text))) return exact;
  const auto value = ParseNumber(text);
  if (!value || !(*value > -9e15 && *value < 9e15)) return std::nullopt;
  const auto whole = static_cast<int64_t>(*value);
  return static_cast<double>(whole) == *value ? std::optional(whole) : std::nullopt;
}

}  // namespace

std::optional<int64_t> EpochTime(std::string_view text, TimeUnit unit) {
  text = base::Trim(text);
  const auto in = [&](int digits) -> std::optional<int64_t> {
    const auto ns = trace::DecimalToNs(text, digits);
    return ns && *ns >= kFirstDate ? ns : std::nullopt;
  };
  switch (unit) {
    case TimeUnit::kSeconds:
      return trace::DecimalToNs(text, 9);
    case TimeUnit::kMilliseconds:
      return trace::DecimalToNs(text, 6);
    case TimeUnit::kMicroseconds:
      return trace::DecimalToNs(text, 3);
    case TimeUnit::kNanoseconds:
      return trace::DecimalToNs(text, 0);
    case TimeUnit::kDetect:
      break;
  }
  // The units lie a factor of 1000 apart and the dates only 71, so one fits at most.
  for (const int digits : {9, 6, 3, 0}) {
    if (const auto ns = in(digits)) return ns;
  }
  return std::nullopt;
}

RowReader::Role RowReader::RoleOf(std::string_view key) const {
  if (!mapping_.step.empty() && key == mapping_.step) return Role::kStep;
  if (!mapping_.samples.empty() && key == mapping_.samples) return Role::kPosition;
  if (!mapping_.time.empty() && key == mapping_.time) return Role::kTime;
  if (mapping_.samples.empty() && Has(kSampleNames, key)) return Role::kPosition;
  if (key.starts_with("_wandb/")) return Role::kIgnored;
  return Role::kMetric;
}

void RowReader::AddMetric(const std::string& key, const std::string& text) {
  const auto named = mapping_.metrics.find(key);
  if (named != mapping_.metrics.end()) {
    const auto value = ParseNumber(text);
    if (!value) {
      builder_.Text(key, text);
      return;
    }
    const MetricName name = NameMetric(named->second);
    builder_.ValueAs(named->second, name.unit, key, *value);
  } else if (own_run_ && key.ends_with("_ns")) {
    // Of our own runs: durations in ns.
    const auto value = ParseNumber(text);
    if (value) {
      builder_.ValueAs(key.substr(0, key.size() - 3) + "_seconds", "s", key,
                       *value / 1e9);
    }
  } else {
    builder_.Text(key, text);
  }
}

void RowReader::Add(const Row& row, size_t offset) {
  ++rows_;
  wandb_ = wandb_ ||
           !FirstIn(row, std::array<std::string_view, 2>{"_step", "_runtime"}).empty();
  own_run_ =
      own_run_ ||
      (!FirstIn(row, std::array<std::string_view, 1>{"samples_total"}).empty() &&
       !FirstIn(row, std::array<std::string_view, 2>{"start_ns", "train_seconds"})
            .empty());
  std::string_view step = mapping_.step;
  if (step.empty()) step = FirstIn(row, kStepNames);
  std::string_view time = mapping_.time;
  if (time.empty()) time = own_run_ ? "start_ns" : FirstIn(row, kTimeNames);
  Place place{.step = rows_, .offset = offset, .step_source = "number of the row"};
  bool time_used = false;
  for (const auto& [key, text] : row) {
    if (key == step) {
      const auto whole = Whole(text);
      if (whole) {
        place.step = *whole;
        place.step_source = "";
        saw_step_ = true;
      }
    } else if (RoleOf(key) == Role::kPosition) {
      place.samples = Whole(text);
      saw_samples_ = true;
    } else if (key == time) {
      place.time_ns =
          EpochTime(text, own_run_ ? TimeUnit::kNanoseconds : mapping_.time_unit);
      time_used = place.time_ns.has_value();
      saw_time_ = saw_time_ || time_used;
    }
  }
  if (!step.empty() && !place.step_source.empty()) {
    builder_.stats().Add("row without a step", trace::Severity::kWarning,
                         static_cast<int64_t>(offset));
    return;
  }
  builder_.Begin(place);
  for (const auto& [key, text] : row) {
    const Role role = RoleOf(key);
    if (key == step || role == Role::kIgnored || (key == time && time_used)) continue;
    // Samples are the position of every point, and a series that checks use.
    AddMetric(key, text);
  }
  builder_.End();
}

void RowReader::NoteOrigin() {
  SeriesSet& set = builder_.set();
  if (own_run_) set.run.framework = "stepslack";
  if (!wandb_) return;
  set.run.framework = "wandb";
  if (rows_ == kWandbSample) {
    set.stats.Add("history of exactly 500 rows: sampled", trace::Severity::kWarning, 0);
    set.notes.push_back(
        "The Weights & Biases history has exactly 500 rows, which is what its default "
        "sampling gives: export it with scan_history() to have all steps.");
  } else if (rows_ > 1) {
    set.notes.push_back(
        "A Weights & Biases export may be sampled; the file does not say. Compare its "
        "rows with the steps of the run.");
  }
}

base::Result<SeriesSet> RowReader::Finish() {
  std::string missing;
  if (!mapping_.step.empty() && !saw_step_) missing = mapping_.step;
  if (!mapping_.samples.empty() && !saw_samples_) missing = mapping_.samples;
  if (!mapping_.time.empty() && !saw_time_) missing = mapping_.time;
  for (const auto& [column, metric] : mapping_.metrics) {
    const auto& all = builder_.set().series;
    const std::string& wanted = column;
    const bool seen = std::any_of(
        all.begin(), all.end(), [&](const Series& s) { return s.original == wanted; });
    if (!seen) missing = column;
  }
  if (!missing.empty()) {
    return base::Fail(
        "LOGS-0011", base::ExitCode::kUsage,
        fmt::format("no row has a usable value in column \"{}\"", missing),
        builder_.set().run.name, "name a column as the header of the file writes it");
  }
  if (saw_time_) {
    builder_.set().run.clock = own_run_ ? Clock::kMonotonic : Clock::kUtc;
  }
  NoteOrigin();
  return builder_.Finish();
}

}  // namespace stepslack::logs
