#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "audit_rows.h"
#include "probe_data.h"
#include "stepslack/learner/learner.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::audit {
namespace {

constexpr int kRounds = 100;
constexpr int kFolds = 5;
constexpr int64_t kLeastRows = 30;
constexpr int64_t kMostRows = 20000;

learner::Matrix Pick(const learner::Matrix& from, const std::vector<size_t>& rows) {
  learner::Matrix to;
  to.rows = static_cast<int64_t>(rows.size());
  to.columns = from.columns;
  for (const size_t row : rows) {
    const auto start =
        from.values.begin() + static_cast<std::ptrdiff_t>(row) * from.columns;
    to.values.insert(to.values.end(), start, start + from.columns);
  }
  return to;
}

// Absolute error over the mean size of the label, so that labels of any unit compare;
// means over groups, where there are groups, because rows of a group go together.
base::Estimate ErrorOf(const ProbeData& data, const std::vector<size_t>& rows,
                       const std::vector<double>& predicted, double scale) {
  std::vector<double> errors;
  if (data.group_names.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      errors.push_back(std::abs(predicted[i] - data.labels[rows[i]]) / scale);
    }
    return stats::MeanInterval(errors, "1", "rows");
  }
  std::map<int64_t, std::pair<double, int64_t>> by_group;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& [sum, count] = by_group[data.group[rows[i]]];
    sum += std::abs(predicted[i] - data.labels[rows[i]]) / scale;
    ++count;
  }
  for (const auto& [group, entry] : by_group) {
    errors.push_back(entry.first / static_cast<double>(entry.second));
  }
  return stats::MeanInterval(errors, "1", "groups");
}

double MeanSize(const std::vector<double>& labels) {
  double sum = 0;
  for (const double label : labels) sum += std::abs(label);
  return labels.empty() || sum == 0 ? 1 : sum / static_cast<double>(labels.size());
}

}  // namespace

void Measure(const AuditRows& rows, std::span<const int> part,
             std::span<const int64_t> leaked, Finding& finding) {
  if (!rows.label) {
    finding.metric_reason = "no column is known as the label; name it with --label";
    return;
  }
  if (rows.table->columns[*rows.label].kind != data::ColumnKind::kNumber) {
    finding.metric_reason = "the label is text; the reference learner predicts numbers";
    return;
  }
  ProbeOptions options{.label = rows.table->columns[*rows.label].name,
                       .group = rows.group ? rows.table->columns[*rows.group].name : "",
                       .most_rows = kMostRows,
                       .threads = rows.options->threads};
  const std::vector<int> parts(part.begin(), part.end());
  const ProbeData data = Prepare(*rows.table, parts, options);
  std::vector<size_t> train, test, clean;
  const std::unordered_set<int64_t> bad(leaked.begin(), leaked.end());
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const int where = part[static_cast<size_t>(data.rows[i])];
    if (where == kTrain) train.push_back(i);
    if (where != kTest) continue;
    test.push_back(i);
    if (!bad.contains(data.rows[i])) clean.push_back(i);
  }
  if (static_cast<int64_t>(std::min(train.size(), test.size())) < kLeastRows ||
      data.matrix.columns == 0) {
    finding.metric_reason = fmt::format(
        "{} train and {} test rows with a label, {} features: too few to learn from",
        train.size(), test.size(), data.matrix.columns);
    return;
  }
  const learner::LearnerOptions learning{.rounds = kRounds,
                                         .threads = rows.options->threads};
  std::vector<double> labels;
  for (const size_t row : train) labels.push_back(data.labels[row]);
  const auto predicted = learner::FitAndPredict(Pick(data.matrix, train), labels,
                                                Pick(data.matrix, test), learning);
  if (!predicted) {
    finding.metric_reason = predicted.error().what;
    return;
  }
  const double scale = MeanSize(data.labels);
  finding.metric_with = ErrorOf(data, test, *predicted, scale);
  std::vector<double> kept;
  for (size_t i = 0; i < test.size(); ++i) {
    if (!bad.contains(data.rows[test[i]])) kept.push_back((*predicted)[i]);
  }
  if (static_cast<int64_t>(clean.size()) >= kLeastRows) {
    finding.metric_without = ErrorOf(data, clean, kept, scale);
  } else {
    finding.metric_reason =
        fmt::format("only {} test rows are left without the leaked ones", clean.size());
  }
  finding.metric_with->method += "; mean |error| over mean |label|, boosted trees";
  if (data.groups < kFolds) return;
  const auto folds = learner::FoldsByGroup(data.group, kFolds, rows.options->seed);
  const auto grouped = learner::CrossPredict(data.matrix, data.labels, folds, learning);
  if (!grouped) return;
  std::vector<size_t> all(data.rows.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  finding.metric_group_split = ErrorOf(data, all, *grouped, scale);
}

}  // namespace stepslack::audit
