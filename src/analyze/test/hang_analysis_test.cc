// Made-up jobs with a known cause. Group "0" has all ranks, "1" ranks 0 and 1, "2"
// ranks 2 and 3, "3" ranks 1 and 2.
#include "stepslack/analyze/hang_analysis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepslack::analyze {
namespace {

using trace::FlightDump;
using trace::FlightEntry;
using trace::FlightState;
using Ranks = std::vector<int32_t>;

class Job {
 public:
  explicit Job(int32_t ranks) : dumps_(static_cast<size_t>(ranks)) {
    for (int32_t rank = 0; rank < ranks; ++rank) {
      dumps_[static_cast<size_t>(rank)].rank = rank;
    }
  }

  Job& Group(const std::string& name, const Ranks& ranks) {
    for (const int32_t rank : ranks) {
      Dump(rank).groups[name] = {.name = name, .description = "", .ranks = ranks};
    }
    return *this;
  }
  FlightEntry& Enter(int32_t rank, const std::string& group, int64_t sequence,
                     const std::string& operation = "all_reduce") {
    FlightEntry& entry = Dump(rank).entries.emplace_back();
    entry.group_name = group;
    entry.pg_id = group[0] - '0';
    entry.collective_seq_id = sequence;
    entry.operation = operation;
    entry.state = FlightState::kScheduled;
    entry.input_sizes = entry.output_sizes = {{128, 4}};
    entry.input_dtypes = entry.output_dtypes = {"Float"};
    entry.record_id = clock_;
    entry.time_created_ns = 1000 + clock_++;
    return entry;
  }
  void EnterAll(const Ranks& ranks, const std::string& group, int64_t sequence,
                const std::string& operation = "all_reduce") {
    for (const int32_t rank : ranks) Enter(rank, group, sequence, operation);
  }
  void Complete(int32_t rank, const std::string& group, int64_t sequence) {
    Enter(rank, group, sequence).state = FlightState::kCompleted;
  }
  FlightEntry& P2p(int32_t rank, const std::string& group, int64_t sequence,
                   const std::string& operation) {
    FlightEntry& entry = Enter(rank, group, 0, operation);
    entry.is_p2p = true;
    entry.p2p_seq_id = sequence;
    return entry;
  }
  void Lose(int32_t rank) { dumps_.erase(dumps_.begin() + rank); }
  FlightDump& Dump(int32_t rank) { return dumps_[static_cast<size_t>(rank)]; }

  HangAnalysis Analyze(const HangOptions& options = {}) const {
    const auto analysis = AnalyzeHang(dumps_, options);
    EXPECT_TRUE(analysis.has_value());
    return analysis.value_or(HangAnalysis{});
  }
  base::Result<HangAnalysis> Try() const { return AnalyzeHang(dumps_); }

 private:
  std::vector<FlightDump> dumps_;
  int64_t clock_ = 0;
};

TEST(HangAnalysis, NamesTheRankThatDidNotEnterTheCollective) {
  Job job(4);
  job.Group("0", {0, 1, 2, 3});
  for (int32_t rank = 0; rank < 4; ++rank) job.Complete(rank, "0", 7);
  job.EnterAll({0, 1, 3}, "0", 8);
  job.EnterAll({0, 3}, "0", 9);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kFound);
  EXPECT_EQ(analysis.culprits, (Ranks{2}));
  EXPECT_EQ(analysis.victims, (Ranks{0, 1, 3}));
  const HangFinding& finding = analysis.findings.at(0);
  EXPECT_EQ(finding.kind, HangKind::kMissingRank);
  EXPECT_EQ(finding.sequence, 8);
  EXPECT_EQ(finding.operation, "all_reduce");
  EXPECT_EQ(finding.sizes, "128x4");
  EXPECT_EQ(finding.others, (Ranks{0, 1, 3}));
}

// 0 waits for 1 in group 1, 1 for 2 in group 3, 2 for 3 in group 2; 3 never came.
TEST(HangAnalysis, FollowsAChainOfGroupsToItsEnd) {
  Job job(4);
  job.Group("1", {0, 1}).Group("2", {2, 3}).Group("3", {1, 2});
  for (int32_t rank : {0, 1}) job.Complete(rank, "1", 4);
  for (int32_t rank : {2, 3}) job.Complete(rank, "2", 4);
  for (int32_t rank : {1, 2}) job.Complete(rank, "3", 4);
  job.Enter(2, "2", 5);
  job.Enter(1, "3", 5);
  job.Enter(0, "1", 5);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{3}));
  EXPECT_EQ(analysis.victims, (Ranks{0, 1, 2}));
  ASSERT_EQ(analysis.findings.size(), 3u);
  EXPECT_EQ(analysis.findings[0].group, "2");
  EXPECT_TRUE(analysis.findings[0].root);
  EXPECT_FALSE(analysis.findings[1].root);
  EXPECT_FALSE(analysis.findings[2].root);
}

TEST(HangAnalysis, NamesTwoIndependentCulprits) {
  Job job(4);
  job.Group("1", {0, 1}).Group("2", {2, 3});
  job.Complete(1, "1", 1);
  job.Complete(3, "2", 1);
  job.Enter(0, "1", 2);
  job.Enter(2, "2", 2);
  EXPECT_EQ(job.Analyze().culprits, (Ranks{1, 3}));
}

TEST(HangAnalysis, NamesTheRankWithOtherSizesThanTheMajority) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 3);
  job.Dump(1).entries[0].input_sizes = {{64, 4}};
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kFound);
  EXPECT_EQ(analysis.culprits, (Ranks{1}));
  EXPECT_EQ(analysis.findings.at(0).kind, HangKind::kSizeMismatch);
  EXPECT_EQ(analysis.findings.at(0).others, (Ranks{0, 2}));
  EXPECT_EQ(analysis.findings.at(0).sizes, "128x4");
}

TEST(HangAnalysis, NamesTheRankWithAnotherType) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 3);
  job.Dump(2).entries[0].input_dtypes = {"BFloat16"};
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{2}));
  EXPECT_EQ(analysis.findings.at(0).kind, HangKind::kDtypeMismatch);
}

TEST(HangAnalysis, SizesOfAllToAllMayDiffer) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 3, "all_to_all");
  job.Dump(1).entries[0].output_sizes = {{64, 4}};
  const HangAnalysis analysis = job.Analyze();
  EXPECT_TRUE(analysis.culprits.empty());
  for (const HangFinding& finding : analysis.findings) {
    EXPECT_NE(finding.kind, HangKind::kSizeMismatch);
  }
}

TEST(HangAnalysis, OnlyTheRootOfAGatherHasOutputs) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 3, "gather");
  for (const int32_t rank : {1, 2}) {
    job.Dump(rank).entries[0].output_dtypes.clear();
    job.Dump(rank).entries[0].output_sizes.clear();
  }
  const HangAnalysis analysis = job.Analyze();
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].kind, HangKind::kNotCompleted);
}

TEST(HangAnalysis, CoalescedOperationsUnderOneNumberAreNotCompared) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 3, "all_reduce");
  job.Enter(1, "0", 3, "broadcast");
  EXPECT_TRUE(job.Analyze().culprits.empty());
}

// Rank 1 leaves collective 5 out, so that its all_gather has number 5.
TEST(HangAnalysis, NamesTheRankThatLeftACollectiveOut) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 2}, "0", 5, "all_reduce");
  job.EnterAll({0, 2}, "0", 6, "_all_gather_base");
  job.Enter(1, "0", 5, "_all_gather_base");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{1}));
  const HangFinding& finding = analysis.findings.at(0);
  EXPECT_EQ(finding.kind, HangKind::kOrderMismatch);
  EXPECT_EQ(finding.sequence, 5);
  EXPECT_NE(finding.evidence.find("rank 1 may have left one out"), std::string::npos);
}

TEST(HangAnalysis, RankThatRanAheadAfterAMismatchIsStillTheOneToBlame) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1}, "0", 5, "all_reduce");
  job.Enter(2, "0", 5, "barrier");
  job.Enter(2, "0", 6, "all_reduce");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kFound);
  EXPECT_EQ(analysis.culprits, (Ranks{2}));
}

TEST(HangAnalysis, TwoRanksThatDisagreeAreSuspectsAndNeitherIsTheCulprit) {
  Job job(2);
  job.Group("0", {0, 1});
  job.Enter(0, "0", 5, "all_reduce");
  job.Enter(1, "0", 5, "broadcast");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_TRUE(analysis.culprits.empty());
  EXPECT_EQ(analysis.suspects, (Ranks{0, 1}));
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].kind, HangKind::kOrderMismatch);
}

// 0 enters A then B, 1 enters B then A, each blocking in its first.
TEST(HangAnalysis, GroupsEnteredInDifferentOrderAreACircularWait) {
  Job job(2);
  job.Group("1", {0, 1}).Group("2", {0, 1});
  for (int32_t rank : {0, 1}) job.Complete(rank, "1", 3);
  for (int32_t rank : {0, 1}) job.Complete(rank, "2", 3);
  job.Enter(0, "1", 4);
  job.Enter(1, "2", 4);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_EQ(analysis.suspects, (Ranks{0, 1}));
  bool circular = false;
  for (const HangFinding& finding : analysis.findings) {
    circular |= finding.kind == HangKind::kCircularWait && finding.ranks == Ranks{0, 1};
  }
  EXPECT_TRUE(circular);
}

TEST(HangAnalysis, CompleteDumpsGiveNoFinding) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  for (int32_t rank = 0; rank < 3; ++rank) job.Complete(rank, "0", 7);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kNoHang);
  EXPECT_TRUE(analysis.findings.empty());
  EXPECT_TRUE(analysis.victims.empty());
  EXPECT_EQ(analysis.reason, "nothing is pending on any rank");
}

TEST(HangAnalysis, AbstainsWhenAMemberOfWhatIsPendingHasNoDump) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1}, "0", 7);
  job.Lose(2);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_TRUE(analysis.culprits.empty());
  EXPECT_EQ(analysis.suspects, (Ranks{2}));
  EXPECT_EQ(analysis.missing_dumps, (Ranks{2}));
  EXPECT_NE(analysis.reason.find("no dump of ranks 2"), std::string::npos);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].unknown, (Ranks{2}));
}

TEST(HangAnalysis, MissingDumpOfARankThatNobodyWaitsForDoesNotMatter) {
  Job job(4);
  job.Group("1", {0, 1}).Group("2", {2, 3});
  job.Complete(1, "1", 1);
  job.Complete(2, "2", 1);
  job.Enter(0, "1", 2);
  job.Lose(3);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kFound);
  EXPECT_EQ(analysis.culprits, (Ranks{1}));
  EXPECT_EQ(analysis.missing_dumps, (Ranks{3}));
}

TEST(HangAnalysis, NothingPendingProvesNothingWhileADumpIsMissing) {
  Job job(2);
  job.Group("0", {0, 1});
  job.Complete(0, "0", 1);
  job.Complete(1, "0", 1);
  EXPECT_EQ(job.Analyze({.world_size = 3}).verdict, HangVerdict::kUndetermined);
  EXPECT_EQ(job.Analyze({.world_size = 2}).verdict, HangVerdict::kNoHang);
}

// A locked interpreter: the rank has no entry at all, and its dump may have no status.
TEST(HangAnalysis, RankWithoutAnyRecordHasNotEntered) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1}, "0", 7);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{2}));
  EXPECT_EQ(analysis.findings.at(0).sequence, 7);
  EXPECT_NE(analysis.findings.at(0).evidence.find("no record of the group"),
            std::string::npos);
}

// The ring buffer of rank 2 holds later entries of another group only: what it entered
// in group 0 may have been overwritten.
TEST(HangAnalysis, AbstainsWhenRecordsMayHaveBeenOverwritten) {
  Job job(4);
  job.Group("0", {0, 1, 2}).Group("2", {2, 3});
  job.EnterAll({0, 1}, "0", 7);
  job.Complete(2, "2", 900);
  job.Complete(3, "2", 900);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_EQ(analysis.suspects, (Ranks{2}));
}

TEST(HangAnalysis, StatusTellsHowFarARankWithoutEntriesCame) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  for (int32_t rank = 0; rank < 3; ++rank) {
    job.Dump(rank).status[0] = {.last_enqueued = rank == 2 ? 6 : 7,
                                .last_completed = 6};
  }
  job.EnterAll({0, 1}, "0", 7);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{2}));
  EXPECT_NE(analysis.findings.at(0).evidence.find("last 6 by pg_status"),
            std::string::npos);
}

// pg_status of a group with both kinds holds the number of whichever came last.
TEST(HangAnalysis, StatusOfAGroupWithPointToPointSaysNothingOfCollectives) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  for (int32_t rank = 0; rank < 3; ++rank) {
    job.Dump(rank).status[0] = {.last_enqueued = 500, .last_completed = 500};
    job.Complete(rank, "0", 6);
  }
  FlightEntry& send = job.P2p(0, "0", 500, "send 0->1");
  send.state = FlightState::kCompleted;
  send.collective_seq_id = 6;
  job.EnterAll({0, 1}, "0", 7);
  EXPECT_EQ(job.Analyze().culprits, (Ranks{2}));
}

TEST(HangAnalysis, RankThatAloneHasNotFinishedIsStuckOnItsDevice) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.Complete(0, "0", 7);
  job.Enter(1, "0", 7);
  job.Complete(2, "0", 7);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kFound);
  EXPECT_EQ(analysis.culprits, (Ranks{1}));
  EXPECT_EQ(analysis.findings.at(0).kind, HangKind::kNotCompleted);
}

TEST(HangAnalysis, EnteredByAllAndFinishedByNoneIsUndetermined) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1, 2}, "0", 7);
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_TRUE(analysis.culprits.empty());
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].kind, HangKind::kNotCompleted);
}

TEST(HangAnalysis, ReceiverWaitsForASenderThatNeverCame) {
  Job job(4);
  job.Group("3", {1, 2});
  job.P2p(1, "3", 4, "send 0->1");
  job.P2p(2, "3", 4, "recv 1<-0").state = FlightState::kCompleted;
  job.P2p(2, "3", 5, "recv 1<-0");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.culprits, (Ranks{1}));
  EXPECT_TRUE(analysis.findings.at(0).is_p2p);
  EXPECT_EQ(analysis.findings.at(0).sequence, 5);
}

// In a group of more than two, numbers of point-to-point operations do not compare.
TEST(HangAnalysis, PointToPointInALargerGroupOnlyMakesASuspect) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.P2p(1, "0", 1, "recv 1<-2").state = FlightState::kCompleted;
  job.P2p(0, "0", 5, "recv 0<-1");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_EQ(analysis.suspects, (Ranks{1}));
}

// Rank 1 is missing in group 1 because it waits for a peer in a pipeline.
TEST(HangAnalysis, UncertainWaitKeepsARankFromBeingBlamed) {
  Job job(3);
  job.Group("1", {0, 1}).Group("0", {0, 1, 2});
  job.Complete(1, "1", 4);
  job.Enter(0, "1", 5);
  job.P2p(1, "0", 5, "recv 1<-2");
  const HangAnalysis analysis = job.Analyze();
  EXPECT_EQ(analysis.verdict, HangVerdict::kUndetermined);
  EXPECT_EQ(analysis.suspects, (Ranks{2}));
}

TEST(HangAnalysis, SameNameWithOtherMembersIsAnotherGroup) {
  Job job(4);
  job.Group("1", {0, 1});
  for (const int32_t rank : {2, 3}) {
    job.Dump(rank).groups["1"] = {.name = "1", .description = "", .ranks = {2, 3}};
  }
  for (const int32_t rank : {0, 1}) job.Complete(rank, "1", 9);
  for (const int32_t rank : {2, 3}) job.Complete(rank, "1", 2);
  EXPECT_EQ(job.Analyze().verdict, HangVerdict::kNoHang);
}

TEST(HangAnalysis, RefusesNoDumpsUnknownRanksAndTwoDumpsOfOneRank) {
  EXPECT_EQ(AnalyzeHang({}).error().id, "TRACE-0130");
  Job unknown(2);
  unknown.Dump(1).rank = -1;
  EXPECT_EQ(unknown.Try().error().id, "TRACE-0131");
  Job twice(2);
  twice.Dump(1).rank = 0;
  EXPECT_EQ(twice.Try().error().id, "TRACE-0132");
  Job many(2);
  many.Group("0", {0, 1});
  for (int32_t rank = 0; rank < 20000; ++rank) {
    many.Dump(0).groups["0"].ranks.push_back(rank);
  }
  EXPECT_EQ(many.Try().error().id, "TRACE-0133");
}

TEST(HangAnalysis, JsonCarriesTheVerdictAndTheEvidence) {
  Job job(3);
  job.Group("0", {0, 1, 2});
  job.EnterAll({0, 1}, "0", 7);
  const base::Json json = ToJson(job.Analyze());
  EXPECT_EQ(json["verdict"].AsString(), "found");
  EXPECT_EQ(json["culprits"].AsArray().at(0).AsInt(), 2);
  EXPECT_EQ(json["findings"].AsArray().at(0)["kind"].AsString(), "missing_rank");
  EXPECT_EQ(json["findings"].AsArray().at(0)["sequence"].AsInt(), 7);
}

}  // namespace
}  // namespace stepslack::analyze
