#include "stepslack/data/table_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TableSourceTest : public testing::Test {
 protected:
  TableSourceTest() {
    folder_ = testing::TempDir() + "table_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string Write(const std::string& name, std::string_view text) {
    const std::string path = base::JoinPath(folder_, name);
    EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
    return path;
  }
  static std::string ErrorOf(const std::string& path) {
    const auto table = ReadTable(path);
    return table.has_value() ? "" : base::Describe(table.error());
  }
  static std::vector<std::string> Texts(const Column& column) {
    std::vector<std::string> out;
    for (const uint32_t code : column.codes) out.push_back(column.texts[code]);
    return out;
  }
  std::string folder_;
};

TEST_F(TableSourceTest, KindsAreDecidedOverTheWholeColumnAndMissingHasItsReason) {
  const std::string path = Write(
      "a.csv",
      "\xEF\xBB\xBFid,family,x,y\r\n1,\"a,\"\"b\"\"\",ERR,1.5\r\nz,\"c\nd\",N/A,\r\n"
      "3,e,nan,-2e-3");
  const auto table = ReadTable(path, {.batch_rows = 2});
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_EQ(table->rows, 3);
  EXPECT_THAT(Texts(table->columns[0]), ElementsAre("1", "z", "3"));
  EXPECT_THAT(Texts(table->columns[1]), ElementsAre("a,\"b\"", "c\nd", "e"));
  EXPECT_THAT(table->columns[2].missing,
              ElementsAre(Missing::kFailed, Missing::kNotAvailable, Missing::kInvalid));
  EXPECT_TRUE(std::isnan(table->columns[2].numbers[0]));
  EXPECT_EQ(table->columns[3].numbers[2], -0.002);
  EXPECT_THAT(table->columns[3].missing,
              ElementsAre(Missing::kPresent, Missing::kEmpty, Missing::kPresent));
  EXPECT_EQ(table->columns[1].role, ColumnRole::kGroup);
  EXPECT_EQ(table->columns[3].role, ColumnRole::kLabel);
  EXPECT_THAT(table->notes,
              testing::Contains("id is text: its row 2 holds \"z\" after 1 numbers"));
}

TEST_F(TableSourceTest, GzipJsonAndLinesGiveTheSameTable) {
  const std::string csv = Write("a.csv.gz", base::Gzip("a,b.c\n1,x\n,y\n"));
  const std::string json =
      Write("a.json", R"({"rows":[{"a":1,"b":{"c":"x"}},{"b":{"c":"y"}}]})");
  const std::string lines =
      Write("a.jsonl", "{\"a\":1,\"b\":{\"c\":\"x\"}}\n\n{\"b\":{\"c\":\"y\"}}");
  for (const std::string& path : {csv, json, lines}) {
    const auto table = ReadTable(path);
    ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
    ASSERT_EQ(table->columns.size(), 2u);
    EXPECT_EQ(table->columns[0].numbers[0], 1);
    EXPECT_EQ(table->columns[0].missing[1], Missing::kEmpty);
    EXPECT_THAT(Texts(table->columns[1]), ElementsAre("x", "y"));
  }
}

TEST_F(TableSourceTest, RowsLongerThanOnePieceOfTheFileAreKept) {
  std::string text = "id,note\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + ",\"" + std::string(70000, 'a') + "\n\"\n";
  }
  const auto table = ReadTable(Write("a.csv", text), {.batch_rows = 7});
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_EQ(table->rows, 40);
  EXPECT_EQ(table->columns[0].numbers[39], 39);
  EXPECT_EQ(table->columns[1].texts.size(), 1u);
}

TEST_F(TableSourceTest, AFolderIsOneTableWithOneNumberingOfTexts) {
  Write("b.csv", "id,v\nq,1\np,2\n");
  Write("a.csv", "id,v\np,x\n");
  Write("note.txt", "no table");
  const auto table = ReadTable(folder_);
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_THAT(Texts(table->columns[0]), ElementsAre("p", "q", "p"));
  EXPECT_THAT(table->columns[0].codes, ElementsAre(0u, 1u, 0u));
  EXPECT_THAT(Texts(table->columns[1]), ElementsAre("x", "1", "2"));
}

TEST_F(TableSourceTest, MatricesKeepTheirValuesAndTakeNamesFromTheSidecar) {
  const float values[] = {1, 2, 3, NAN, 5, 6};
  ASSERT_TRUE(record::WriteNpy(folder_ + "/m.npy", {3, 2}, values).has_value());
  Write("m.columns.txt", "a\nb\n");
  const auto table = ReadTable(folder_ + "/m.npy", {.batch_rows = 2});
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_THAT(table->columns[0].numbers, ElementsAre(1, 3, 5));
  EXPECT_EQ(table->columns[1].name, "b");
  EXPECT_EQ(table->columns[1].missing[1], Missing::kInvalid);
  Write("m.columns.txt", "a\n");
  EXPECT_THAT(ErrorOf(folder_ + "/m.npy"), HasSubstr("DATA-0309"));
}

TEST_F(TableSourceTest, TheSchemaGivesRolesStagesCodesAndKinds) {
  Write("dataset.toml", R"(stages = ["k_", "gp_"]
decision = "k_"
[[columns]]
name = "gp_wl"
unit = "um"
role = "label"
missing = ["-1"]
[[columns]]
name = "k_*"
kind = "text"
)");
  const auto table = ReadTable(Write("a.csv", "k_UTIL,gp_wl\n7,-1\n"));
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_EQ(table->columns[0].kind, ColumnKind::kText);
  EXPECT_EQ(table->columns[0].stage, 0);
  EXPECT_EQ(table->columns[1].stage, 1);
  EXPECT_EQ(table->columns[1].unit, "um");
  EXPECT_EQ(table->columns[1].missing[0], Missing::kNotAvailable);
  Write("dataset.toml", "[[columns]]\nname = \"gp_w\"\n");
  EXPECT_THAT(ErrorOf(folder_ + "/a.csv"),
              testing::AllOf(HasSubstr("DATA-0316"), HasSubstr("gp_wl")));
  Write("dataset.toml", "decison = \"x\"\n");
  EXPECT_THAT(ErrorOf(folder_ + "/a.csv"),
              testing::AllOf(HasSubstr("CONF-0002"), HasSubstr("toml:1")));
}

TEST_F(TableSourceTest, BadFilesAreRefusedWithPlaceAndCount) {
  EXPECT_THAT(ErrorOf(folder_ + "/absent.csv"), HasSubstr("DATA-0300"));
  EXPECT_THAT(ErrorOf(Write("cut.csv.gz", base::Gzip("a,b\n1,2\n").substr(0, 20))),
              HasSubstr("DATA-0301"));
  EXPECT_THAT(ErrorOf(Write("empty.csv", "")), HasSubstr("DATA-0302"));
  EXPECT_THAT(ErrorOf(Write("twice.csv", "a,a\n")), HasSubstr("DATA-0303"));
  EXPECT_THAT(ErrorOf(Write("ragged.csv", "a,b\n1,2\n1\n1,2,3\n")),
              testing::AllOf(HasSubstr("DATA-0304"), HasSubstr("ragged.csv:3"),
                             HasSubstr("2 rows")));
  EXPECT_THAT(ErrorOf(Write("quote.csv", "a,b\n1,\"2\n")), HasSubstr("DATA-0305"));
  EXPECT_THAT(ErrorOf(Write("a.json", "3")), HasSubstr("DATA-0306"));
  EXPECT_THAT(ErrorOf(Write("a.jsonl", "{\"a\":1}\n3\n")),
              testing::AllOf(HasSubstr("DATA-0307"), HasSubstr("a.jsonl:2")));
  EXPECT_THAT(ErrorOf(Write("a.xyz", "1")), HasSubstr("DATA-0315"));
}

TEST_F(TableSourceTest, BadFoldersAreRefused) {
  EXPECT_THAT(ErrorOf(folder_), HasSubstr("DATA-0311"));
  Write("a.csv", "a,b\n1,2\n");
  Write("b.csv", "a,c\n1,2\n");
  EXPECT_THAT(ErrorOf(folder_),
              testing::AllOf(HasSubstr("DATA-0312"), HasSubstr("b.csv")));
  std::filesystem::create_symlink("loop.csv", folder_ + "/loop.csv");
  EXPECT_THAT(ErrorOf(folder_), HasSubstr("DATA-0313"));
  std::filesystem::remove(folder_ + "/loop.csv");
  Write("x\xff.csv", "a,b\n");
  EXPECT_THAT(ErrorOf(folder_), HasSubstr("DATA-0314"));
}

}  // namespace
}  // namespace stepslack::data
