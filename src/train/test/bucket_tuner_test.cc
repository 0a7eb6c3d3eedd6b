#include "bucket_tuner.h"

#include <gtest/gtest.h>

#include "rank_threads.h"

namespace stepslack::train {
namespace {

TEST(BucketTuner, CandidatesTakeTurnsAndTheFirstRoundDoesNotCount) {
  BucketTuner tuner({10, 20, 30});
  std::vector<int64_t> tried;
  bool done = false;
  while (tuner.active()) {
    tried.push_back(tuner.candidate());
    // Cold, candidate 10 looks best by far; warm, 20 is.
    const bool cold = tried.size() <= 3;
    const int64_t warm_wait = tuner.candidate() == 20 ? 5 : 7;
    done = tuner.Record(cold ? tuner.candidate() / 10 : warm_wait);
  }
  EXPECT_TRUE(done);
  ASSERT_EQ(tried.size(), 3U * BucketTuner::kRounds);
  EXPECT_EQ(std::vector<int64_t>(tried.begin(), tried.begin() + 4),
            (std::vector<int64_t>{10, 20, 30, 10}));
  RunRanks(1, [&](comm::Communicator& communicator) {
    EXPECT_EQ(tuner.Agree(communicator).value().bytes, 20);
  });
}

TEST(BucketTuner, RanksAgreeOnTheOneWhoseSlowestRankWaitsLeast) {
  // Waits of rank 0: 1, 4, 9; of rank 1: 8, 5, 2. Longest: 8, 5, 9.
  const std::vector<std::vector<int64_t>> waits = {{1, 4, 9}, {8, 5, 2}};  // ms
  RunRanks(2, [&](comm::Communicator& communicator) {
    BucketTuner tuner({10, 20, 30});
    const auto& own = waits[static_cast<size_t>(communicator.rank())];
    for (size_t turn = 0; tuner.active(); ++turn)
      tuner.Record(own[turn % 3] * 1000 * 1000);
    const BucketTuner::Choice choice = tuner.Agree(communicator).value();
    EXPECT_EQ(choice.bytes, 20);
    EXPECT_EQ(choice.waits_ms, "10: 8.000, 20: 5.000, 30: 9.000");
  });
}

TEST(BucketTuner, NothingToTuneIsNotActive) {
  EXPECT_FALSE(BucketTuner({}).active());
  BucketTuner stopped({1, 2});
  stopped.Stop();
  EXPECT_FALSE(stopped.active());
}

}  // namespace
}  // namespace stepslack::train
