// Known answers of reference tables that lie outside of the project.
#include <gtest/gtest.h>

#include <cstdlib>

#include "stepslack/base/file.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {
namespace {

std::string SharedFile(const std::string& name) {
  const char* shared = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string root = shared != nullptr   ? shared
                           : source != nullptr ? std::string(source) + "/../shared"
                                               : "/absent";
  return root + "/data/vlsi/" + name;
}

TEST(FlowRuns, HaveTheCountedCleanAndDirtyRuns) {
  const std::string path = SharedFile("metrics21-openroad/runs.csv.gz");
  if (!base::PathExists(path)) GTEST_SKIP() << "the flow runs are not here";
  const auto table = ReadTable(path);
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_EQ(table->rows, 15040);
  const Column* drc = table->Find("dr_drc");
  ASSERT_NE(drc, nullptr);
  int64_t clean = 0, dirty = 0;
  for (const double value : drc->numbers) {
    if (value == 0) ++clean;
    if (value > 0) ++dirty;
  }
  EXPECT_EQ(clean, 5403 + 441 + 692 + 252 + 463);
  EXPECT_EQ(dirty, 843 + 41);
}

TEST(QorTables, AFolderOfBothTechnologiesIsOneTable) {
  const std::string path = SharedFile("own-qor");
  if (!base::PathExists(path)) GTEST_SKIP() << "the tables are not here";
  const auto table = ReadTable(path, {.batch_rows = 999});
  ASSERT_TRUE(table.has_value()) << base::Describe(table.error());
  EXPECT_EQ(table->rows, 2 * 1470);
  EXPECT_EQ(table->Find("design")->texts.size(), 105u);
  EXPECT_EQ(table->Find("family")->texts.size(), 18u);
  EXPECT_EQ(table->Find("recipe")->texts.size(), 14u);
}

}  // namespace
}  // namespace stepslack::data
