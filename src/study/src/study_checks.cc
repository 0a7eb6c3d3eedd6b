#include "study_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepslack/analyze/reproducibility.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/logs/read_log.h"
#include "stepslack/record/run_record.h"

namespace stepslack::study {
namespace {

double RelativeDifference(double a, double b) {
  const double scale = std::max(std::abs(a), std::abs(b));
  return scale > 0 ? std::abs(a - b) / scale : 0;
}

std::string FirstSeriesDifference(const logs::SeriesSet& a, const logs::SeriesSet& b) {
  std::string text;
  int64_t first = INT64_MAX;
  for (const logs::Series& series : a.series) {
    const logs::Series* other = b.Find(series.metric);
    if (series.derived || other == nullptr) continue;
    const size_t shared = std::min(series.points.size(), other->points.size());
    for (size_t i = 0; i < shared; ++i) {
      const logs::Point &left = series.points[i], &right = other->points[i];
      const bool equal = left.value == right.value ||
                         (std::isnan(left.value) && std::isnan(right.value));
      if (equal || left.step >= first) continue;
      // Clocks always differ; they say nothing about what was computed.
      if (series.unit == "s" || series.unit.ends_with("/s") || series.unit == "bytes") {
        break;
      }
      first = left.step;
      text = fmt::format("{} at step {}: {} and {}", series.metric, left.step,
                         left.value, right.value);
      break;
    }
  }
  return text;
}

StudyCheck JudgeRepeat(const StudyFile& study, const TrialResult& a,
                       const TrialResult& b) {
  StudyCheck check{.id = "reproducibility"};
  if (!a.objective || !b.objective) {
    check.text = fmt::format("the same seed twice gave no result: {}",
                             a.objective ? b.reason : a.reason);
    check.verdict = CheckVerdict::kFinding;
    return check;
  }
  const std::string name = study.objective.metric;
  if (a.series_digest == b.series_digest) {
    check.verdict = CheckVerdict::kPassed;
    check.text = fmt::format("the same seed twice: bit-equal ({} {})", name,
                             base::Human(*a.objective));
    return check;
  }
  const double difference = RelativeDifference(*a.objective, *b.objective);
  const std::string where = FirstDifference(study, a, b);
  const bool passed = !study.require_bit_equal && difference <= study.tolerance;
  check.verdict = passed ? CheckVerdict::kPassed : CheckVerdict::kFinding;
  check.text = fmt::format(
      "the same seed twice: not bit-equal, {} {} and {} ({:.3g} % apart, {} % "
      "allowed){}{}",
      name, base::Human(*a.objective), base::Human(*b.objective), 100 * difference,
      study.require_bit_equal ? 0.0 : 100 * study.tolerance,
      where.empty() ? "" : "; first difference: ", where);
  return check;
}

StudyCheck JudgeExpected(const StudyFile& study, const TrialResult& run) {
  StudyCheck check{.id = "baseline"};
  if (!study.expected) {
    check.text = "no value is given that the baseline is known for ([checks] baseline)";
    return check;
  }
  if (!run.objective) {
    check.verdict = CheckVerdict::kFinding;
    check.text = "the baseline gave no result: " + run.reason;
    return check;
  }
  const double difference = std::abs(*run.objective - *study.expected);
  const double allowed = study.tolerance * std::abs(*study.expected);
  check.verdict =
      difference <= allowed ? CheckVerdict::kPassed : CheckVerdict::kFinding;
  check.text =
      fmt::format("the baseline, run again, gives {} {}; {} +- {} was expected",
                  study.objective.metric, base::Human(*run.objective),
                  base::Human(*study.expected), base::Human(allowed));
  return check;
}

}  // namespace

Trial TrialOf(const StudyFile& study, const StudyArm& arm, uint64_t seed) {
  int64_t batch = study.batch;
  if (study.rule == ScalingRule::kWeak) batch *= arm.ranks;
  return {.arm = arm.name,
          .purpose = "main",
          .values = arm.values,
          .ranks = arm.ranks,
          .seed = seed,
          .batch = batch};
}

std::string FirstDifference(const StudyFile& study, const TrialResult& a,
                            const TrialResult& b) {
  if (study.command.empty()) {
    const auto left = record::ReadRun(a.folder), right = record::ReadRun(b.folder);
    if (!left || !right) return "";
    return analyze::CompareRuns(*left, *right).reason;
  }
  if (!study.objective.pattern.empty()) return "";
  const auto left = logs::ReadLog(base::JoinPath(a.folder, "log.txt"));
  const auto right = logs::ReadLog(base::JoinPath(b.folder, "log.txt"));
  if (!left || !right) return "";
  return FirstSeriesDifference(*left, *right);
}

base::Result<std::vector<StudyCheck>> CheckBaseline(const StudyFile& study,
                                                    TrialBatch& batch,
                                                    std::vector<TrialResult>& trials) {
  std::vector<StudyCheck> checks;
  const Trial first = TrialOf(study, study.arms.front(), study.seeds.front());
  if (!study.check_reproducibility) {
    checks.push_back({"reproducibility", CheckVerdict::kNotRun,
                      "switched off ([checks] reproducibility)"});
    if (!study.expected) return checks;
  }
  std::vector<Trial> wanted = {first};
  if (study.check_reproducibility) {
    wanted.push_back(first);
    wanted.back().repeat = 1;
    wanted.back().purpose = "check";
  }
  SS_TRY(const auto results, batch.Run(wanted));
  // A planned trial of every kind but a search.
  if (study.kind == StudyKind::kSweep) trials.push_back(results[0]);
  if (results.size() > 1) {
    checks.push_back(JudgeRepeat(study, results[0], results[1]));
    trials.push_back(results[1]);
  }
  checks.push_back(JudgeExpected(study, results[0]));
  return checks;
}

}  // namespace stepslack::study
