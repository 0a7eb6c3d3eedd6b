#include "stepslack/review/review_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "stepslack/base/file.h"
#include "stepslack/review/metrics.h"

namespace stepslack::review {
namespace {

std::string ExampleText() {
  return base::ReadFile(std::string(std::getenv("STEPSLACK_SOURCE")) +
                        "/examples/irdrop/review.toml")
      .value();
}

// Loads the shipped example with `from` replaced by `to`.
base::Result<ReviewConfig> Changed(const std::string& from, const std::string& to) {
  std::string text = ExampleText();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  // Tests run in parallel processes: each its own file.
  const std::string path =
      testing::TempDir() + "/review_config_test." + std::to_string(getpid()) + ".toml";
  EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
  auto config = LoadReviewConfig(path);
  std::filesystem::remove(path);
  return config;
}

TEST(ReviewConfigTest, ShippedExamplesLoad) {
  for (const char* name : {"irdrop", "iccad23"}) {
    const auto config = LoadReviewConfig(std::string(std::getenv("STEPSLACK_SOURCE")) +
                                         "/examples/" + name + "/review.toml");
    ASSERT_TRUE(config.has_value()) << base::Describe(config.error());
    EXPECT_GE(config->requirements.size(), 8u);
    EXPECT_EQ(config->framing.owners.at("ML platform lead"), "ML for EDA team");
  }
}

TEST(ReviewConfigTest, RequirementTakesUnitAndCategoryFromTheMetric) {
  const auto config = Changed("title = \"Static", "title = \"Static");
  ASSERT_TRUE(config.has_value());
  for (const GatedRequirement& gated : config->requirements) {
    if (gated.requirement.id != "mae") continue;
    EXPECT_EQ(gated.requirement.unit, "mV");
    EXPECT_EQ(gated.category, "quality");
    EXPECT_EQ(gated.requirement.direction, base::Direction::kAtMost);
    EXPECT_EQ(gated.gate, "ship");
  }
  EXPECT_EQ(config->primary, "relative-mae");
}

struct BadCase {
  const char* from;
  const char* to;
  const char* id;
  const char* says;
};

// Test names must not hold addresses.
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.to; }

class BadConfigTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadConfigTest, IsRefusedWithPlaceAndNextStep) {
  const auto config = Changed(GetParam().from, GetParam().to);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().id, GetParam().id);
  EXPECT_NE(config.error().what.find(GetParam().says), std::string::npos)
      << config.error().what;
  EXPECT_NE(config.error().where.find(".toml:"), std::string::npos);
  EXPECT_FALSE(config.error().help.empty());
  EXPECT_EQ(config.error().exit_code, base::ExitCode::kUsage);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConfigTest,
    testing::Values(
        BadCase{"ranks = 2", "ranks = 0", "CONF-0003",
                "`ranks` must be a whole number"},
        BadCase{"seeds = [1, 2, 3]", "seeds = [1, 1, 2]", "CONF-0003",
                "different seeds"},
        BadCase{"seeds = [1, 2, 3]", "seeds = [-1, 2, 3]", "CONF-0003",
                "`-1` is no seed"},
        BadCase{"seeds = [1, 2, 3]", "seeds = []", "CONF-0003", "different seeds"},
        BadCase{"metric = \"mae_mv\"", "metric = \"mea_mv\"", "CONF-0003", "not known"},
        BadCase{"at_most = 10.0", "", "CONF-0003", "exactly one of"},
        BadCase{"at_most = 10.0", "at_most = nan", "CONF-0003", "`at_most`"},
        BadCase{"policy = \"by_group\"", "policy = \"by_luck\"", "CONF-0003",
                "by_luck"},
        BadCase{"families = 256", "familes = 256", "CONF-0002",
                "unknown key `familes`"},
        BadCase{"tile = 64", "tile = 65", "CONF-0003", "multiple of"},
        BadCase{"primary = \"relative-mae\"", "primary = \"x\"", "CONF-0003", "id `x`"},
        BadCase{"workflow = ", "workflows = ", "CONF-0004", "`workflow` is missing"},
        BadCase{"id = \"mae\"", "id = \"leak-free\"", "CONF-0003", "two requirements"},
        BadCase{"owner = \"ml_platform_lead\"", "owner = \"me\"", "CONF-0003",
                "`me`"}));

TEST(MetricsTest, NamesAreUniqueAndDescribed) {
  for (const MetricInfo& metric : Metrics()) {
    EXPECT_EQ(FindMetric(metric.name), &metric);
    EXPECT_FALSE(metric.meaning.empty());
  }
  EXPECT_EQ(FindMetric("nothing"), nullptr);
}

}  // namespace
}  // namespace stepslack::review
