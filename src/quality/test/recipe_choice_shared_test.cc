// Known answers of the reference synthesis data set, outside of the project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "stepslack/eda/qor_table.h"
#include "stepslack/quality/recipe_choice.h"

namespace stepslack::quality {
namespace {

// Reference: scikit-learn's boosted trees, other folds. MAPE .076 / .168 / .284, regret
// .074 / .065 / .125, fixed delay .100 and default .183, coverage 57 %.
TEST(RecipeChoiceKnownAnswers, SplitChangesTheDecision) {
  const char* shared = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string root = shared != nullptr   ? shared
                           : source != nullptr ? std::string(source) + "/../shared"
                                               : "../shared";
  const std::string file = root + "/data/vlsi/own-qor/qor_osu035.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no reference table " << file;
  const auto table = eda::ReadQorTable(file);
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  const auto report = CompareRecipeChoice(*table, {.threads = 2});
  ASSERT_TRUE(report.has_value()) << base::Describe(report.error());
  EXPECT_EQ(report->rows, 1470);
  EXPECT_EQ(report->families, 18);
  ASSERT_EQ(report->splits.size(), 3);
  // The learner and the folds differ from the reference's, so that only the fixed
  // recipes agree exactly; the others within what other folds change.
  EXPECT_NEAR(report->splits[0].mape, 0.076, 0.03);
  EXPECT_NEAR(report->splits[1].mape, 0.168, 0.04);
  EXPECT_NEAR(report->splits[2].mape, 0.284, 0.08);
  EXPECT_EQ(report->fixed[0].name, "delay");
  EXPECT_NEAR(*report->fixed[0].regret.value, 0.100, 0.0006);
  EXPECT_NEAR(*report->splits[2].regret.value, 0.125, 0.05);
  EXPECT_LT(*report->splits[2].coverage.value, 0.75);
  EXPECT_EQ(report->verdict, "keep the fixed recipe delay");
}

}  // namespace
}  // namespace stepslack::quality
