#include "stepslack/base/config.h"

#include <gtest/gtest.h>

namespace stepslack::base {
namespace {

ConfigTable Parse(std::string_view text) {
  auto table = ConfigTable::Parse(text, "review.toml");
  EXPECT_TRUE(table.has_value());
  return std::move(*table);
}

TEST(ConfigTest, UnknownKeyIsRefusedWithLineAndSuggestion) {
  ConfigTable table = Parse("title = \"a\"\n[train]\nrnaks = 2\n");
  table.String("title");
  table.Table("train").Int("ranks", 1, 1, 64);
  const Status status = table.Finish();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().id, "CONF-0002");
  EXPECT_EQ(status.error().where, "review.toml:3");
  EXPECT_EQ(status.error().help, "did you mean `ranks`?");
  EXPECT_EQ(status.error().exit_code, ExitCode::kUsage);
}

TEST(ConfigTest, UnknownTableIsRefused) {
  ConfigTable table = Parse("[trian]\nranks = 2\n");
  table.Table("train");
  EXPECT_EQ(table.Finish().error().id, "CONF-0002");
}

TEST(ConfigTest, SyntaxErrorNamesTheLine) {
  const auto table = ConfigTable::Parse("a = 1\nb = = 2\n", "x.toml");
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().where, "x.toml:2");
}

TEST(ConfigTest, WrongTypeAndOutOfRangeAreRefused) {
  ConfigTable table = Parse("ranks = \"two\"\n");
  table.Int("ranks", 1, 1, 64);
  EXPECT_EQ(table.Finish().error().id, "CONF-0003");
  ConfigTable zero = Parse("ranks = 0\n");
  zero.Int("ranks", 1, 1, 64);
  EXPECT_EQ(zero.Finish().error().what, "`ranks` must be a whole number from 1 to 64");
  ConfigTable nan = Parse("lr = nan\n");
  nan.Double("lr", 1.0, 0, 10);
  EXPECT_EQ(nan.Finish().error().id, "CONF-0003");
}

TEST(ConfigTest, MissingKeyWithoutFallbackIsRefused) {
  ConfigTable table = Parse("");
  table.String("title");
  EXPECT_EQ(table.Finish().error().id, "CONF-0004");
}

TEST(ConfigTest, ReadsListsAndTablesInOrder) {
  ConfigTable table = Parse(
      "seeds = [1, 2]\n[[requirement]]\nid = \"a\"\n[[requirement]]\nid = \"b\"\n");
  EXPECT_EQ(table.Doubles("seeds"), (std::vector<double>{1, 2}));
  const auto requirements = table.Tables("requirement");
  ASSERT_EQ(requirements.size(), 2u);
  EXPECT_EQ(requirements[1]->String("id"), "b");
  requirements[0]->String("id");
  EXPECT_TRUE(table.Finish().has_value());
}

}  // namespace
}  // namespace stepslack::base
