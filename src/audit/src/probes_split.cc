#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "probe_data.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::audit {
namespace {

constexpr int kTrain = 0;
constexpr int kTest = 2;

// Places in data.rows of a part of the split.
std::vector<size_t> PartOf(const ProbeData& data, int part) {
  std::vector<size_t> out;
  for (size_t i = 0; i < data.split.size(); ++i) {
    if (data.split[i] == part) out.push_back(i);
  }
  return out;
}

bool HasParts(const ProbeData& data, const std::vector<size_t>& train,
              const std::vector<size_t>& test, Outcome& outcome) {
  if (data.split.empty()) {
    outcome.NotRun("no split is given");
  } else if (train.size() < 20 || test.size() < 20) {
    outcome.NotRun(fmt::format("{} train and {} test rows, 20 of each are needed",
                               train.size(), test.size()));
  } else if (data.features.empty()) {
    outcome.NotRun("there is no feature");
  } else {
    return true;
  }
  return false;
}

// The train and test rows of the data, in order, as a table of their own.
ProbeData Selected(const ProbeData& data, std::vector<double>& is_test) {
  ProbeData out;
  out.matrix.columns = data.matrix.columns;
  const auto width = static_cast<size_t>(data.matrix.columns);
  for (size_t i = 0; i < data.split.size(); ++i) {
    if (data.split[i] != kTrain && data.split[i] != kTest) continue;
    is_test.push_back(data.split[i] == kTest ? 1 : 0);
    out.group.push_back(data.group[i]);
    const auto row =
        data.matrix.values.begin() + static_cast<std::ptrdiff_t>(i * width);
    out.matrix.values.insert(out.matrix.values.end(), row,
                             row + static_cast<std::ptrdiff_t>(width));
  }
  out.matrix.rows = static_cast<int64_t>(is_test.size());
  out.groups = data.groups;
  return out;
}

// AUC of the scores when whole groups get the labels of other groups, sorted. The
// labels of a group are drawn from another group of the list, so a group on both sides
// keeps its share of test rows.
std::vector<double> NullAucs(const ProbeData& part, const std::vector<double>& is_test,
                             const std::vector<double>& scores, uint64_t seed) {
  constexpr int kDraws = 499;
  std::vector<std::vector<size_t>> members(static_cast<size_t>(part.groups));
  std::vector<double> share(members.size(), 0);
  for (size_t i = 0; i < is_test.size(); ++i) {
    members[static_cast<size_t>(part.group[i])].push_back(i);
    share[static_cast<size_t>(part.group[i])] += is_test[i];
  }
  std::vector<size_t> groups;
  for (size_t g = 0; g < members.size(); ++g) {
    if (members[g].empty()) continue;
    groups.push_back(g);
    share[g] /= static_cast<double>(members[g].size());
  }
  base::Random random(base::DeriveSeed(seed, "split classifier"));
  std::vector<double> out;
  std::vector<double> labels(is_test.size());
  for (int k = 0; k < kDraws; ++k) {
    std::vector<size_t> from = groups;
    random.Shuffle(std::span(from));
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t row : members[groups[i]]) {
        labels[row] = random.Uniform() < share[from[i]] ? 1 : 0;
      }
    }
    out.push_back(Auc(labels, scores));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void SplitClassifier(const ProbeData& data, const ProbeOptions& options,
                     ProbeReport& out) {
  Outcome outcome(out, "split_classifier");
  if (!HasParts(data, PartOf(data, kTrain), PartOf(data, kTest), outcome)) return;
  std::vector<double> is_test;
  const ProbeData part = Selected(data, is_test);
  const auto scores = Predictions(part.matrix, is_test, part, options, 40);
  if (!scores) {
    outcome.NotRun(
        "train and test cannot be held out by group (fewer than 5 groups, or "
        "all test rows in one fold)");
    return;
  }
  const double auc = Auc(is_test, *scores);
  const std::vector<double> null = NullAucs(part, is_test, *scores, options.seed);
  const double high = stats::QuantileOfSorted(null, 1 - options.alpha / 2);
  const auto above = static_cast<double>(
      std::count_if(null.begin(), null.end(), [&](double a) { return a >= auc; }));
  const double p = (above + 1) / (static_cast<double>(null.size()) + 1);
  const std::string said = fmt::format(
      "a classifier tells test from train with AUC {:.3f} on held-out groups (p "
      "{:.3f}; "
      "groups relabelled by chance reach {:.3f}){}",
      auc, p, high, data.thinned);
  if (p > options.alpha || auc < 0.6) {
    outcome.Passed(said, part.matrix.rows);
    return;
  }
  Finding finding;
  finding.kind = "split classifier";
  finding.leakage_type = leakage::kSamplingBias;
  finding.warning = true;
  finding.rows = part.matrix.rows;
  finding.share = 1;
  finding.text = said + ": the test rows are not of the distribution of train";
  outcome.Found(finding, said, part.matrix.rows);
}

struct Standard {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double scale = 0;
};

std::vector<Standard> RangesOf(const ProbeData& data, const std::vector<size_t>& rows) {
  const auto width = static_cast<size_t>(data.matrix.columns);
  std::vector<Standard> out(width);
  for (size_t i : rows) {
    for (size_t j = 0; j < width; ++j) {
      const double x = data.matrix.values[i * width + j];
      if (std::isnan(x)) continue;
      out[j].low = std::min(out[j].low, x);
      out[j].high = std::max(out[j].high, x);
    }
  }
  for (Standard& s : out) s.scale = s.high > s.low ? s.high - s.low : 0;
  return out;
}

// Squared distance in ranges of train; a missing value is as far as the range is wide.
double Distance(const ProbeData& data, const std::vector<Standard>& by, size_t a,
                size_t b) {
  const auto width = by.size();
  const float* x = &data.matrix.values[a * width];
  const float* y = &data.matrix.values[b * width];
  double sum = 0;
  for (size_t j = 0; j < width; ++j) {
    if (std::isnan(x[j]) && std::isnan(y[j])) continue;
    if (std::isnan(x[j]) || std::isnan(y[j])) {
      sum += 1;
    } else if (by[j].scale > 0) {
      const double d = (static_cast<double>(x[j]) - y[j]) / by[j].scale;
      sum += d * d;
    }
  }
  return sum;
}

// To the nearest train row of another group.
double Nearest(const ProbeData& data, const std::vector<Standard>& by, size_t row,
               const std::vector<size_t>& train) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t other : train) {
    if (data.group[other] == data.group[row]) continue;
    least = std::min(least, Distance(data, by, row, other));
  }
  return std::sqrt(least);
}

std::vector<size_t> Thinned(const std::vector<size_t>& rows, size_t most) {
  if (rows.size() <= most) return rows;
  std::vector<size_t> out;
  for (size_t k = 0; k < most; ++k) out.push_back(rows[k * rows.size() / most]);
  return out;
}

// Test rows beyond a tenth of the train range in some feature, with the feature.
std::vector<std::string> Outside(const ProbeData& data, const std::vector<Standard>& by,
                                 const std::vector<size_t>& test, int64_t& count) {
  std::vector<std::string> examples;
  const auto width = by.size();
  for (size_t i : test) {
    for (size_t j = 0; j < width; ++j) {
      const double x = data.matrix.values[i * width + j];
      const double slack = by[j].scale / 10;
      if (std::isnan(x) || (x >= by[j].low - slack && x <= by[j].high + slack))
        continue;
      ++count;
      if (examples.size() < kMostExamples) {
        examples.push_back(fmt::format(
            "row {}: {} {:.6g} outside [{:.6g}, {:.6g}]", data.rows[i],
            data.table->columns[data.features[j]].name, x, by[j].low, by[j].high));
      }
      break;
    }
  }
  return examples;
}

}  // namespace

void ProbeSplit(const ProbeData& data, const ProbeOptions& options, ProbeReport& out) {
  SplitClassifier(data, options, out);
}

void ProbeCoverage(const ProbeData& data, const ProbeOptions&, ProbeReport& out) {
  constexpr size_t kMost = 2000;
  constexpr double kLeastShare = 0.02;  // of test rows
  Outcome outcome(out, "coverage");
  const std::vector<size_t> train = PartOf(data, kTrain);
  const std::vector<size_t> test = PartOf(data, kTest);
  if (!HasParts(data, train, test, outcome)) return;
  const std::vector<Standard> ranges = RangesOf(data, train);
  int64_t outside = 0;
  Finding finding;
  finding.examples = Outside(data, ranges, test, outside);
  const std::vector<size_t> near_train = Thinned(train, kMost);
  const std::vector<size_t> near_test = Thinned(test, kMost);
  std::vector<double> own;
  for (size_t i : near_train) own.push_back(Nearest(data, ranges, i, near_train));
  std::sort(own.begin(), own.end());
  const double limit = stats::QuantileOfSorted(own, 0.99);
  int64_t far = 0;
  for (size_t i : near_test) {
    far += Nearest(data, ranges, i, near_train) > 1.5 * limit ? 1 : 0;
  }
  const double far_share =
      static_cast<double>(far) / static_cast<double>(near_test.size());
  const double share = static_cast<double>(outside) / static_cast<double>(test.size());
  const std::string said = fmt::format(
      "{} of {} test rows are outside the range of train, {} of {} looked at are "
      "farther "
      "from train than train's own groups are apart{}",
      outside, test.size(), far, near_test.size(), data.thinned);
  if (share < kLeastShare && far_share < kLeastShare) {
    outcome.Passed(said, static_cast<int64_t>(test.size()));
    return;
  }
  finding.kind = "coverage of the deployment domain";
  finding.leakage_type = leakage::kSamplingBias;
  finding.warning = true;
  finding.rows = outside;
  finding.share = std::max(share, far_share);
  finding.share_of = "test rows";
  finding.facts = {{"outside_range", outside}, {"far_from_train", far}};
  finding.text = said + ": predictions there are extrapolations";
  outcome.Found(finding, said, static_cast<int64_t>(test.size()));
}

}  // namespace stepslack::audit
