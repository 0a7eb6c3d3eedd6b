#include "stepslack/audit/doomed_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "probe_data.h"
#include "stepslack/base/parallel.h"
#include "stepslack/learner/learner.h"

namespace stepslack::audit {
namespace {

using base::ExitCode;

constexpr double kSecondsAnHour = 3600;

// The runs whose outcome is known. Those that died before the stage are learned from,
// for they tell which settings are bad, but they are nothing to stop.
struct Runs {
  std::vector<char> reached;
  std::vector<int64_t> rows;
  std::vector<double> bad;
  std::vector<double> hours;
  std::vector<int64_t> group;
  std::vector<std::string> domain;
  learner::Matrix matrix;
};

base::Result<const data::Column*> Named(const data::Table& table,
                                        const std::string& name, const char* option) {
  const data::Column* column = table.Find(name);
  if (column != nullptr) return column;
  return base::Fail(
      "PROBE-0001", ExitCode::kUsage, fmt::format("there is no column \"{}\"", name),
      fmt::format("{}, {}", table.source, option), "name a column of the table");
}

RunOutcome OutcomeOf(const data::Column& label, const data::Column* ran, int64_t row) {
  if (!NoValue(label, row)) {
    return label.numbers[static_cast<size_t>(row)] == 0 ? RunOutcome::kClean
                                                        : RunOutcome::kDirty;
  }
  const bool went = ran != nullptr && !NoValue(*ran, row);
  return went ? RunOutcome::kUnknown : RunOutcome::kFailed;
}

// Place of the column's prefix in the order of stages, or -1.
int StageOf(const std::string& column, const std::vector<std::string>& stages) {
  for (size_t s = 0; s < stages.size(); ++s) {
    if (column.starts_with(stages[s] + "_")) return static_cast<int>(s);
  }
  return -1;
}

bool IsConstant(const data::Column& column) {
  std::set<float> seen;
  for (int64_t row = 0; row < static_cast<int64_t>(column.numbers.size()); ++row) {
    const float value = FeatureValue(column, row);
    seen.insert(std::isnan(value) ? std::numeric_limits<float>::infinity() : value);
    if (seen.size() > 1) return false;
  }
  return true;
}

base::Result<std::vector<const data::Column*>> FeaturesBefore(
    const data::Table& table, const DoomedOptions& options, DoomedReport& report) {
  // "dr", "dr_" or a column of the stage.
  const std::string prefix = options.before.substr(0, options.before.find('_'));
  const auto stage = std::find(options.stages.begin(), options.stages.end(), prefix);
  if (stage == options.stages.end()) {
    return base::Fail("PROBE-0002", ExitCode::kUsage,
                      fmt::format("\"{}\" is not a stage", options.before), "--before",
                      fmt::format("one of {}", fmt::join(options.stages, ", ")));
  }
  const auto limit = static_cast<int>(stage - options.stages.begin());
  std::vector<const data::Column*> out;
  const auto leave_out = [&](const data::Column& column, const char* why) {
    report.left_out.push_back(fmt::format("{}: {}", column.name, why));
  };
  for (const data::Column& column : table.columns) {
    const int own = StageOf(column.name, options.stages);
    if (column.name.starts_with("rt_")) {
      leave_out(column, "a run time depends on the machine");
    } else if (own < 0) {
      leave_out(column, "of no known stage");
    } else if (own >= limit || column.name == options.label ||
               column.name == options.cost) {
      leave_out(column, "not known when it is decided");
    } else if (column.kind != data::ColumnKind::kNumber) {
      leave_out(column, "a text");
    } else if (IsConstant(column)) {
      leave_out(column, "constant");
    } else {
      out.push_back(&column);
      report.features.push_back(column.name);
    }
  }
  if (!out.empty()) return out;
  return base::Fail(
      "PROBE-0003", ExitCode::kInput,
      fmt::format("no column that varies stands before \"{}\"", options.before),
      table.source, "choose a later stage, or name the columns by stage");
}

void CountCells(const std::vector<const data::Column*>& features,
                DoomedReport& report) {
  for (const data::Column* column : features) {
    for (data::Missing why : column->missing) {
      report.cells_empty += why == data::Missing::kEmpty ? 1 : 0;
      report.cells_not_available += why == data::Missing::kNotAvailable ? 1 : 0;
      report.cells_failed += why == data::Missing::kFailed ? 1 : 0;
    }
  }
}

// Counts outcomes and hours, and gathers the runs to judge.
Runs Gather(const data::Table& table, const DoomedOptions& options,
            const data::Column& label, const data::Column& cost,
            const data::Column& group, const std::vector<const data::Column*>& features,
            DoomedReport& report) {
  const data::Column* ran = options.ran.empty() ? nullptr : table.Find(options.ran);
  std::map<std::string, int64_t> groups;
  Runs runs;
  for (int64_t row = 0; row < table.rows; ++row) {
    const RunOutcome outcome = OutcomeOf(label, ran, row);
    const bool bad = outcome != RunOutcome::kClean;
    report.clean += outcome == RunOutcome::kClean ? 1 : 0;
    report.dirty += outcome == RunOutcome::kDirty ? 1 : 0;
    report.failed += outcome == RunOutcome::kFailed ? 1 : 0;
    report.unknown += outcome == RunOutcome::kUnknown ? 1 : 0;
    const double seconds =
        NoValue(cost, row) ? 0 : cost.numbers[static_cast<size_t>(row)];
    report.hours += seconds / kSecondsAnHour;
    report.bad_hours += bad ? seconds / kSecondsAnHour : 0;
    if (outcome == RunOutcome::kUnknown) continue;
    const bool reached = !NoValue(cost, row);
    report.not_reached += reached ? 0 : 1;
    report.not_reached_bad += !reached && bad ? 1 : 0;
    runs.reached.push_back(reached ? 1 : 0);
    runs.rows.push_back(row);
    runs.bad.push_back(bad ? 1 : 0);
    runs.hours.push_back(seconds / kSecondsAnHour);
    const auto next = static_cast<int64_t>(groups.size());
    runs.group.push_back(groups.emplace(TextOf(group, row), next).first->second);
    std::string domain;
    for (const std::string& name : options.domain) {
      const data::Column* column = table.Find(name);
      if (column != nullptr) domain += TextOf(*column, row) + "|";
    }
    runs.domain.push_back(std::move(domain));
    for (const data::Column* column : features) {
      runs.matrix.values.push_back(FeatureValue(*column, row));
    }
  }
  report.groups = static_cast<int64_t>(groups.size());
  runs.matrix.rows = static_cast<int64_t>(runs.rows.size());
  runs.matrix.columns = static_cast<int64_t>(features.size());
  return runs;
}

learner::Matrix Take(const learner::Matrix& from, const std::vector<size_t>& rows) {
  learner::Matrix out{static_cast<int64_t>(rows.size()), from.columns, {}};
  for (size_t row : rows) {
    const auto first =
        from.values.begin() + static_cast<std::ptrdiff_t>(row) * from.columns;
    out.values.insert(out.values.end(), first, first + from.columns);
  }
  return out;
}

// Least p(bad) above which at most the share `good_lost` of the clean runs of the
// calibration fold lies; stopping needs more than it.
double ThresholdFor(const std::vector<double>& p, const std::vector<size_t>& rows,
                    const Runs& runs, double good_lost) {
  std::vector<double> good;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (runs.bad[rows[k]] == 0 && runs.reached[rows[k]] == 1) good.push_back(p[k]);
  }
  if (good.empty()) return std::numeric_limits<double>::infinity();
  std::sort(good.begin(), good.end(), std::greater<>());
  const auto allowed =
      static_cast<size_t>(good_lost * static_cast<double>(good.size()));
  return allowed >= good.size() ? -1 : good[allowed];
}

void Apply(double p, double threshold, bool bad, double hours, StopRule& rule) {
  if (!(p > threshold)) return;
  ++rule.stopped;
  rule.good_stopped += bad ? 0 : 1;
  rule.hours_saved += hours;
  rule.bad_hours_saved += bad ? hours : 0;
}

struct Fold {
  std::vector<size_t> train;
  std::vector<size_t> calibration;
  std::vector<size_t> test;
};

Fold FoldOf(const std::vector<int>& fold, int number, int folds) {
  Fold out;
  for (size_t i = 0; i < fold.size(); ++i) {
    (fold[i] == number                 ? out.test
     : fold[i] == (number + 1) % folds ? out.calibration
                                       : out.train)
        .push_back(i);
  }
  return out;
}

// Predictions of the calibration rows and then of the test rows.
base::Result<std::vector<double>> Learn(const Runs& runs, const Fold& fold,
                                        const DoomedOptions& options) {
  learner::LearnerOptions learning;
  learning.task = learner::Task::kBinary;
  learning.rounds = 100;
  learning.depth = 4;
  learning.seed = options.seed;
  std::vector<double> known;
  for (size_t i : fold.train) known.push_back(runs.bad[i]);
  std::vector<size_t> unseen = fold.calibration;
  unseen.insert(unseen.end(), fold.test.begin(), fold.test.end());
  return learner::FitAndPredict(Take(runs.matrix, fold.train), known,
                                Take(runs.matrix, unseen), learning);
}

std::optional<double> AucIfBoth(const std::vector<double>& labels,
                                const std::vector<double>& scores) {
  const auto ones = std::count(labels.begin(), labels.end(), 1.0);
  if (ones == 0 || ones == static_cast<std::ptrdiff_t>(labels.size())) {
    return std::nullopt;
  }
  return Auc(labels, scores);
}

DoomedSplit JudgeSplit(const Runs& runs, const std::vector<int>& fold, std::string name,
                       const DoomedOptions& options) {
  DoomedSplit out;
  out.name = std::move(name);
  const double at_costs =
      options.cost_false_stop / (options.cost_false_stop + options.cost_missed_stop);
  std::vector<double> labels;
  std::vector<double> scores;
  std::vector<double> reached_labels;
  std::vector<double> reached_scores;
  int64_t good = 0;
  for (int number = 0; number < options.folds; ++number) {
    const Fold part = FoldOf(fold, number, options.folds);
    if (part.test.empty()) continue;
    const auto p = Learn(runs, part, options);
    if (!p.has_value()) {
      out.reason = fmt::format("fold {}: {}", number, p.error().what);
      return out;
    }
    const double threshold =
        ThresholdFor(*p, part.calibration, runs, options.good_lost);
    std::set<std::string> known;
    for (size_t i : part.train) known.insert(runs.domain[i]);
    for (size_t k = 0; k < part.test.size(); ++k) {
      const size_t i = part.test[k];
      if (!known.contains(runs.domain[i])) {
        ++out.abstained;
        continue;
      }
      const double own = (*p)[part.calibration.size() + k];
      const bool bad = runs.bad[i] == 1;
      labels.push_back(runs.bad[i]);
      scores.push_back(own);
      if (runs.reached[i] == 0) continue;
      good += bad ? 0 : 1;
      reached_labels.push_back(runs.bad[i]);
      reached_scores.push_back(own);
      Apply(own, threshold, bad, runs.hours[i], out.at_good_lost);
      Apply(own, at_costs, bad, runs.hours[i], out.at_costs);
    }
  }
  out.judged = static_cast<int64_t>(reached_labels.size());
  out.auc = AucIfBoth(labels, scores);
  out.auc_reached = AucIfBoth(reached_labels, reached_scores);
  for (StopRule* rule : {&out.at_good_lost, &out.at_costs}) {
    if (good > 0) {
      rule->good_lost =
          static_cast<double>(rule->good_stopped) / static_cast<double>(good);
    }
  }
  return out;
}

// The split of the median AUC over several assignments to folds, with the range of all.
DoomedSplit Repeated(const std::string& name, const DoomedOptions& options,
                     const std::function<DoomedSplit(uint64_t)>& judge) {
  std::vector<DoomedSplit> all(static_cast<size_t>(options.repeats));
  base::ParallelFor(all.size(), options.threads,
                    [&](size_t k) { all[k] = judge(options.seed + k); });
  std::string reason;
  std::erase_if(all, [&](const DoomedSplit& split) {
    if (!split.reason.empty()) reason = split.reason;
    return !split.reason.empty() || !split.auc.has_value();
  });
  if (all.empty()) {
    DoomedSplit none;
    none.name = name;
    none.reason = reason.empty() ? "all runs end alike" : reason;
    return none;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return *a.auc < *b.auc; });
  DoomedSplit out = all[all.size() / 2];
  out.auc_low = *all.front().auc;
  out.auc_high = *all.back().auc;
  out.hours_low = out.hours_high = out.at_good_lost.hours_saved;
  for (const DoomedSplit& split : all) {
    out.hours_low = std::min(out.hours_low, split.at_good_lost.hours_saved);
    out.hours_high = std::max(out.hours_high, split.at_good_lost.hours_saved);
  }
  return out;
}

// A column whose missing cells alone tell the outcome, over all runs that are known.
void WarnOfMissingFlags(const data::Table& table, const DoomedOptions& options,
                        const data::Column& label, DoomedReport& report) {
  const data::Column* ran = options.ran.empty() ? nullptr : table.Find(options.ran);
  std::vector<std::string> named;
  for (const data::Column& column : table.columns) {
    if (column.name == options.label) continue;
    std::vector<double> bad;
    std::vector<double> flag;
    for (int64_t row = 0; row < table.rows; ++row) {
      const RunOutcome outcome = OutcomeOf(label, ran, row);
      if (outcome == RunOutcome::kUnknown) continue;
      bad.push_back(outcome == RunOutcome::kClean ? 0 : 1);
      flag.push_back(NoValue(column, row) ? 1 : 0);
    }
    const double ones = static_cast<double>(std::count(flag.begin(), flag.end(), 1.0));
    if (ones == 0 || ones == static_cast<double>(flag.size())) continue;
    // Nearly every run with an empty cell is bad, or an empty cell nearly sorts them.
    double bad_and_missing = 0;
    double bad_rows = 0;
    for (size_t i = 0; i < bad.size(); ++i) {
      bad_and_missing += flag[i] * bad[i];
      bad_rows += bad[i];
    }
    const double base_rate = bad_rows / static_cast<double>(bad.size());
    if (bad_and_missing / ones < 0.95 || base_rate > 0.9 || ones < 10) continue;
    named.push_back(fmt::format("{} (AUC {:.3f})", column.name, Auc(bad, flag)));
  }
  if (named.empty()) return;
  report.warnings.push_back(fmt::format(
      "an empty cell alone says that a run is bad: {}", fmt::join(named, ", ")));
}

base::Status CheckOptions(const DoomedOptions& options) {
  const bool ok = options.cost_false_stop > 0 && options.cost_missed_stop > 0 &&
                  std::isfinite(options.cost_false_stop + options.cost_missed_stop) &&
                  options.good_lost >= 0 && options.good_lost <= 1 &&
                  options.folds >= 3 && options.folds <= 100 && options.repeats >= 1 &&
                  options.repeats <= 100;
  if (ok) return {};
  return base::Fail("PROBE-0004", ExitCode::kUsage,
                    "a cost, a share or the number of folds is out of range", "options",
                    "costs above 0, a share from 0 to 1, 3 to 100 folds");
}

void Conclude(const DoomedOptions& options, DoomedReport& report) {
  const double saved = report.grouped.at_good_lost.bad_hours_saved;
  const bool accurate = report.grouped.auc.value_or(0) >= 0.9 ||
                        report.random.auc.value_or(0) >= 0.9 ||
                        report.not_reached_bad > 0;
  report.worthless = report.hours > 0 && accurate && saved < 0.05 * report.hours;
  if (report.worthless) {
    report.warnings.push_back(fmt::format(
        "accurate but worthless: {:.1f} of {:.1f} hours are saved; {:.1f} went to runs "
        "that did not end clean{}",
        saved, report.hours, report.bad_hours,
        report.not_reached > 0
            ? fmt::format(", and {} runs died before this stage", report.not_reached)
            : ""));
  }
  if (report.grouped.at_good_lost.good_lost > 2 * options.good_lost) {
    report.warnings.push_back(fmt::format(
        "on new groups {:.1f} % of the good runs are lost where calibration promised "
        "{:.1f} %: a threshold does not carry over",
        100 * report.grouped.at_good_lost.good_lost, 100 * options.good_lost));
  }
  if (report.grouped.auc && report.random.auc &&
      *report.random.auc - *report.grouped.auc > 0.03) {
    report.warnings.push_back(fmt::format(
        "the random split interpolates: AUC {:.3f} against {:.3f} on new groups",
        *report.random.auc, *report.grouped.auc));
  }
}

}  // namespace

base::Result<data::Table> RowsWhere(const data::Table& table,
                                    const std::string& conditions) {
  std::vector<char> keep(static_cast<size_t>(table.rows), 1);
  for (size_t begin = 0; begin < conditions.size();) {
    const size_t end = std::min(conditions.find(',', begin), conditions.size());
    const std::string one = conditions.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = std::min(one.find('='), one.size());
    SS_TRY(const data::Column* column,
           Named(table, one.substr(0, equals), "--where COLUMN=TEXT"));
    const std::string wanted = equals < one.size() ? one.substr(equals + 1) : "";
    for (int64_t row = 0; row < table.rows; ++row) {
      if (TextOf(*column, row) != wanted) keep[static_cast<size_t>(row)] = 0;
    }
  }
  data::Table out = table;
  out.rows = std::count(keep.begin(), keep.end(), 1);
  const auto thin = [&](auto& values) {
    size_t next = 0;
    if (values.empty()) return;
    for (size_t i = 0; i < keep.size(); ++i) {
      if (keep[i] == 1) values[next++] = values[i];
    }
    values.resize(next);
  };
  for (data::Column& column : out.columns) {
    thin(column.numbers);
    thin(column.codes);
    thin(column.missing);
  }
  return out;
}

std::string_view ToString(RunOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"clean", "dirty", "failed",
                                                      "unknown"};
  return kNames[static_cast<size_t>(outcome)];
}

base::Result<DoomedReport> JudgeDoomedRuns(const data::Table& table,
                                           const DoomedOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  SS_TRY(const data::Column* label, Named(table, options.label, "--label"));
  SS_TRY(const data::Column* cost, Named(table, options.cost, "--cost"));
  SS_TRY(const data::Column* group, Named(table, options.group, "--group"));
  if (!options.ran.empty()) {
    SS_RETURN_IF_ERROR(Named(table, options.ran, "--ran").map([](auto) {}));
  }
  if (label->kind != data::ColumnKind::kNumber ||
      cost->kind != data::ColumnKind::kNumber) {
    return base::Fail("PROBE-0005", ExitCode::kInput,
                      "the label and the cost must be numbers", table.source,
                      "failed and absent cells may be ERR, N/A or empty");
  }
  DoomedReport report;
  SS_TRY(const auto features, FeaturesBefore(table, options, report));
  CountCells(features, report);
  const Runs runs = Gather(table, options, *label, *cost, *group, features, report);
  report.threshold_at_costs =
      options.cost_false_stop / (options.cost_false_stop + options.cost_missed_stop);
  const auto judged = static_cast<int64_t>(runs.rows.size());
  report.grouped.name = "grouped by " + options.group;
  report.random.name = "random rows";
  WarnOfMissingFlags(table, options, *label, report);
  if (report.groups < 3 || judged < 50) {
    report.grouped.reason = report.random.reason =
        fmt::format("{} runs in {} groups reach the stage; 50 in 3 are needed", judged,
                    report.groups);
    Conclude(options, report);
    return report;
  }
  const std::string by_group = report.grouped.name;
  report.grouped = Repeated(by_group, options, [&](uint64_t seed) {
    DoomedOptions own = options;
    own.folds = static_cast<int>(std::min<int64_t>(options.folds, report.groups));
    return JudgeSplit(runs, learner::FoldsByGroup(runs.group, own.folds, seed),
                      by_group, own);
  });
  report.random = Repeated("random rows", options, [&](uint64_t seed) {
    return JudgeSplit(runs, learner::RandomFolds(judged, options.folds, seed),
                      "random rows", options);
  });
  Conclude(options, report);
  return report;
}

}  // namespace stepslack::audit
