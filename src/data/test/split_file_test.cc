#include "stepslack/data/split_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;

std::string Put(const std::string& name, std::string_view text) {
  const std::string path = testing::TempDir() + "split_file/" + name;
  EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
  return path;
}

TEST(SplitFileTest, CsvJsonAndListsSayTheSame) {
  Put("lists/train_N1.txt.gz", base::Gzip("a\nb\n"));
  Put("lists/test_N1.txt", "c\n");
  const std::string csv =
      Put("s.csv", "id,part,fold\na,train,0\nc,test,0\nb,train,0\n");
  const std::string json =
      Put("s.json", R"({"seed":3,"parts":{"train":["a","b"],"test":["c"]}})");
  for (const auto& path : {csv, json, testing::TempDir() + "split_file/lists"}) {
    const auto split = ReadSplitFile(path);
    ASSERT_TRUE(split.has_value()) << base::Describe(split.error());
    EXPECT_THAT(split->parts.at("train"), ElementsAre("a", "b"));
    EXPECT_THAT(split->parts.at("test"), ElementsAre("c"));
  }
}

TEST(SplitFileTest, WrongFilesAreRefused) {
  const auto id = [](std::string_view text) {
    const auto split = ReadSplitFile(Put("bad.csv", text));
    return split.has_value() ? "" : split.error().id;
  };
  EXPECT_EQ(id("a,b\n1,train\n"), "DATA-0330");
  EXPECT_EQ(id("id,part\n1,trian\n"), "DATA-0331");
  EXPECT_EQ(id("id,part\n1,train\n1,test\n"), "DATA-0332");
  EXPECT_EQ(id("id,part\n1,train\n"), "DATA-0333");
}

}  // namespace
}  // namespace stepslack::data
