#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "probe_data.h"

namespace stepslack::audit {
namespace {

constexpr double kPerfectAuc = 0.995;
constexpr double kPerfectR2 = 0.99;
constexpr int64_t kLeastRows = 50;

bool CanScore(const ProbeData& data, Outcome& outcome) {
  const std::set<double> distinct(data.labels.begin(), data.labels.end());
  if (data.labels.empty()) {
    outcome.NotRun("no column is known to be the label");
  } else if (static_cast<int64_t>(data.labels.size()) < kLeastRows) {
    outcome.NotRun(fmt::format("{} rows with a label, {} are needed",
                               data.labels.size(), kLeastRows));
  } else if (data.groups < 5) {
    outcome.NotRun(
        fmt::format("{} groups, 5 are needed to hold some out", data.groups));
  } else if (distinct.size() < 2) {
    outcome.NotRun("all labels are equal");
  } else {
    return true;
  }
  return false;
}

learner::Matrix OneColumn(const std::vector<float>& values) {
  return {static_cast<int64_t>(values.size()), 1, values};
}

void LabelInFeature(const ProbeData& data, const ProbeOptions& options,
                    ProbeReport& out) {
  Outcome outcome(out, "label_in_feature");
  if (!CanScore(data, outcome)) return;
  Finding finding;
  const double perfect = data.binary ? kPerfectAuc : kPerfectR2;
  const auto width = data.features.size();
  for (size_t j = 0; j < width; ++j) {
    std::vector<float> values;
    std::vector<float> flags;
    for (size_t i = 0; i < data.rows.size(); ++i) {
      values.push_back(data.matrix.values[i * width + j]);
      flags.push_back(std::isnan(values.back()) ? 1.0F : 0.0F);
    }
    const std::string& name = data.table->columns[data.features[j]].name;
    const bool some = std::find(flags.begin(), flags.end(), 1.0F) != flags.end() &&
                      std::find(flags.begin(), flags.end(), 0.0F) != flags.end();
    for (const bool flag : {true, false}) {
      if (flag && !some) continue;
      const auto predicted =
          Predictions(OneColumn(flag ? flags : values), data.labels, data, options, 30);
      if (!predicted) continue;
      const double score = Score(data.labels, *predicted, data.binary);
      if (score < perfect) continue;
      finding.examples.push_back(fmt::format("{}{}: {} {:.4f}", name,
                                             flag ? " (whether it is missing)" : "",
                                             data.binary ? "AUC" : "R2", score));
      break;  // the flag explains the column
    }
  }
  const auto columns = static_cast<int64_t>(width);
  if (finding.examples.empty()) {
    outcome.Passed(fmt::format("no single feature reaches {} {}{}",
                               data.binary ? "AUC" : "R2", perfect, data.thinned),
                   columns);
    return;
  }
  finding.kind = "label in feature";
  finding.leakage_type = leakage::kIllegitimate;
  finding.facts["features"] = static_cast<int64_t>(finding.examples.size());
  finding.rows = static_cast<int64_t>(data.rows.size());
  finding.share = 1;
  finding.text = fmt::format(
      "{} predict {} on held-out groups nearly alone: check that they are known before "
      "it is",
      finding.examples.size() == 1 ? "one feature can" : "single features can",
      data.label_name);
  finding.examples.resize(std::min(finding.examples.size(), kMostExamples));
  outcome.Found(finding, finding.text, columns);
}

void LaterThanDecision(const ProbeData& data, const ProbeOptions& options,
                       ProbeReport& out) {
  Outcome outcome(out, "later_than_decision");
  int64_t staged = 0;
  Finding finding;
  for (size_t c : data.features) {
    const data::Column& column = data.table->columns[c];
    staged += column.stage >= 0 ? 1 : 0;
    if (options.decision_stage >= 0 && column.stage >= options.decision_stage) {
      finding.examples.push_back(column.name);
    }
  }
  if (options.decision_stage < 0 || staged == 0) {
    outcome.NotRun(options.decision_stage < 0
                       ? "the stage at which it is decided is not given"
                       : "no column says of which stage it is");
    return;
  }
  if (finding.examples.empty()) {
    outcome.Passed("every feature with a stage is earlier than the decision", staged);
    return;
  }
  finding.kind = "later than the decision";
  finding.leakage_type = leakage::kIllegitimate;
  finding.rows = static_cast<int64_t>(data.rows.size());
  finding.share = 1;
  finding.facts["features"] = static_cast<int64_t>(finding.examples.size());
  finding.text = fmt::format(
      "{} features are written by the stage of the decision or a "
      "later one",
      finding.examples.size());
  finding.examples.resize(std::min(finding.examples.size(), kMostExamples));
  outcome.Found(finding, finding.text, staged);
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double rows = 0;
};

// Over the rows of the part, or all for -1.
Moments MomentsOf(const data::Column& column, const std::vector<int>& split, int part) {
  Moments out;
  double squares = 0;
  for (size_t i = 0; i < column.numbers.size(); ++i) {
    if (NoValue(column, static_cast<int64_t>(i))) continue;
    if (part >= 0 && split[i] != part) continue;
    const double before = column.numbers[i] - out.mean;
    ++out.rows;
    out.mean += before / out.rows;
    squares += before * (column.numbers[i] - out.mean);
  }
  out.deviation = out.rows > 0 ? std::sqrt(squares / out.rows) : 0;
  return out;
}

// Distance from mean 0 and deviation 1, with divisor n or n - 1.
double FromStandard(const Moments& m) {
  const double other =
      m.rows > 1 ? m.deviation * std::sqrt(m.rows / (m.rows - 1)) : m.deviation;
  return std::max(std::abs(m.mean),
                  std::min(std::abs(m.deviation - 1), std::abs(other - 1)));
}

void StatisticsOnAll(const ProbeData& data, ProbeReport& out) {
  Outcome outcome(out, "statistics_on_all");
  if (data.split.empty() || !data.thinned.empty()) {
    outcome.NotRun(data.split.empty() ? "no split is given" : "not all rows are read");
    return;
  }
  constexpr double kEqual = 2e-5;      // values kept as floats
  constexpr double kDifferent = 2e-3;  // of a part of the rows
  Finding finding;
  // By row of the table.
  std::vector<int> split(static_cast<size_t>(data.table->rows), -1);
  for (size_t i = 0; i < data.rows.size(); ++i) {
    split[static_cast<size_t>(data.rows[i])] = data.split[i];
  }
  for (size_t c : data.features) {
    const data::Column& column = data.table->columns[c];
    if (column.kind != data::ColumnKind::kNumber) continue;
    const Moments all = MomentsOf(column, split, -1);
    const Moments train = MomentsOf(column, split, 0);
    if (all.rows >= 20 && train.rows >= 10 && train.rows < all.rows &&
        FromStandard(all) < kEqual && FromStandard(train) > kDifferent) {
      finding.examples.push_back(
          fmt::format("{}: mean {:.4f} over train", column.name, train.mean));
    }
  }
  const auto columns = static_cast<int64_t>(data.features.size());
  if (finding.examples.empty()) {
    outcome.Passed("no feature has mean 0 and deviation 1 over all rows only", columns);
    return;
  }
  finding.kind = "statistics fitted on all rows";
  finding.leakage_type = leakage::kPreprocessing;
  finding.rows = static_cast<int64_t>(data.rows.size());
  finding.share = 1;
  finding.facts["features"] = static_cast<int64_t>(finding.examples.size());
  finding.text =
      "features were standardised with the mean and deviation of all rows, "
      "test included: fit them on train alone";
  finding.examples.resize(std::min(finding.examples.size(), kMostExamples));
  outcome.Found(finding, finding.text, columns);
}

}  // namespace

void ProbeFeatures(const ProbeData& data, const ProbeOptions& options,
                   ProbeReport& out) {
  LabelInFeature(data, options, out);
  LaterThanDecision(data, options, out);
  StatisticsOnAll(data, out);
}

void ProbeOrder(const ProbeData& data, const ProbeOptions& options, ProbeReport& out) {
  Outcome outcome(out, "order_predicts_label");
  if (!CanScore(data, outcome)) return;
  const double limit = data.binary ? 0.75 : 0.5;
  Finding finding;
  std::vector<std::pair<std::string, std::vector<float>>> tries(1);
  tries[0].first = "row number";
  for (int64_t row : data.rows) tries[0].second.push_back(static_cast<float>(row));
  for (const data::Column& column : data.table->columns) {
    if (column.role != data::ColumnRole::kId ||
        column.kind != data::ColumnKind::kNumber) {
      continue;
    }
    tries.emplace_back(column.name, std::vector<float>());
    for (int64_t row : data.rows) {
      tries.back().second.push_back(FeatureValue(column, row));
    }
  }
  for (const auto& [name, values] : tries) {
    const auto predicted =
        Predictions(OneColumn(values), data.labels, data, options, 30);
    if (!predicted) continue;
    const double score = Score(data.labels, *predicted, data.binary);
    if (score >= limit) {
      finding.examples.push_back(
          fmt::format("{}: {} {:.3f}", name, data.binary ? "AUC" : "R2", score));
    }
  }
  const auto examined = static_cast<int64_t>(tries.size());
  if (finding.examples.empty()) {
    outcome.Passed("neither row number nor ids predict the label" + data.thinned,
                   examined);
    return;
  }
  finding.kind = "order or id predicts the label";
  finding.leakage_type = leakage::kIllegitimate;
  finding.warning = true;
  finding.rows = static_cast<int64_t>(data.rows.size());
  finding.share = 1;
  finding.text =
      "the place in the file or an id predicts the label of held-out groups: "
      "shuffle before any split by position, and keep ids out of the features";
  outcome.Found(finding, finding.text, examined);
}

}  // namespace stepslack::audit
