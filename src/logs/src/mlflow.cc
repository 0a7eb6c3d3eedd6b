#include "stepslack/logs/mlflow.h"

#include <array>

#include "series_builder.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::logs {
namespace {

using trace::Severity;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxFiles = 20000;
constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr size_t kMaxFactBytes = 1024;

struct MetricLine {
  int64_t time_ns = 0;
  double value = 0;
  int64_t step = 0;
};

std::optional<MetricLine> ReadLine(std::string_view line) {
  const std::vector<std::string_view> cells = base::Split(base::Trim(line), ' ');
  if (cells.size() != 2 && cells.size() != 3) return std::nullopt;
  const auto ns = trace::DecimalToNs(cells[0], 6);
  const auto value = ParseNumber(cells[1]);
  const auto step =
      cells.size() == 3 ? base::ParseInt(cells[2]) : std::optional<int64_t>(0);
  if (!base::ParseInt(cells[0]) || !ns || !value || !step) return std::nullopt;
  return MetricLine{.time_ns = *ns, .value = *value, .step = *step};
}

// `begin`: bytes of the run read before this file, so that offsets keep their order.
void AddMetric(std::string_view text, std::string_view key, size_t begin,
               SeriesBuilder& builder) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t offset = begin + at;
    at = end + 1;
    if (base::Trim(line).empty()) continue;
    const auto point = ReadLine(line);
    if (!point) {
      builder.stats().Add("line of another form", Severity::kError,
                          static_cast<int64_t>(offset));
      continue;
    }
    builder.Begin({.step = point->step, .time_ns = point->time_ns, .offset = offset});
    builder.Value(key, point->value);
    builder.End();
  }
}

// Files below a folder with their keys ("a/b").
class Walk {
 public:
  struct File {
    std::string path;
    std::string key;
  };

  base::Status Below(const std::string& folder, const std::string& prefix, int depth) {
    SS_TRY(const auto names, base::ListFolder(folder));
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      const std::string path = base::JoinPath(folder, name);
      const std::string key = prefix.empty() ? name : prefix + "/" + name;
      if (base::IsFolder(path)) {
        if (depth < kMaxDepth) SS_RETURN_IF_ERROR(Below(path, key, depth + 1));
      } else if (files.size() < kMaxFiles) {
        files.push_back({path, key});
      } else {
        full = true;
      }
    }
    return {};
  }

  std::vector<File> files;
  bool full = false;
};

// A small file, never more than 1 GiB of it.
base::Result<std::string> ReadSmall(const std::string& path) {
  SS_TRY(const auto source, trace::OpenFile(path));
  return trace::ReadAll(*source, path, kMaxBytes);
}

tl::unexpected<base::Error> TooMuch(const std::string& folder) {
  return base::Fail("LOGS-0042", base::ExitCode::kInput,
                    "the run has more than 20000 metrics or 1 GiB of them", folder,
                    "give single files of its metrics folder instead");
}

void ReadMeta(std::string_view text, RunMeta& run) {
  constexpr std::array<std::string_view, 4> kKeys = {"run_name", "start_time",
                                                     "end_time", "status"};
  for (const std::string_view line : base::Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    for (const std::string_view key : kKeys) {
      if (line.substr(0, colon) != key) continue;
      run.facts[std::string(key)] =
          base::Trim(line.substr(colon + 1)).substr(0, kMaxFactBytes);
    }
  }
}

base::Status ReadParams(const std::string& folder, RunMeta& run) {
  if (!base::IsFolder(folder)) return {};
  Walk params;
  SS_RETURN_IF_ERROR(params.Below(folder, "", 0));
  for (const Walk::File& file : params.files) {
    SS_TRY(const std::string text, ReadSmall(file.path));
    run.facts["param." + file.key] = base::Trim(text).substr(0, kMaxFactBytes);
  }
  return {};
}

SeriesBuilder NewBuilder(std::string_view name) {
  SeriesBuilder builder(name, "mlflow");
  builder.set().run.framework = "mlflow";
  builder.set().run.clock = Clock::kUtc;
  return builder;
}

}  // namespace

bool LooksLikeMlflowMetric(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto first = ReadLine(line.substr(0, 256));
  // Milliseconds since 1971 have twelve digits or more: no table of small numbers.
  return first && line.size() <= 256 && first->time_ns > 31'536'000'000'000'000;
}

base::Result<SeriesSet> ParseMlflowMetric(std::string_view text,
                                          std::string_view name) {
  SeriesBuilder builder = NewBuilder(name);
  AddMetric(text, base::FileName(name), 0, builder);
  if (builder.empty()) {
    return base::Fail("LOGS-0040", base::ExitCode::kInput,
                      "no line is \"timestamp_ms value step\"", std::string(name),
                      "give a file of a run's metrics folder, or the run's folder");
  }
  return builder.Finish();
}

bool LooksLikeMlflowRun(const std::string& folder) {
  return base::PathExists(base::JoinPath(folder, "meta.yaml")) &&
         base::IsFolder(base::JoinPath(folder, "metrics"));
}

base::Result<SeriesSet> ReadMlflowRun(const std::string& folder) {
  SeriesBuilder builder = NewBuilder(folder);
  Walk metrics;
  SS_RETURN_IF_ERROR(metrics.Below(base::JoinPath(folder, "metrics"), "", 0));
  if (metrics.full) return TooMuch(folder);
  int64_t bytes = 0;
  for (const Walk::File& file : metrics.files) {
    SS_TRY(const std::string text, ReadSmall(file.path));
    AddMetric(text, file.key, static_cast<size_t>(bytes), builder);
    bytes += static_cast<int64_t>(text.size());
    if (bytes > kMaxBytes) return TooMuch(folder);
  }
  if (builder.empty()) {
    return base::Fail("LOGS-0041", base::ExitCode::kInput,
                      "the run has no metric with a usable line", folder,
                      "check that the run logged metrics to this file store");
  }
  SS_TRY(const std::string meta, ReadSmall(base::JoinPath(folder, "meta.yaml")));
  ReadMeta(meta, builder.set().run);
  SS_RETURN_IF_ERROR(ReadParams(base::JoinPath(folder, "params"), builder.set().run));
  return builder.Finish();
}

}  // namespace stepslack::logs
