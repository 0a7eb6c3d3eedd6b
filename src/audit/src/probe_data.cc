#include "probe_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepslack/stats/rank_measures.h"

namespace stepslack::audit {
namespace {

const data::Column* ColumnOf(const data::Table& table, const std::string& name,
                             data::ColumnRole role) {
  if (!name.empty()) return table.Find(name);
  const auto places = table.WithRole(role);
  return places.empty() ? nullptr : &table.columns[static_cast<size_t>(places[0])];
}

void SetLabels(const data::Column* label, ProbeData& data) {
  if (label == nullptr) return;
  data.label_name = label->name;
  std::set<double> distinct;
  for (int64_t row : data.rows) {
    const auto i = static_cast<size_t>(row);
    const double value = label->kind == data::ColumnKind::kText
                             ? static_cast<double>(label->codes[i])
                             : label->numbers[i];
    data.labels.push_back(value);
    if (distinct.size() < 3) distinct.insert(value);
  }
  data.binary = distinct.size() == 2;
  if (!data.binary) return;
  for (double& value : data.labels) value = value == *distinct.rbegin() ? 1 : 0;
}

void SetGroups(const data::Column* group, ProbeData& data) {
  std::map<std::string, int64_t> numbers;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    if (group == nullptr) {
      data.group.push_back(static_cast<int64_t>(i));
      continue;
    }
    const std::string name = TextOf(*group, data.rows[i]);
    const auto next = static_cast<int64_t>(numbers.size());
    const auto [place, added] = numbers.emplace(name, next);
    if (added) data.group_names.push_back(name);
    data.group.push_back(place->second);
  }
  data.groups = group == nullptr ? static_cast<int64_t>(data.rows.size())
                                 : static_cast<int64_t>(numbers.size());
}

}  // namespace

bool NoValue(const data::Column& column, int64_t row) {
  const auto i = static_cast<size_t>(row);
  if (!column.missing.empty() && column.missing[i] != data::Missing::kPresent) {
    return true;
  }
  return column.kind == data::ColumnKind::kNumber && !std::isfinite(column.numbers[i]);
}

std::string TextOf(const data::Column& column, int64_t row) {
  if (NoValue(column, row)) return "(none)";
  const auto i = static_cast<size_t>(row);
  return column.kind == data::ColumnKind::kText ? column.texts[column.codes[i]]
                                                : fmt::format("{}", column.numbers[i]);
}

float FeatureValue(const data::Column& column, int64_t row) {
  if (NoValue(column, row)) return std::nanf("");
  const auto i = static_cast<size_t>(row);
  return column.kind == data::ColumnKind::kText ? static_cast<float>(column.codes[i])
                                                : static_cast<float>(column.numbers[i]);
}

ProbeData Prepare(const data::Table& table, const std::vector<int>& split,
                  const ProbeOptions& options) {
  ProbeData data;
  data.table = &table;
  const auto* label = ColumnOf(table, options.label, data::ColumnRole::kLabel);
  const auto* group = ColumnOf(table, options.group, data::ColumnRole::kGroup);
  for (int64_t row = 0; row < table.rows; ++row) {
    if (label == nullptr || !NoValue(*label, row)) data.rows.push_back(row);
  }
  const auto all = static_cast<int64_t>(data.rows.size());
  if (all > options.most_rows && options.most_rows > 0) {
    std::vector<int64_t> kept;
    for (int64_t k = 0; k < options.most_rows; ++k) {
      kept.push_back(data.rows[static_cast<size_t>(k * all / options.most_rows)]);
    }
    data.thinned =
        fmt::format("; learned from {} of {} rows, evenly thinned", kept.size(), all);
    data.rows = std::move(kept);
  }
  SetLabels(label, data);
  SetGroups(group, data);
  if (split.size() == static_cast<size_t>(table.rows)) {
    for (int64_t row : data.rows) {
      data.split.push_back(split[static_cast<size_t>(row)]);
    }
  }
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const data::Column& column = table.columns[c];
    if (column.role == data::ColumnRole::kFeature && &column != label &&
        &column != group) {
      data.features.push_back(c);
    }
  }
  data.matrix.rows = static_cast<int64_t>(data.rows.size());
  data.matrix.columns = static_cast<int64_t>(data.features.size());
  for (int64_t row : data.rows) {
    for (size_t c : data.features) {
      data.matrix.values.push_back(FeatureValue(table.columns[c], row));
    }
  }
  return data;
}

double Auc(const std::vector<double>& labels, const std::vector<double>& scores) {
  std::vector<double> zeros;
  std::vector<double> ones;
  for (size_t i = 0; i < labels.size(); ++i) {
    (labels[i] == 1 ? ones : zeros).push_back(scores[i]);
  }
  return stats::DomainClassifierDrift(zeros, ones).auc.value_or(0.5);
}

double Score(const std::vector<double>& labels, const std::vector<double>& predicted,
             bool binary) {
  if (binary) return Auc(labels, predicted);
  double mean = 0;
  for (double y : labels) mean += y / static_cast<double>(labels.size());
  double residual = 0;
  double total = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    residual += (labels[i] - predicted[i]) * (labels[i] - predicted[i]);
    total += (labels[i] - mean) * (labels[i] - mean);
  }
  return total > 0 ? 1 - residual / total : 0;
}

std::optional<std::vector<double>> Predictions(const learner::Matrix& matrix,
                                               const std::vector<double>& labels,
                                               const ProbeData& data,
                                               const ProbeOptions& options,
                                               int rounds) {
  constexpr int kFolds = 5;
  if (matrix.columns == 0 || data.groups < kFolds) return std::nullopt;
  learner::LearnerOptions learning;
  learning.task = std::all_of(labels.begin(), labels.end(),
                              [](double y) { return y == 0 || y == 1; })
                      ? learner::Task::kBinary
                      : learner::Task::kRegression;
  learning.rounds = rounds;
  learning.depth = 4;
  learning.learning_rate = 0.2;
  learning.seed = options.seed;
  learning.threads = options.threads;
  const std::vector<int> fold = learner::FoldsByGroup(data.group, kFolds, options.seed);
  auto predicted = learner::CrossPredict(matrix, labels, fold, learning);
  if (!predicted.has_value()) return std::nullopt;
  return std::move(predicted).value();
}

void Outcome::NotRun(std::string reason) {
  report_.checks.push_back({id_, CheckVerdict::kNotRun, std::move(reason), 0});
}

void Outcome::Passed(std::string reason, int64_t examined) {
  report_.checks.push_back({id_, CheckVerdict::kPassed, std::move(reason), examined});
}

void Outcome::Found(Finding finding, std::string reason, int64_t examined) {
  finding.id = id_;
  if (finding.kind.empty()) finding.kind = "probe";
  if (finding.share_of.empty()) finding.share_of = "rows";
  finding.metric_reason = "a probe names columns or rows, not rows to leave out";
  report_.findings.push_back(std::move(finding));
  report_.checks.push_back({id_, CheckVerdict::kFinding, std::move(reason), examined});
}

ProbeReport RunProbes(const data::Table& table, const std::vector<int>& split,
                      const ProbeOptions& options) {
  const ProbeData data = Prepare(table, split, options);
  ProbeReport report;
  ProbeFeatures(data, options, report);
  ProbeOrder(data, options, report);
  ProbeSplit(data, options, report);
  ProbeLabels(data, options, report);
  ProbeSlices(data, options, report);
  ProbeCoverage(data, options, report);
  return report;
}

}  // namespace stepslack::audit
