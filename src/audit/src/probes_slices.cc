// Slices of one or two features, quantised to quartiles, whose rows are predicted worse
// than the rest. Independent are groups, so a slice is judged by the mean error that
// each group has inside it and outside.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probe_data.h"
#include "stepslack/stats/bootstrap.h"
#include "stepslack/stats/exact_tests.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/stats/multiple.h"

namespace stepslack::audit {
namespace {

struct Slice {
  std::string name;
  std::vector<char> holds;  // by place in the rows
  int64_t rows = 0;
};

struct Judged {
  std::string name;
  int64_t rows = 0;
  double ratio = 1;  // of mean errors, inside to outside
  double p = 1;      // one-sided
};

// Quartile bins of a number, the frequent values of a text, or "missing".
std::vector<Slice> SlicesOf(const ProbeData& data, size_t j) {
  const auto width = data.features.size();
  const data::Column& column = data.table->columns[data.features[j]];
  std::vector<double> sorted;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const double x = data.matrix.values[i * width + j];
    if (!std::isnan(x)) sorted.push_back(x);
  }
  std::sort(sorted.begin(), sorted.end());
  std::map<int, std::string> names;
  std::vector<int> bin(data.rows.size(), -1);
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const double x = data.matrix.values[i * width + j];
    if (std::isnan(x)) {
      names[-1] = column.name + " missing";
    } else if (column.kind == data::ColumnKind::kText) {
      bin[i] = static_cast<int>(x);
      names[bin[i]] = fmt::format("{} = {}", column.name,
                                  column.texts[static_cast<size_t>(bin[i])]);
    } else {
      for (double level : {0.25, 0.5, 0.75}) {
        bin[i] += x > stats::QuantileOfSorted(sorted, level) ? 1 : 0;
      }
      bin[i] += 1;
      names[bin[i]] = fmt::format("{} in quarter {}", column.name, bin[i] + 1);
    }
  }
  std::vector<Slice> out;
  for (const auto& [number, name] : names) {
    Slice slice{name, std::vector<char>(data.rows.size(), 0), 0};
    for (size_t i = 0; i < bin.size(); ++i) {
      slice.holds[i] = bin[i] == number ? 1 : 0;
      slice.rows += slice.holds[i];
    }
    out.push_back(std::move(slice));
    if (out.size() == 16) break;
  }
  return out;
}

Judged Judge(const ProbeData& data, const std::vector<double>& errors,
             const Slice& slice) {
  std::map<int64_t, std::pair<double, double>> inside;  // group: sum, rows
  std::map<int64_t, std::pair<double, double>> outside;
  for (size_t i = 0; i < errors.size(); ++i) {
    auto& part = (slice.holds[i] ? inside : outside)[data.group[i]];
    part.first += errors[i];
    part.second += 1;
  }
  const auto means = [](const auto& groups) {
    std::vector<double> out;
    for (const auto& [group, sum] : groups) out.push_back(sum.first / sum.second);
    return out;
  };
  Judged out{slice.name, slice.rows};
  const std::vector<double> x = means(inside);
  const std::vector<double> y = means(outside);
  if (x.size() < 5 || y.size() < 5) return out;
  const stats::WelchResult test = stats::WelchTest(x, y, "1", "groups");
  double in = 0;
  double rest = 0;
  for (double v : x) in += v / static_cast<double>(x.size());
  for (double v : y) rest += v / static_cast<double>(y.size());
  out.ratio = rest > 0 ? in / rest : 1;
  if (test.p) out.p = in > rest ? *test.p / 2 : 1 - *test.p / 2;
  return out;
}

std::vector<Slice> AllSlices(const ProbeData& data, int64_t least, bool& cut) {
  constexpr size_t kMost = 3000;
  std::vector<std::vector<Slice>> single;
  std::vector<Slice> all;
  for (size_t j = 0; j < data.features.size(); ++j) single.push_back(SlicesOf(data, j));
  for (const auto& slices : single) {
    for (const Slice& slice : slices) {
      if (slice.rows >= least) all.push_back(slice);
    }
  }
  for (size_t a = 0; a < single.size(); ++a) {
    for (size_t b = a + 1; b < single.size(); ++b) {
      for (const Slice& x : single[a]) {
        for (const Slice& y : single[b]) {
          if (all.size() >= kMost) {
            cut = true;
            return all;
          }
          if (x.rows < least || y.rows < least) continue;
          Slice both{x.name + " and " + y.name, x.holds, 0};
          for (size_t i = 0; i < both.holds.size(); ++i) {
            both.holds[i] = static_cast<char>(both.holds[i] & y.holds[i]);
            both.rows += both.holds[i];
          }
          if (both.rows >= least) all.push_back(std::move(both));
        }
      }
    }
  }
  return all;
}

}  // namespace

void ProbeSlices(const ProbeData& data, const ProbeOptions& options, ProbeReport& out) {
  Outcome outcome(out, "worst_slices");
  if (data.labels.size() < 100) {
    outcome.NotRun("fewer than 100 rows with a label");
    return;
  }
  const auto predicted = Predictions(data.matrix, data.labels, data, options, 60);
  if (!predicted) {
    outcome.NotRun("the label cannot be learned with groups held out");
    return;
  }
  std::vector<double> errors;
  for (size_t i = 0; i < data.labels.size(); ++i) {
    errors.push_back(std::abs(data.labels[i] - (*predicted)[i]));
  }
  const auto rows = static_cast<int64_t>(data.rows.size());
  bool cut = false;
  std::vector<Judged> judged;
  for (const Slice& slice : AllSlices(data, std::max<int64_t>(20, rows / 50), cut)) {
    if (slice.rows < rows) judged.push_back(Judge(data, errors, slice));
  }
  std::vector<double> p;
  for (const Judged& one : judged) p.push_back(one.p);
  const std::vector<double> adjusted = stats::HolmAdjust(p);
  std::vector<size_t> found;
  for (size_t k = 0; k < judged.size(); ++k) {
    if (adjusted[k] <= options.alpha && judged[k].ratio >= 1.5) found.push_back(k);
  }
  const std::string said = fmt::format(
      "{} slices of one or two features looked at, {} worse than the rest "
      "by half or more{}{}",
      judged.size(), found.size(), cut ? "; the list was cut at 3000" : "",
      data.thinned);
  if (found.empty()) {
    outcome.Passed(said, rows);
    return;
  }
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    return judged[a].ratio > judged[b].ratio;
  });
  Finding finding;
  finding.kind = "worst slices";
  finding.warning = true;
  for (size_t k : found) {
    if (finding.examples.size() == kMostExamples) break;
    finding.examples.push_back(
        fmt::format("{}: {} rows, error {:.2f} times the rest, "
                    "adjusted p {:.2g}",
                    judged[k].name, judged[k].rows, judged[k].ratio, adjusted[k]));
  }
  finding.rows = judged[found[0]].rows;
  finding.share = static_cast<double>(finding.rows) / static_cast<double>(rows);
  finding.facts = {{"slices", static_cast<int64_t>(found.size())},
                   {"slices_examined", static_cast<int64_t>(judged.size())}};
  finding.text = said + "; the mean over all rows hides them";
  outcome.Found(finding, said, rows);
}

}  // namespace stepslack::audit
