#include "stepslack/study/comm_bench.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::study {
namespace {

// Real processes, scripted: how they are started does not depend on who measures.
class CommBenchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/commbenchXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    context_.progress = &progress_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  CommBenchRequest Script(const std::string& body) {
    CommBenchRequest request;
    request.worker = folder_ + "/worker.sh";
    request.folder = folder_;
    request.ranks = 3;
    request.backends = {"shm", "gloo"};
    EXPECT_TRUE(
        base::WriteFileAtomic(request.worker, "#!/bin/sh\n" + body).has_value());
    chmod(request.worker.c_str(), 0755);
    return request;
  }

  std::string folder_;
  base::Progress progress_{base::Progress::Mode::kQuiet};
  base::Context context_;
};

TEST_F(CommBenchTest, EveryRankIsToldWhoItIsAndWhatToMeasure) {
  // bench-comm --backends shm,gloo --bytes 8,4096 --out FILE
  auto request = Script(
      "[ \"$1 $3 $5\" = 'bench-comm shm,gloo 8,4096' ] || exit 9\n"
      "touch $(dirname $0)/rank$STEPSLACK_RANK.of$STEPSLACK_WORLD_SIZE\n"
      "[ $STEPSLACK_RANK = 0 ] && echo '{\"ranks\": 3}' > $7\nexit 0\n");
  request.bytes = {8, 4096};
  const auto table = MeasureCommunication(request, context_);
  ASSERT_TRUE(table.has_value()) << Describe(table.error());
  EXPECT_EQ((*table)["ranks"].AsInt(), 3);
  for (const char* rank : {"0", "1", "2"}) {
    EXPECT_TRUE(base::PathExists(folder_ + "/rank" + rank + ".of3")) << rank;
  }
}

TEST_F(CommBenchTest, ARankThatFailsIsQuotedAndAHangEnds) {
  auto request = Script(
      "[ $STEPSLACK_RANK = 1 ] && { echo 'error[COMM-0004]: alone' >&2; exit 4; }\n"
      "sleep 60\n");
  const auto failed = MeasureCommunication(request, context_);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().id, "COMM-0060");
  EXPECT_NE(failed.error().what.find("error[COMM-0004]: alone"), std::string::npos)
      << failed.error().what;
  request = Script("sleep 60\n");
  request.limit_seconds = 0.2;
  const auto slow = MeasureCommunication(request, context_);
  ASSERT_FALSE(slow.has_value());
  EXPECT_EQ(slow.error().id, "COMM-0061");
}

TEST_F(CommBenchTest, TextHasBusBandwidthAndTheShareOfTheMemcpyBound) {
  // 2 ranks, 1 MiB in 100 us: 2 (2 - 1) / 2 x 1048576 B / 100 us = 10.49 GB/s.
  const auto table = base::ParseJson(
      R"({"ranks": 2, "hardware": "h", "curves": [
        {"backend": "shm", "algorithm": "direct", "collective": "all_reduce",
         "points": [{"bytes": 1048576, "min_us": 90, "p10_us": 100,
                     "median_us": 110}],
         "fit": {"alpha_us": 1.5, "us_per_byte": 0.0001, "worst_ratio": 1.2}},
        {"backend": "memcpy", "algorithm": "", "collective": "all_reduce",
         "points": [{"bytes": 1048576, "min_us": 70, "p10_us": 80,
                     "median_us": 81}], "fit": {}}]})",
      "table");
  ASSERT_TRUE(table.has_value());
  const std::string text = CommBenchText(*table);
  EXPECT_NE(text.find("1 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("10.49"), std::string::npos) << text;
  EXPECT_NE(text.find("1.25 x"), std::string::npos) << text;
  // 0.0001 us a byte is 102.4 ns a KiB.
  EXPECT_NE(text.find("102.40"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepslack::study
