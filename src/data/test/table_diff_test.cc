#include "stepslack/data/table_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stepslack/base/file.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Table Read(const std::string& name, std::string_view text) {
  const std::string path = testing::TempDir() + "table_diff/" + name;
  EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
  auto table = ReadTable(path);
  EXPECT_TRUE(table.has_value()) << base::Describe(table.error());
  return std::move(*table);
}

TEST(TableDiffTest, RowsAreMatchedByTheirKeyInAnyOrder) {
  const Table a = Read("a.csv", "id,x,t\n1,2.5,a\n2,3,b\n3,,c\n4,1,d\n");
  const Table b = Read("b.csv", "id,x,t\n4,1,d\n3,7,c\n1,2500,a\n5,1,e\n");
  const auto diff = DiffTables(a, b);
  ASSERT_TRUE(diff.has_value()) << base::Describe(diff.error());
  EXPECT_EQ(diff->key, "id");
  EXPECT_THAT(diff->schema, IsEmpty());
  EXPECT_THAT(diff->added_examples, ElementsAre("5"));
  EXPECT_THAT(diff->removed_examples, ElementsAre("2"));
  EXPECT_EQ(diff->changed, 2);
  EXPECT_EQ(diff->equal, 1);
  ASSERT_EQ(diff->columns.size(), 1u);
  EXPECT_EQ(diff->columns[0].changed, 2);
  EXPECT_EQ(diff->columns[0].largest, 2497.5);
  EXPECT_EQ(diff->columns[0].filled, 1);
  EXPECT_EQ(diff->columns[0].example, "1: 2.5 -> 2500");
  EXPECT_FALSE(diff->same());
  EXPECT_TRUE(DiffTables(a, a)->same());
}

TEST(TableDiffTest, WithoutAKeyContentIsCountedWithItsMultiplicity) {
  const Table a = Read("a.csv", "x,t\n1,a\n1,a\n2,b\n");
  const Table b = Read("b.csv", "x,t\n2,b\n1,a\n3,c\n");
  const auto diff = DiffTables(a, b);
  EXPECT_EQ(diff->key, "");
  EXPECT_EQ(diff->equal, 2);
  EXPECT_THAT(diff->added_examples, ElementsAre("row 2"));
  EXPECT_THAT(diff->removed_examples, ElementsAre("row 1"));
}

TEST(TableDiffTest, SchemasAreComparedByName) {
  const Table a = Read("a.csv", "id,x,y_label,old\n1,1,1,1\n");
  const Table b = Read("b.csv", "id,y_label,x,new\n1,1,z,1\n");
  const auto diff = DiffTables(a, b);
  EXPECT_THAT(
      diff->schema,
      ElementsAre("column new is new", "kind of x was \"number\" and is \"text\"",
                  "column old is gone", "the order of the columns differs"));
  EXPECT_EQ(diff->changed, 1);
  EXPECT_EQ(DiffTables(a, b, "z").error().id, "DATA-0340");
  EXPECT_EQ(DiffTables(a, a, "id,x")->key, "id,x");
  EXPECT_EQ(DiffTables(a, a, "id,x")->equal, 1);
  const Table twice = Read("c.csv", "id,x\n1,1\n1,2\n");
  EXPECT_EQ(DiffTables(a, twice).error().id, "DATA-0341");
}

}  // namespace
}  // namespace stepslack::data
