#include "stepslack/study/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::study {
namespace {

SearchDimension Log(const char* key, double low, double high) {
  SearchDimension dimension;
  dimension.key = key;
  dimension.scale = SearchDimension::Scale::kLog;
  dimension.low = low;
  dimension.high = high;
  return dimension;
}

SearchDimension List(const char* key, std::vector<base::Json> values) {
  SearchDimension dimension;
  dimension.key = key;
  dimension.values = std::move(values);
  return dimension;
}

// Distance of lr to 0.03 in decades; the width does not matter.
double Loss(const Settings& values) {
  return std::abs(std::log10(values.at("lr").AsDouble() / 0.03));
}

std::vector<SearchStep> RunAll(Search& search, std::vector<double>& scores) {
  std::vector<SearchStep> all;
  for (auto steps = search.Next(scores); !steps.empty(); steps = search.Next(scores)) {
    for (const SearchStep& step : steps) {
      all.push_back(step);
      scores.push_back(Loss(step.values));
    }
  }
  return all;
}

TEST(Search, GridTakesEveryPointOnceLastDimensionFastest) {
  StudySearch search;
  search.space = {Log("lr", 0.01, 1), List("width", {8, 16})};
  search.space[0].grid = 3;
  std::vector<double> scores;
  Search grid(search, false);
  const auto steps = RunAll(grid, scores);
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_NEAR(steps[2].values.at("lr").AsDouble(), 0.1, 1e-12);
  EXPECT_EQ(steps[2].values.at("width").AsInt(), 8);
  EXPECT_EQ(steps[5].values.at("width").AsInt(), 16);
}

TEST(Search, AshaPromotesTheBestThirdAndTrainsItLonger) {
  StudySearch search;
  search.method = SearchMethod::kAsha;
  search.space = {Log("lr", 1e-4, 1)};
  search.trials = 9;
  search.resource = "epochs";
  search.most_resource = 9;
  std::vector<double> scores;
  Search asha(search, false);
  const auto steps = RunAll(asha, scores);
  std::map<int64_t, int> per_rung;
  for (const SearchStep& step : steps) {
    ++per_rung[step.rung];
    EXPECT_EQ(step.values.at("epochs").AsInt(), step.rung == 0   ? 1
                                                : step.rung == 1 ? 3
                                                                 : 9);
  }
  EXPECT_EQ(per_rung[0], 9);
  EXPECT_GE(per_rung[1], 3);
  EXPECT_GE(per_rung[2], 1);
}

// What a search that was killed after any number of results does next.
TEST(Search, GoesOnFromItsScoresAsIfItHadNeverStopped) {
  for (const SearchMethod method : {SearchMethod::kBayes, SearchMethod::kAsha,
                                    SearchMethod::kHyperband, SearchMethod::kRandom}) {
    StudySearch search;
    search.method = method;
    search.space = {Log("lr", 1e-4, 1), List("width", {8, 16, 32})};
    search.trials = 12;
    search.batch = 2;
    search.resource = "epochs";
    search.most_resource = 9;
    std::vector<double> scores, again;
    Search first(search, false), second(search, false);
    const auto a = RunAll(first, scores);
    const auto b = RunAll(second, again);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].config, b[i].config);
      EXPECT_EQ(Loss(a[i].values), Loss(b[i].values));
    }
  }
}

TEST(Search, ParzenPointsComeNearTheBestFasterThanChance) {
  StudySearch search;
  search.method = SearchMethod::kBayes;
  search.space = {Log("lr", 1e-6, 1)};
  search.trials = 40;
  std::vector<double> scores;
  Search bayes(search, false);
  RunAll(bayes, scores);
  // Of 20 random points on six decades, those within a quarter decade: 1.7 expected.
  const auto near = std::count_if(scores.end() - 20, scores.end(),
                                  [](double loss) { return loss < 0.25; });
  EXPECT_GE(near, 6);
}

TEST(Search, FailuresAreNeverPromoted) {
  StudySearch search;
  search.method = SearchMethod::kAsha;
  search.space = {Log("lr", 1e-4, 1)};
  search.trials = 6;
  search.resource = "epochs";
  search.most_resource = 9;
  Search asha(search, false);
  std::vector<double> scores;
  int64_t steps = 0;
  for (auto next = asha.Next(scores); !next.empty(); next = asha.Next(scores)) {
    for (const SearchStep& step : next) {
      EXPECT_EQ(step.rung, 0);
      scores.push_back(std::numeric_limits<double>::quiet_NaN());
      ++steps;
    }
  }
  EXPECT_EQ(steps, 6);
}

}  // namespace
}  // namespace stepslack::study
