// Dumps of two jobs with faults injected into known ranks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "stepslack/analyze/hang_analysis.h"
#include "stepslack/base/file.h"
#include "stepslack/trace/flight_recorder.h"

namespace stepslack::analyze {
namespace {

std::string SetFolder(const std::string& set) {
  const char* given = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  std::string shared = given != nullptr ? given : "";
  if (shared.empty() && source != nullptr) {
    shared = base::JoinPath(base::ParentFolder(source), "shared");
  }
  return base::JoinPath(shared, "data/traces/flight_recorder/" + set);
}

class HangReference : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = SetFolder(GetParam());
    if (!base::PathExists(path)) GTEST_SKIP() << "no reference dumps at " << path;
    auto folder = trace::ReadFlightRecorderFolder(path);
    ASSERT_TRUE(folder.has_value()) << base::Describe(folder.error());
    folder_ = *std::move(folder);
  }
  trace::FlightFolder folder_;
};

TEST_P(HangReference, ReadsAllDumpsAndSkipsTheNotes) {
  ASSERT_EQ(folder_.dumps.size(), 16u);
  EXPECT_EQ(folder_.skipped,
            (std::vector<std::string>{"fault_injection.log", "nvrx_reference.txt"}));
  for (size_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(folder_.dumps[rank].rank, static_cast<int32_t>(rank));
    EXPECT_EQ(folder_.dumps[rank].version, "2.9");
    EXPECT_TRUE(folder_.dumps[rank].stats.counts().empty());
  }
}

TEST_P(HangReference, BlamesTheRanksThatTheFaultWasInjectedInto) {
  const auto analysis = AnalyzeHang(folder_.dumps);
  ASSERT_TRUE(analysis.has_value());
  EXPECT_EQ(analysis->verdict, HangVerdict::kFound) << analysis->reason;
  EXPECT_EQ(analysis->culprits, (std::vector<int32_t>{9, 14})) << analysis->reason;
  EXPECT_TRUE(analysis->suspects.empty());
  EXPECT_TRUE(analysis->missing_dumps.empty());
  EXPECT_EQ(analysis->victims,
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 15}));
}

// nvrx_reference.txt: 72, EXPERT_MODEL_PARALLEL_GROUP, nccl:all_to_all, 2048x5120,
// BFloat16, 9,14.
TEST_P(HangReference, FirstFindingIsTheOneOfTheReferenceAnalyser) {
  const auto analysis = AnalyzeHang(folder_.dumps);
  ASSERT_TRUE(analysis.has_value());
  ASSERT_FALSE(analysis->findings.empty());
  const HangFinding& first = analysis->findings.front();
  EXPECT_EQ(first.kind, HangKind::kMissingRank);
  EXPECT_EQ(first.group, "72") << first.evidence;
  EXPECT_EQ(first.group_description, "EXPERT_MODEL_PARALLEL_GROUP");
  EXPECT_EQ(first.operation, "all_to_all");
  EXPECT_EQ(first.sizes, "2048x5120");
  EXPECT_EQ(first.dtypes, "BFloat16");
  EXPECT_EQ(first.ranks, (std::vector<int32_t>{9, 14}));
  EXPECT_EQ(first.others, (std::vector<int32_t>{8, 10, 11, 12, 13, 15}));
  EXPECT_TRUE(first.root);
}

TEST_P(HangReference, AbstainsWhenTheDumpOfACulpritIsMissing) {
  std::vector<trace::FlightDump> dumps = folder_.dumps;
  dumps.erase(dumps.begin() + 9);
  const auto analysis = AnalyzeHang(dumps);
  ASSERT_TRUE(analysis.has_value());
  EXPECT_EQ(analysis->verdict, HangVerdict::kUndetermined);
  EXPECT_TRUE(analysis->culprits.empty());
  EXPECT_EQ(analysis->suspects, (std::vector<int32_t>{9, 14}));
  EXPECT_EQ(analysis->missing_dumps, (std::vector<int32_t>{9}));
}

INSTANTIATE_TEST_SUITE_P(Sets, HangReference,
                         testing::Values("gpu_error_2nd", "lock_gil_1st"),
                         [](const testing::TestParamInfo<const char*>& tested) {
                           return std::string(tested.param);
                         });

}  // namespace
}  // namespace stepslack::analyze
