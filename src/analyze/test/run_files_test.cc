#include "stepslack/analyze/run_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepslack/base/file.h"

namespace stepslack::analyze {
namespace {

constexpr const char* kLog =
    ":::MLLOG {\"time_ms\": 1000000, \"key\": \"submission_benchmark\", \"value\": "
    "\"resnet\", \"metadata\": {}}\n"
    ":::MLLOG {\"time_ms\": 1000000, \"key\": \"run_start\", \"value\": null, "
    "\"metadata\": {}}\n"
    ":::MLLOG {\"time_ms\": 1120000, \"key\": \"run_stop\", \"value\": null, "
    "\"metadata\": {\"status\": \"success\"}}\n";

constexpr const char* kSystem =
    "{\"number_of_nodes\": \"2\", \"accelerators_per_node\": \"4\"}";

void Write(const std::string& path, const std::string& text) {
  ASSERT_TRUE(base::WriteFileAtomic(path, text).has_value());
}

std::string Folder(const std::string& name) {
  return base::JoinPath(testing::TempDir(), "run_files_" + name);
}

TEST(RunFiles, DescriptionInAFolderSystemsAboveGivesTheWorldSize) {
  const std::string root = Folder("above");
  Write(root + "/systems/box.json", kSystem);
  Write(root + "/results/box/resnet/result_0.txt", kLog);
  Write(root + "/results/box/resnet/notes.md", "nothing to measure");
  const std::vector<std::string> paths = {root + "/results"};
  const auto files = ReadRunFiles(paths);
  ASSERT_TRUE(files.has_value());
  ASSERT_EQ(files->runs.size(), 1u);
  EXPECT_EQ(files->runs[0].world_size, 8);
  EXPECT_EQ(files->runs[0].system, "box");
  EXPECT_DOUBLE_EQ(files->runs[0].ttt_min.value(), 2);
  ASSERT_EQ(files->skipped.size(), 1u);
  EXPECT_EQ(files->skipped[0].reason,
            "neither a training log nor a system description");

  RunFileOptions options;
  options.look_beside = false;
  EXPECT_FALSE(ReadRunFiles(paths, options)->runs[0].world_size.has_value());
}

TEST(RunFiles, DescriptionAmongTheInputsIsUsedAndABrokenOneIsSkipped) {
  const std::string root = Folder("among");
  Write(root + "/box/resnet/result_0.txt", kLog);
  Write(root + "/v1__Acme__box.json", kSystem);
  Write(root + "/other.json", "{\"number_of_nodes\": \"many\"}");
  RunFileOptions options;
  options.look_beside = false;
  const auto files = ReadRunFiles(std::vector<std::string>{root}, options);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(files->runs.at(0).world_size, 8);
  EXPECT_EQ(files->runs.at(0).submitter, "Acme");
  ASSERT_EQ(files->skipped.size(), 1u);
  EXPECT_TRUE(files->skipped[0].name.ends_with("other.json"));
}

TEST(RunFiles, LogThatIsThereTwiceIsOneRun) {
  const std::string root = Folder("twice");
  Write(root + "/a.txt", kLog);
  Write(root + "/b.txt", kLog);
  const auto files = ReadRunFiles(std::vector<std::string>{root});
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(files->runs.size(), 1u);
  ASSERT_EQ(files->skipped.size(), 1u);
  EXPECT_EQ(files->skipped[0].reason, "the same log as " + root + "/a.txt");
}

TEST(RunFiles, InputsWithoutALogAreRefused) {
  const std::string root = Folder("none");
  Write(root + "/box.json", kSystem);
  const auto files = ReadRunFiles(std::vector<std::string>{root});
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().id, "ANL-0184");
}

}  // namespace
}  // namespace stepslack::analyze
