#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probe_data.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::audit {
namespace {

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return stats::QuantileOfSorted(values, 0.5);
}

// 1.4826 times the median absolute deviation.
double RobustDeviation(const std::vector<double>& values, double median) {
  std::vector<double> distance;
  for (double v : values) distance.push_back(std::abs(v - median));
  return 1.4826 * MedianOf(std::move(distance));
}

// The features of a row to 6 digits, so that a rewritten file gives equal keys.
std::string KeyOf(const ProbeData& data, size_t row) {
  const auto width = data.features.size();
  std::string key;
  for (size_t j = 0; j < width; ++j) {
    key += fmt::format("{:.5e};", data.matrix.values[row * width + j]);
  }
  return key;
}

void ConflictingLabels(const ProbeData& data, ProbeReport& out) {
  Outcome outcome(out, "conflicting_labels");
  if (data.labels.empty() || data.features.empty()) {
    outcome.NotRun(data.labels.empty() ? "no column is known to be the label"
                                       : "there is no feature");
    return;
  }
  // Labels as near as a tenth of their own spread are no conflict.
  const double spread = RobustDeviation(data.labels, MedianOf(data.labels));
  std::map<std::string, std::vector<size_t>> alike;
  for (size_t i = 0; i < data.rows.size(); ++i) alike[KeyOf(data, i)].push_back(i);
  Finding finding;
  for (const auto& [key, rows] : alike) {
    double low = data.labels[rows[0]];
    double high = low;
    for (size_t i : rows) {
      low = std::min(low, data.labels[i]);
      high = std::max(high, data.labels[i]);
    }
    if (high - low <= (data.binary ? 0.0 : 0.1 * spread) || high == low) continue;
    finding.rows += static_cast<int64_t>(rows.size());
    ++finding.facts["conflicting_sets"];
    if (finding.examples.size() < kMostExamples) {
      finding.examples.push_back(fmt::format("rows {} and {}: labels {:.6g} to {:.6g}",
                                             data.rows[rows[0]], data.rows[rows.back()],
                                             low, high));
    }
  }
  const auto rows = static_cast<int64_t>(data.rows.size());
  if (finding.rows == 0) {
    outcome.Passed("rows with equal features have equal labels" + data.thinned, rows);
    return;
  }
  finding.kind = "conflicting labels";
  finding.share = static_cast<double>(finding.rows) / static_cast<double>(rows);
  finding.text = fmt::format(
      "{} rows have features equal to another row's and a different label: a feature "
      "is "
      "missing, or a label is wrong; no model can be right on both",
      finding.rows);
  outcome.Found(finding, finding.text, rows);
}

// The labels moved by `by` places (1: row i gets the label of row i + 1).
double ShiftedScore(const ProbeData& data, const ProbeOptions& options, int by) {
  ProbeData moved;
  std::vector<double> labels;
  const auto width = data.features.size();
  const auto n = static_cast<std::ptrdiff_t>(data.rows.size());
  for (std::ptrdiff_t i = std::max(0, -by); i < n - std::max(0, by); ++i) {
    labels.push_back(data.labels[static_cast<size_t>(i + by)]);
    moved.group.push_back(data.group[static_cast<size_t>(i)]);
    const auto row =
        data.matrix.values.begin() + i * static_cast<std::ptrdiff_t>(width);
    moved.matrix.values.insert(moved.matrix.values.end(), row,
                               row + static_cast<std::ptrdiff_t>(width));
  }
  moved.matrix.rows = static_cast<int64_t>(labels.size());
  moved.matrix.columns = data.matrix.columns;
  moved.groups = data.groups;
  const auto predicted = Predictions(moved.matrix, labels, moved, options, 40);
  return predicted ? Score(labels, *predicted, data.binary) : std::nan("");
}

void MisalignedLabels(const ProbeData& data, const ProbeOptions& options,
                      ProbeReport& out) {
  Outcome outcome(out, "misaligned_labels");
  if (data.labels.size() < 50 || !data.thinned.empty()) {
    outcome.NotRun(data.labels.size() < 50 ? "fewer than 50 rows with a label"
                                           : "neighbours were thinned out");
    return;
  }
  const double here = ShiftedScore(data, options, 0);
  const double next = ShiftedScore(data, options, 1);
  const double last = ShiftedScore(data, options, -1);
  if (std::isnan(here) || std::isnan(next) || std::isnan(last)) {
    outcome.NotRun("the label cannot be learned with groups held out");
    return;
  }
  const char* unit = data.binary ? "AUC" : "R2";
  const double best = std::max(next, last);
  const double least = data.binary ? 0.7 : 0.3;
  const std::string said = fmt::format(
      "{} {:.3f} as it is, {:.3f} with labels one row up, {:.3f} one row down", unit,
      here, next, last);
  const auto rows = static_cast<int64_t>(data.rows.size());
  if (best < here + 0.1 || best < least) {
    outcome.Passed(said, rows);
    return;
  }
  Finding finding;
  finding.kind = "misaligned labels";
  finding.rows = rows;
  finding.share = 1;
  finding.text = said + ": features and labels were joined with an offset of one row";
  outcome.Found(finding, said, rows);
}

void LabelOutliers(const ProbeData& data, const ProbeOptions& options,
                   ProbeReport& out) {
  constexpr double kLimit = 8;
  Outcome outcome(out, "label_outliers");
  if (data.labels.size() < 50) {
    outcome.NotRun("fewer than 50 rows with a label");
    return;
  }
  // Learned from labels cut to 5 robust deviations: a wild one would else be learned,
  // and make its neighbours look odd.
  std::vector<double> tame = data.labels;
  const double centre = MedianOf(tame);
  const double reach = 5 * RobustDeviation(tame, centre);
  if (!data.binary && reach > 0) {
    for (double& y : tame) y = std::clamp(y, centre - reach, centre + reach);
  }
  const auto predicted = Predictions(data.matrix, tame, data, options, 60);
  if (!predicted) {
    outcome.NotRun("the label cannot be learned with groups held out");
    return;
  }
  std::vector<double> residual;
  for (size_t i = 0; i < data.labels.size(); ++i) {
    residual.push_back(data.labels[i] - (*predicted)[i]);
  }
  const double median = data.binary ? 0 : MedianOf(residual);
  const double deviation = data.binary ? 0 : RobustDeviation(residual, median);
  double expected = 0;  // sure and wrong, if the probabilities are right
  Finding finding;
  for (size_t i = 0; i < residual.size(); ++i) {
    const double p = (*predicted)[i];
    if (data.binary && (p > 0.99 || p < 0.01)) expected += std::min(p, 1 - p);
    const bool odd = data.binary ? std::abs(residual[i]) > 0.99
                                 : deviation > 0 && std::abs(residual[i] - median) >
                                                        kLimit * deviation;
    if (!odd) continue;
    ++finding.rows;
    if (finding.examples.size() < kMostExamples) {
      finding.examples.push_back(fmt::format("row {}: label {:.6g}, expected {:.6g}",
                                             data.rows[i], data.labels[i], p));
    }
  }
  const auto rows = static_cast<int64_t>(data.rows.size());
  const double chance = data.binary ? 3 * expected + 3 : 0;
  if (static_cast<double>(finding.rows) <= chance) {
    outcome.Passed(fmt::format("{} residuals stand out{}", finding.rows, data.thinned),
                   rows);
    return;
  }
  finding.kind = "outliers by held-out residual";
  finding.warning = true;
  finding.share = static_cast<double>(finding.rows) / static_cast<double>(rows);
  finding.text = fmt::format(
      "{} labels are far from what held-out models expect{}: look at them, do not drop "
      "them unseen",
      finding.rows, data.binary ? "" : " (8 robust deviations)");
  outcome.Found(finding, finding.text, rows);
}

// Rows of the class, or of the highest decile, in each part of the split.
void ClassBalance(const ProbeData& data, ProbeReport& out) {
  Outcome outcome(out, "class_balance");
  if (data.labels.size() < 20) {
    outcome.NotRun("fewer than 20 rows with a label");
    return;
  }
  std::vector<double> sorted = data.labels;
  std::sort(sorted.begin(), sorted.end());
  const double cut = data.binary ? 0.5 : stats::QuantileOfSorted(sorted, 0.9);
  std::map<int, std::pair<int64_t, int64_t>> parts;  // rows, of them high
  for (size_t i = 0; i < data.labels.size(); ++i) {
    auto& part = parts[data.split.empty() ? -1 : data.split[i]];
    ++part.first;
    part.second += data.labels[i] > cut ? 1 : 0;
  }
  const std::map<int, const char*> names = {
      {-1, "all rows"}, {0, "train"}, {1, "validation"}, {2, "test"}};
  const std::string what = data.binary ? "the rarer class" : "the highest decile";
  Finding finding;
  std::string said;
  for (const auto& [part, count] : parts) {
    const int64_t rare =
        data.binary ? std::min(count.second, count.first - count.second) : count.second;
    const double share = static_cast<double>(rare) / static_cast<double>(count.first);
    const auto name = names.find(part);
    said +=
        fmt::format("{}{}: {} of {}", said.empty() ? "" : ", ",
                    name == names.end() ? "other" : name->second, rare, count.first);
    if (share >= 0.01 && rare >= 10) continue;
    finding.rows += rare;
    finding.share = share;
    finding.examples.push_back(fmt::format(
        "{}: {} rows of {}", name == names.end() ? "other" : name->second, rare, what));
  }
  const auto rows = static_cast<int64_t>(data.labels.size());
  if (finding.examples.empty()) {
    outcome.Passed(fmt::format("{} in {}", what, said), rows);
    return;
  }
  finding.kind = "class balance";
  finding.warning = true;
  finding.text = fmt::format(
      "{} has less than 1 % or 10 rows in a part ({}): scores of "
      "it there mean little",
      what, said);
  outcome.Found(finding, finding.text, rows);
}

}  // namespace

void ProbeLabels(const ProbeData& data, const ProbeOptions& options, ProbeReport& out) {
  ConflictingLabels(data, out);
  MisalignedLabels(data, options, out);
  LabelOutliers(data, options, out);
  ClassBalance(data, out);
}

}  // namespace stepslack::audit
