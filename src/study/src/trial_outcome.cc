#include "trial_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/logs/read_log.h"

namespace stepslack::study {
namespace {

// std::regex recurses; a line that is longer is no line of a log.
constexpr size_t kMostLineBytes = 4096;

struct Observation {
  int64_t step = 0;
  double value = 0;
  std::optional<int64_t> time_ns;
  std::optional<int64_t> samples;
};

bool Better(double a, double b, bool maximise) { return maximise ? a > b : a < b; }

bool Reaches(double value, const StudyObjective& objective) {
  return objective.target &&
         (objective.maximise ? value >= *objective.target : value <= *objective.target);
}

// `start_ns`: the first time in the log, whatever metric it belongs to.
void Judge(const std::vector<Observation>& observed, const StudyObjective& objective,
           std::optional<int64_t> start_ns, TrialResult& result) {
  for (const Observation& at : observed) {
    if (!std::isfinite(at.value)) continue;
    ++result.points;
    if (!result.objective || objective.last ||
        Better(at.value, *result.objective, objective.maximise)) {
      result.objective = at.value;
      result.objective_step = at.step;
    }
    if (!result.target_reached && Reaches(at.value, objective)) {
      result.target_reached = true;
      result.samples_to_target = at.samples;
      if (at.time_ns && start_ns) {
        result.seconds_to_target = 1e-9 * static_cast<double>(*at.time_ns - *start_ns);
      }
    }
  }
  if (result.objective) return;
  result.status = TrialStatus::kNoMetric;
  result.reason = observed.empty()
                      ? fmt::format("the log has no `{}`", objective.metric)
                      : fmt::format("`{}` has no finite value in {} entries",
                                    objective.metric, observed.size());
}

// Values that two equal runs need not share.
bool DependsOnSpeed(const logs::Series& series) {
  static constexpr std::array<std::string_view, 10> kSigns = {
      "second",     "time",    "tflops", "memory", "_per_",
      "throughput", "elapsed", "eta",    "cpu",    "_ns"};
  const auto has = [&](std::string_view sign) {
    return series.metric.find(sign) != std::string::npos ||
           series.original.find(sign) != std::string::npos;
  };
  return series.derived || std::ranges::any_of(kSigns, has);
}

std::string DigestOf(const logs::SeriesSet& set) {
  base::Sha256 digest;
  for (const logs::Series& series : set.series) {
    if (DependsOnSpeed(series)) continue;
    digest.Update(series.original).Update("\n");
    for (const logs::Point& point : series.points) {
      digest.Update(&point.step, sizeof point.step);
      digest.Update(&point.value, sizeof point.value);
    }
  }
  return digest.Finish();
}

std::optional<double> MedianRate(const logs::SeriesSet& set) {
  const logs::Series* series = set.Find(logs::kSamplesPerSecond);
  if (series == nullptr || series->points.empty()) return std::nullopt;
  std::vector<double> values;
  for (const logs::Point& point : series->points) values.push_back(point.value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void ReadSeries(const logs::SeriesSet& set, const StudyObjective& objective,
                TrialResult& result) {
  std::vector<Observation> observed;
  std::optional<int64_t> start_ns;
  for (const logs::Series& series : set.series) {
    for (const logs::Point& point : series.points) {
      if (point.time_ns && (!start_ns || *point.time_ns < *start_ns)) {
        start_ns = point.time_ns;
      }
    }
  }
  if (set.run.clock == logs::Clock::kRelative) start_ns = 0;
  if (const logs::Series* series = set.Find(objective.metric)) {
    for (const logs::Point& point : series->points) {
      observed.push_back({point.step, point.value, point.time_ns, point.samples});
    }
  }
  result.series_digest = DigestOf(set);
  result.samples_per_second = MedianRate(set);
  Judge(observed, objective, start_ns, result);
}

void ReadMatches(const std::string& text, const StudyObjective& objective,
                 TrialResult& result) {
  const std::regex pattern(objective.pattern);
  std::vector<Observation> observed;
  base::Sha256 digest;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line.size() > kMostLineBytes) continue;
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, pattern)) continue;
    const auto value = base::ParseDouble(match[1].str());
    if (!value) continue;
    observed.push_back({static_cast<int64_t>(observed.size()) + 1, *value, {}, {}});
    digest.Update(&*value, sizeof *value);
  }
  result.series_digest = digest.Finish();
  Judge(observed, objective, {}, result);
}

void ReadRunRecord(const record::RunRecord& run, const StudyObjective& objective,
                   TrialResult& result) {
  std::vector<Observation> observed;
  for (const record::EvalRecord& eval : run.evals) {
    const double value = objective.metric == "loss"     ? eval.loss
                         : objective.metric == "mae_mv" ? eval.mae_mv
                                                        : eval.relative_mae;
    observed.push_back({eval.step, value,
                        static_cast<int64_t>(1e9 * eval.train_seconds),
                        eval.samples_total});
  }
  base::Sha256 digest;
  digest.Update(run.summary.parameters_sha256);
  if (!run.steps.empty()) {
    for (const record::StepRecord& step : run.steps.front()) {
      digest.Update(&step.loss, sizeof step.loss);
    }
  }
  result.series_digest = digest.Finish();
  if (run.summary.train_seconds > 0) {
    result.samples_per_second =
        static_cast<double>(run.summary.samples) / run.summary.train_seconds;
  }
  Judge(observed, objective, 0, result);
}

void ReadTrialLog(const std::string& path, const StudyObjective& objective,
                  TrialResult& result) {
  if (!objective.pattern.empty()) {
    const auto text = base::ReadFile(path);
    if (text) return ReadMatches(*text, objective, result);
    result.reason = base::Describe(text.error());
  } else {
    const auto set = logs::ReadLog(path);
    if (set) return ReadSeries(*set, objective, result);
    result.reason = fmt::format("{}: {}", set.error().id, set.error().what);
  }
  result.status = TrialStatus::kNoMetric;
}

}  // namespace stepslack::study
