#include "stepslack/quality/recipe_choice.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepslack::quality {
namespace {

data::Column Text(const std::string& name, data::ColumnRole role) {
  data::Column column;
  column.name = name;
  column.kind = data::ColumnKind::kText;
  column.role = role;
  return column;
}

void Put(data::Column& column, const std::string& text) {
  size_t code = 0;
  while (code < column.texts.size() && column.texts[code] != text) ++code;
  if (code == column.texts.size()) column.texts.push_back(text);
  column.codes.push_back(static_cast<uint32_t>(code));
}

// Families of four designs: recipe "b" costs 1.2 always, "a" 1.0 on the small ones and
// 1.6 on the large.
data::Table Designs(int families) {
  data::Table table;
  auto family = Text("family", data::ColumnRole::kGroup);
  auto design = Text("design", data::ColumnRole::kGroup);
  auto recipe = Text("recipe", data::ColumnRole::kFeature);
  data::Column size{.name = "size"};
  data::Column cost{.name = "wc_delay", .role = data::ColumnRole::kLabel};
  for (int f = 0; f < families; ++f) {
    for (int d = 0; d < 4; ++d) {
      for (const char* name : {"a", "b"}) {
        Put(family, "f" + std::to_string(f));
        Put(design, "f" + std::to_string(f) + "d" + std::to_string(d));
        Put(recipe, name);
        size.numbers.push_back(d);
        const bool a = name[0] == 'a';
        cost.numbers.push_back(a ? (d < 2 ? 1.0 : 1.6) : 1.2);
        ++table.rows;
      }
    }
  }
  table.columns = {family, design, recipe, size, cost};
  return table;
}

TEST(RecipeChoice, ModelThatGeneralisesHasNoRegretAndFixedOnesTheirOwn) {
  const auto report = CompareRecipeChoice(Designs(10), {});
  ASSERT_TRUE(report.has_value()) << base::Describe(report.error());
  EXPECT_EQ(report->designs, 40);
  // By hand: b costs 1.2 / 1.0 - 1 on half of the designs; a 1.6 / 1.2 - 1 on half.
  ASSERT_EQ(report->fixed.size(), 2);
  EXPECT_EQ(report->fixed[0].name, "b");
  EXPECT_NEAR(*report->fixed[0].regret.value, 0.1, 1e-12);
  EXPECT_NEAR(*report->fixed[1].regret.value, 1.0 / 6, 1e-12);
  for (const ChoiceSplit& split : report->splits) {
    EXPECT_NEAR(*split.regret.value, 0, 1e-12) << split.name;
  }
  EXPECT_EQ(report->verdict, "use the model");
}

TEST(RecipeChoice, CountsDesignsThatLackAChoice) {
  data::Table table = Designs(10);
  table.Find("wc_delay")->numbers[0] = std::numeric_limits<double>::quiet_NaN();
  const auto report = CompareRecipeChoice(table, {});
  ASSERT_TRUE(report.has_value()) << base::Describe(report.error());
  EXPECT_EQ(report->left_out_designs, 1);
  EXPECT_EQ(report->left_out, 2);
}

TEST(RecipeChoice, RefusesFewFamiliesAndUnknownColumns) {
  const auto few = CompareRecipeChoice(Designs(3), {});
  ASSERT_FALSE(few.has_value());
  EXPECT_EQ(few.error().id, "QUAL-0101");
  const auto unknown = CompareRecipeChoice(Designs(10), {.minimise = "power"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().id, "QUAL-0100");
}

}  // namespace
}  // namespace stepslack::quality
