#include "stepslack/drift/table_drift.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::drift {
namespace {

data::Column Numbers(std::string name, std::vector<double> values) {
  data::Column column;
  column.name = std::move(name);
  column.numbers = std::move(values);
  return column;
}

// `groups` groups named from `first`, `rows` rows each; a group's own level has the
// deviation `between`, its rows 1.
data::Table Make(uint64_t seed, int first, int groups, int rows, double mean,
                 double between, double unit = 1) {
  base::Random random(seed);
  std::vector<double> group;
  std::vector<double> values;
  for (int g = 0; g < groups; ++g) {
    const double level = mean + between * random.Normal();
    for (int i = 0; i < rows; ++i) {
      group.push_back(first + g);
      values.push_back(unit * (level + random.Normal()));
    }
  }
  data::Table table;
  table.source = "made";
  table.rows = static_cast<int64_t>(values.size());
  table.columns = {Numbers("family", group), Numbers("x", values)};
  table.columns[0].role = data::ColumnRole::kGroup;
  return table;
}

FeatureDrift Only(const data::Table& reference, const data::Table& current,
                  const DriftOptions& options = {}) {
  const auto report = CompareTables(reference, current, options);
  EXPECT_TRUE(report.has_value());
  return report->features.at(0);
}

TEST(TableDrift, AShiftOfOneDeviationIsFoundInItsOwnUnit) {
  const double unit = 1e-12;
  const auto drift =
      Only(Make(1, 0, 10, 60, 3, 0.1, unit), Make(2, 100, 10, 60, 4, 0.1, unit));
  EXPECT_EQ(drift.verdict, DriftVerdict::kDrifted) << drift.reason;
  // The levels add sqrt(2 / 10) / 10, the rows sqrt(2 / 600): 0.07 in all, thrice.
  EXPECT_NEAR(*drift.effect.value, 1 * unit, 0.2 * unit);
  EXPECT_LE(*drift.effect.low, 1 * unit);
  EXPECT_GE(*drift.effect.high, 1 * unit);
  EXPECT_NEAR(*drift.shift.value, 1 * unit, 0.25 * unit);
  EXPECT_NEAR(drift.margin, 0.2 * unit, 0.03 * unit);
}

TEST(TableDrift, EqualDistributionsDoNotDrift) {
  const auto drift = Only(Make(1, 0, 12, 100, 3, 0), Make(2, 100, 12, 100, 3, 0));
  EXPECT_EQ(drift.verdict, DriftVerdict::kNoDrift) << drift.reason;
}

// Six families a side that differ among themselves: rows alone would always shout. At
// 5 % more than 6 of 40 false alarms have a chance of 0.3 %; the seeds are fixed.
TEST(TableDrift, DifferencesBetweenFamiliesAreNotDrift) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto drift = Only(Make(2 * seed + 100, 0, 6, 20, 0, 2),
                            Make(2 * seed + 101, 100, 6, 20, 0, 2));
    alarms += drift.verdict == DriftVerdict::kDrifted ? 1 : 0;
  }
  EXPECT_LE(alarms, 6);
}

// 3 + 3 groups: 20 assignments, mirrored in pairs, so p is 2/20 at best.
TEST(TableDrift, TooFewGroupsAbstainAndSayWhichPTheyCanReach) {
  const auto report =
      CompareTables(Make(1, 0, 3, 50, 0, 0), Make(2, 100, 3, 50, 9, 0), DriftOptions());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->assignments, 20);
  EXPECT_TRUE(report->exact);
  EXPECT_DOUBLE_EQ(report->least_p, 0.1);
  EXPECT_DOUBLE_EQ(*report->features[0].p, 0.1);
  EXPECT_EQ(report->features[0].verdict, DriftVerdict::kInconclusive);
  EXPECT_NE(report->features[0].reason.find("too few groups"), std::string::npos);
}

// The same 8 families on both sides: their parts swap, 2^8 ways.
TEST(TableDrift, FamiliesOnBothSidesAreComparedWithThemselves) {
  const auto report =
      CompareTables(Make(5, 0, 8, 80, 0, 0), Make(6, 0, 8, 80, 0.8, 0), DriftOptions());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->shared_groups, 8);
  EXPECT_EQ(report->assignments, 256);
  EXPECT_DOUBLE_EQ(report->least_p, 2.0 / 256);
  EXPECT_EQ(report->features[0].verdict, DriftVerdict::kDrifted);
}

TEST(TableDrift, ASignificantButSmallDifferenceIsNotDrift) {
  DriftOptions options;
  options.margin = 1;
  const auto drift =
      Only(Make(1, 0, 10, 400, 0, 0), Make(2, 100, 10, 400, 0.3, 0), options);
  EXPECT_EQ(drift.verdict, DriftVerdict::kNoDrift);
  EXPECT_LT(*drift.p_adjusted, 0.05);
}

TEST(TableDrift, MissingSharesAreAFeatureOfTheirOwn) {
  data::Table reference = Make(1, 0, 10, 40, 0, 0);
  data::Table current = Make(2, 100, 10, 40, 0, 0);
  for (size_t i = 0; i < 400; i += 4) current.columns[1].numbers[i] = std::nan("");
  const auto report = CompareTables(reference, current, DriftOptions());
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->features.size(), 2U);
  const FeatureDrift& missing = report->features[1];
  EXPECT_EQ(missing.name, "x (missing)");
  EXPECT_DOUBLE_EQ(*missing.effect.value, 0.25);
  EXPECT_EQ(missing.verdict, DriftVerdict::kDrifted);
  EXPECT_EQ(report->features[0].current_values, 300);
}

TEST(TableDrift, TextsAreComparedByTheirShares) {
  const auto with_text = [](data::Table table, size_t every) {
    data::Column text;
    text.name = "corner";
    text.kind = data::ColumnKind::kText;
    text.texts = {"tt", "ss"};
    for (size_t i = 0; i < static_cast<size_t>(table.rows); ++i) {
      text.codes.push_back(i % every == 0 ? 1 : 0);
    }
    table.columns.push_back(text);
    return table;
  };
  const auto report =
      CompareTables(with_text(Make(1, 0, 8, 40, 0, 0), 4),
                    with_text(Make(2, 50, 8, 40, 0, 0), 2), DriftOptions());
  ASSERT_TRUE(report.has_value());
  EXPECT_DOUBLE_EQ(*report->features[1].effect.value, 0.25);
  EXPECT_EQ(report->features[1].verdict, DriftVerdict::kDrifted);
  EXPECT_TRUE(report->AnyDrift());
}

TEST(TableDrift, SameNumbersWithAnyNumberOfThreads) {
  const data::Table reference = Make(1, 0, 200, 5, 0, 1);
  const data::Table current = Make(2, 500, 150, 5, 0.4, 1);
  DriftOptions options;
  options.permutations = 199;
  const auto one = Only(reference, current, options);
  options.threads = 3;
  const auto three = Only(reference, current, options);
  EXPECT_EQ(*one.p, *three.p);
  EXPECT_EQ(*one.effect.low, *three.effect.low);
  EXPECT_EQ(*one.effect.value, *three.effect.value);
}

TEST(TableDrift, WrongInputIsRefused) {
  data::Table table = Make(1, 0, 4, 5, 0, 0);
  const auto id = [](const auto& result) {
    return result.has_value() ? std::string("none") : result.error().id;
  };
  DriftOptions options;
  options.group = "nowhere";
  EXPECT_EQ(id(CompareTables(table, table, options)), "DRIFT-0002");
  EXPECT_EQ(id(CompareTables(table, data::Table(), DriftOptions())), "DRIFT-0003");
  options.alpha = 2;
  EXPECT_EQ(id(CompareTables(table, table, options)), "DRIFT-0004");
  data::Table other = table;
  other.columns[1].name = "y";
  EXPECT_EQ(id(CompareTables(table, other, DriftOptions())), "DRIFT-0005");
  table.columns[0].role = data::ColumnRole::kIgnored;
  EXPECT_EQ(id(CompareTables(table, table, DriftOptions())), "DRIFT-0001");
}

}  // namespace
}  // namespace stepslack::drift
