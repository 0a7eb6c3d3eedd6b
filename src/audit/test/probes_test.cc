#include "stepslack/audit/probes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::audit {
namespace {

constexpr int kGroups = 40;
constexpr int kRows = 10;  // a group

data::Column Numbers(std::string name, std::vector<double> values) {
  data::Column column;
  column.name = std::move(name);
  column.numbers = std::move(values);
  return column;
}

struct Made {
  data::Table table;
  std::vector<int> split;  // every fourth group is test
};

// y = a + noise; b says nothing. Columns: family, a, b, y.
Made Sound(uint64_t seed = 1) {
  base::Random random(seed);
  std::vector<double> family;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> y;
  Made made;
  for (int g = 0; g < kGroups; ++g) {
    for (int i = 0; i < kRows; ++i) {
      family.push_back(g);
      a.push_back(random.Normal());
      b.push_back(random.Normal());
      y.push_back(2 * a.back() + random.Normal());
      made.split.push_back(g % 4 == 0 ? 2 : 0);
    }
  }
  made.table.source = "made";
  made.table.rows = kGroups * kRows;
  made.table.columns = {Numbers("family", family), Numbers("a", a), Numbers("b", b),
                        Numbers("y", y)};
  made.table.columns[0].role = data::ColumnRole::kGroup;
  made.table.columns[3].role = data::ColumnRole::kLabel;
  return made;
}

std::vector<double>& Values(Made& made, const char* name) {
  return made.table.Find(name)->numbers;
}

CheckVerdict VerdictOf(const Made& made, const std::string& id,
                       const ProbeOptions& options = {}) {
  const ProbeReport report = RunProbes(made.table, made.split, options);
  for (const CheckResult& check : report.checks) {
    if (check.id == id) return check.verdict;
  }
  ADD_FAILURE() << "no check " << id;
  return CheckVerdict::kNotRun;
}

TEST(Probes, SoundDataPassEveryProbe) {
  Made made = Sound();
  for (size_t c = 1; c < 3; ++c) made.table.columns[c].stage = static_cast<int>(c);
  ProbeOptions options;
  options.decision_stage = 3;
  for (const CheckResult& check : RunProbes(made.table, made.split, options).checks) {
    EXPECT_EQ(check.verdict, CheckVerdict::kPassed) << check.id << ": " << check.reason;
  }
}

TEST(Probes, AFeatureThatIsTheLabelIsNamed) {
  Made made = Sound();
  Values(made, "b") = Values(made, "y");
  for (double& value : Values(made, "b")) value *= 1e-12;
  const ProbeReport report = RunProbes(made.table, made.split, {});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "label_in_feature");
  ASSERT_EQ(report.findings[0].examples.size(), 1U);
  EXPECT_EQ(report.findings[0].examples[0].substr(0, 2), "b:");
}

TEST(Probes, AMissingFlagThatIsTheLabelIsNamed) {
  Made made = Sound();
  std::vector<double>& y = Values(made, "y");
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = i % 3 == 0 ? 1 : 0;
    if (i % 3 == 0) Values(made, "a")[i] = std::nan("");
  }
  const ProbeReport report = RunProbes(made.table, made.split, {});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].examples[0], "a (whether it is missing): AUC 1.0000");
}

TEST(Probes, AFeatureOfALaterStageIsFound) {
  Made made = Sound();
  made.table.columns[2].stage = 5;
  ProbeOptions options;
  options.decision_stage = 5;
  EXPECT_EQ(VerdictOf(made, "later_than_decision", options), CheckVerdict::kFinding);
  options.decision_stage = -1;
  EXPECT_EQ(VerdictOf(made, "later_than_decision", options), CheckVerdict::kNotRun);
}

void Standardise(std::vector<double>& values, const std::vector<int>& split, bool all) {
  double mean = 0;
  double square = 0;
  double n = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!all && split[i] != 0) continue;
    mean += values[i];
    square += values[i] * values[i];
    ++n;
  }
  mean /= n;
  const double deviation = std::sqrt(square / n - mean * mean);
  for (double& value : values) value = (value - mean) / deviation;
}

TEST(Probes, StandardisingWithTestRowsIsFoundAndWithTrainAloneIsNot) {
  Made made = Sound();
  Standardise(Values(made, "a"), made.split, true);
  EXPECT_EQ(VerdictOf(made, "statistics_on_all"), CheckVerdict::kFinding);
  made = Sound();
  Standardise(Values(made, "a"), made.split, false);
  EXPECT_EQ(VerdictOf(made, "statistics_on_all"), CheckVerdict::kPassed);
}

TEST(Probes, ATableSortedByItsLabelIsFound) {
  Made made = Sound();
  std::vector<double>& y = Values(made, "y");
  std::sort(y.begin(), y.end());
  EXPECT_EQ(VerdictOf(made, "order_predicts_label"), CheckVerdict::kFinding);
}

TEST(Probes, TestRowsOfAnotherDistributionAreFound) {
  Made made = Sound();
  for (size_t i = 0; i < made.split.size(); ++i) {
    if (made.split[i] == 2) Values(made, "b")[i] += 1.5;
  }
  EXPECT_EQ(VerdictOf(made, "split_classifier"), CheckVerdict::kFinding);
}

TEST(Probes, EqualFeaturesWithUnequalLabelsAreCounted) {
  Made made = Sound();
  for (const char* name : {"a", "b"}) Values(made, name)[7] = Values(made, name)[3];
  Values(made, "y")[7] = Values(made, "y")[3] + 3;
  const ProbeReport report = RunProbes(made.table, made.split, {});
  const auto found = std::find_if(
      report.findings.begin(), report.findings.end(),
      [](const Finding& finding) { return finding.id == "conflicting_labels"; });
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->rows, 2);
  Values(made, "y")[7] = Values(made, "y")[3];
  EXPECT_EQ(VerdictOf(made, "conflicting_labels"), CheckVerdict::kPassed);
}

TEST(Probes, LabelsJoinedOneRowOffAreFound) {
  Made made = Sound();
  std::vector<double>& y = Values(made, "y");
  std::rotate(y.begin(), y.begin() + 1, y.end());
  EXPECT_EQ(VerdictOf(made, "misaligned_labels"), CheckVerdict::kFinding);
}

TEST(Probes, ALabelFarFromItsNeighboursIsFound) {
  Made made = Sound();
  Values(made, "y")[123] = 40;
  const ProbeReport report = RunProbes(made.table, made.split, {});
  const auto found = std::find_if(
      report.findings.begin(), report.findings.end(),
      [](const Finding& finding) { return finding.id == "label_outliers"; });
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->rows, 1);
  EXPECT_EQ(found->examples[0].substr(0, 8), "row 123:");
}

TEST(Probes, ATestPartWithoutTheRarerClassIsFound) {
  Made made = Sound();
  std::vector<double>& y = Values(made, "y");
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = made.split[i] == 0 && i % 5 == 0 ? 1 : 0;
  }
  EXPECT_EQ(VerdictOf(made, "class_balance"), CheckVerdict::kFinding);
}

// Where b is in its highest quarter the label is mostly noise.
TEST(Probes, ASliceWithLargeErrorsIsNamed) {
  Made made = Sound();
  base::Random random(9);
  for (size_t i = 0; i < made.split.size(); ++i) {
    if (Values(made, "b")[i] > 0.67) Values(made, "y")[i] += 6 * random.Normal();
  }
  const ProbeReport report = RunProbes(made.table, made.split, {});
  const auto found =
      std::find_if(report.findings.begin(), report.findings.end(),
                   [](const Finding& finding) { return finding.id == "worst_slices"; });
  ASSERT_NE(found, report.findings.end());
  EXPECT_NE(found->examples[0].find("b in quarter 4"), std::string::npos);
}

TEST(Probes, TestRowsBeyondTheRangeOfTrainAreFound) {
  Made made = Sound();
  for (size_t i = 0; i < made.split.size(); ++i) {
    if (made.split[i] == 2 && i % 4 == 0) Values(made, "b")[i] = 25;
  }
  EXPECT_EQ(VerdictOf(made, "coverage"), CheckVerdict::kFinding);
}

TEST(Probes, WithoutSplitLabelOrRowsTheReasonIsSaid) {
  Made made = Sound();
  made.split.clear();
  EXPECT_EQ(VerdictOf(made, "split_classifier"), CheckVerdict::kNotRun);
  EXPECT_EQ(VerdictOf(made, "coverage"), CheckVerdict::kNotRun);
  made.table.columns[3].role = data::ColumnRole::kIgnored;
  EXPECT_EQ(VerdictOf(made, "label_in_feature"), CheckVerdict::kNotRun);
  for (const CheckResult& check : RunProbes(data::Table(), {}, {}).checks) {
    EXPECT_EQ(check.verdict, CheckVerdict::kNotRun) << check.id;
    EXPECT_NE(check.reason, "");
  }
}

}  // namespace
}  // namespace stepslack::audit
