#include "stepslack/data/table_clean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "stepslack/base/file.h"
#include "stepslack/data/table_source.h"
#include "stepslack/data/table_stages.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TableCleanTest : public testing::Test {
 protected:
  TableCleanTest() {
    folder_ = testing::TempDir() + "table_clean_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  std::string Put(const std::string& name, std::string_view text) {
    const std::string path = base::JoinPath(folder_, name);
    EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
    return path;
  }
  base::Result<TableCleaning> Clean(std::string_view csv, std::string_view rules) {
    const auto table = ReadTable(Put("t.csv", csv));
    EXPECT_TRUE(table.has_value()) << base::Describe(table.error());
    SS_TRY(const auto parsed, ParseRules(rules, "rules.toml"));
    return CleanTable(*table, parsed);
  }
  std::string folder_;
};

TEST_F(TableCleanTest, EveryRuleCountsWhatItTouches) {
  const auto cleaning =
      Clean("id,u,x\na,u_1,1\nb,u_2,-1\nb,v_3,9\nc,u_4,ERR\nd,,2\n",
            "[[rule]]\nkind=\"range\"\ncolumn=\"x\"\nlow=0.0\nhigh=5.0\n"
            "[[rule]]\nkind=\"not_null\"\ncolumn=\"x\"\n"
            "[[rule]]\nkind=\"unique\"\ncolumn=\"id\"\n"
            "[[rule]]\nkind=\"matches\"\ncolumn=\"u\"\npattern=\"u_*\"\n");
  ASSERT_TRUE(cleaning.has_value()) << base::Describe(cleaning.error());
  EXPECT_THAT(cleaning->rules[0].examples,
              ElementsAre("row 1: -1 (too low)", "row 2: 9 (too high)"));
  EXPECT_THAT(cleaning->rules[1].examples, ElementsAre("row 3: ERR (failed)"));
  EXPECT_THAT(cleaning->rules[2].examples, ElementsAre("row 2: b (as row 1)"));
  EXPECT_THAT(cleaning->rules[3].examples, ElementsAre("row 2: v_3"));
  EXPECT_THAT(cleaning->kept, ElementsAre(0, 4));
  EXPECT_THAT(cleaning->broken,
              ElementsAre("range:x", "range:x;unique:id;matches:u", "not_null:x"));
}

TEST_F(TableCleanTest, APowerOfAThousandIsNamedAndAWideColumnIsNot) {
  Put("dataset.toml", "[[columns]]\nname=\"d\"\nunit=\"ns\"\n");
  std::string csv = "d,wide\n";
  for (int i = 0; i < 20; ++i) {
    csv +=
        std::to_string(2 + i % 5) + "," + std::to_string(1LL << (2 * (i % 20))) + "\n";
  }
  const auto cleaning = Clean(csv + "4100,5\n0.003,5\n",
                              "[[rule]]\nkind=\"unit_jump\"\ncolumn=\"d\"\n"
                              "[[rule]]\nkind=\"unit_jump\"\ncolumn=\"wide\"\n");
  ASSERT_TRUE(cleaning.has_value()) << base::Describe(cleaning.error());
  EXPECT_THAT(cleaning->rules[0].examples,
              ElementsAre("row 20: 4100 (x1000: ps for ns?)",
                          "row 21: 0.003 (x0.001: us for ns?)"));
  EXPECT_EQ(cleaning->rules[1].count, 0);
  EXPECT_EQ(NameUnitJump(3, "um"), "x1000: nm or dbu for um?");
  EXPECT_EQ(NameUnitJump(-3, "mV"), "x0.001: V for mV?");
  EXPECT_EQ(NameUnitJump(6, ""), "x1000000: a smaller unit?");
}

TEST_F(TableCleanTest, EqualFeaturesWithDifferentLabelsAreAConflict) {
  const auto cleaning = Clean("a,b,label\n1,x,0\n1,x,1\n1,y,0\n1,y,0\n2,x,\n2,x,1\n",
                              "[[rule]]\nkind=\"conflict\"\ncolumn=\"label\"\n");
  ASSERT_TRUE(cleaning.has_value()) << base::Describe(cleaning.error());
  EXPECT_THAT(cleaning->quarantined, ElementsAre(0, 1));
}

TEST_F(TableCleanTest, WrongRulesAreRefused) {
  const auto id = [&](std::string_view rules) {
    const auto cleaning = Clean("x,t\n1,a\n", rules);
    return cleaning.has_value() ? "" : cleaning.error().id;
  };
  EXPECT_EQ(id(""), "DATA-0350");
  EXPECT_EQ(id("[[rule]]\nkind=\"range\"\ncolumn=\"x\"\n"), "DATA-0350");
  EXPECT_EQ(id("[[rule]]\nkind=\"range\"\ncolumn=\"t\"\nlow=1.0\n"), "DATA-0351");
  EXPECT_EQ(id("[[rule]]\nkind=\"not_null\"\ncolumn=\"z\"\n"), "DATA-0340");
  EXPECT_EQ(id("[[rule]]\nkind=\"notnull\"\ncolumn=\"x\"\n"), "CONF-0003");
  EXPECT_EQ(id("[[rule]]\nkind=\"not_null\"\ncolumn=\"x\"\nlo=1\n"), "CONF-0002");
}

TEST_F(TableCleanTest, StagesAreRebuiltAndTheFirstOneThatDiffersIsNamed) {
  const std::string raw = Put("raw/a.csv", "id,x\n1,\"a,b\"\n2,\n3,c\n");
  const std::string rules =
      Put("rules.toml", "[[rule]]\nkind=\"not_null\"\ncolumn=\"x\"\n");
  const std::string one = folder_ + "/one", two = folder_ + "/two";
  const auto table =
      IngestTable({.path = raw, .schema = "", .out = one, .version = "1"});
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  const auto cleaning =
      CleanTableFile({.path = one, .schema = "", .out = two, .version = "1"}, rules);
  ASSERT_TRUE(cleaning.has_value()) << base::Describe(cleaning.error());
  EXPECT_EQ(*base::ReadFile(two + "/clean.csv"), "id,x\n1,\"a,b\"\n3,c\n");
  EXPECT_EQ(*base::ReadFile(two + "/quarantine.csv"), "id,x,rules\n2,,not_null:x\n");
  EXPECT_EQ(ReadTable(two)->rows, 2);
  const auto same = RebuildLineage(two);
  ASSERT_TRUE(same.has_value()) << base::Describe(same.error());
  ASSERT_EQ(same->stages.size(), 2u);
  EXPECT_EQ(same->first_different, "");
  Put("two/clean.csv", "id,x\n");
  EXPECT_THAT(RebuildLineage(two)->stages[1].reason, HasSubstr("clean.csv"));
  Put("raw/a.csv", "id,x\n1,\"a,b\"\n2,\n3,d\n");
  EXPECT_EQ(RebuildLineage(two)->first_different, "ingest");
  EXPECT_EQ(RebuildLineage(two)->stages[0].reason, "a.csv has changed");
  EXPECT_EQ(
      IngestTable({.path = raw, .schema = "", .out = one, .version = "1"}).error().id,
      "DATA-0352");
}

}  // namespace
}  // namespace stepslack::data
