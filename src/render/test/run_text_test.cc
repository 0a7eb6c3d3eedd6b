#include "stepslack/render/run_text.h"

#include <gtest/gtest.h>

#include "stepslack/base/text.h"

namespace stepslack::render {
namespace {

record::RunOverview TwoRanks() {
  record::RunOverview run;
  run.folder = "/data/runs/4f2a91";
  run.status.state = record::RunState::kRunning;
  run.status.world_size = 2;
  run.status.step = 12;
  run.status.samples = 96;
  run.status.total_samples = 320;
  run.status.loss = 0.5;
  run.status.samples_per_second = 40;
  run.status.efficiency = 0.9;
  run.status.eta_seconds = 5.6;
  run.silent_seconds = 0.5;
  record::RankMeans means;
  means.steps = 11;
  means.step = 0.0125;
  means.forward = 0.004;
  means.comm_wait = 0.001;
  means.run_queue = 0.0005;
  means.minor_faults = 7;
  run.ranks = {means, means};
  run.slowest_rank = 1;
  run.slowest_factor = 1.25;
  return run;
}

TEST(RunText, ARunningRunShowsProgressAndWhereItsStepsGo) {
  EXPECT_EQ(RenderRunText(TwoRanks(), false), R"(run 4f2a91: running
  progress      step 12 | 96 of 320 samples (30 %) | loss 0.5 | 40 samples/s | efficiency 90 % | ETA
                5.6 s
  ranks         2

A step, means in ms (queue: ready but not running; faults: pages)
rank  steps   step  data   fwd   bwd  comm wait  optim  other   CPU  queue  throttled  faults
   0     11  12.50  0.00  4.00  0.00       1.00   0.00   0.00  0.00   0.50          -       7
   1     11  12.50  0.00  4.00  0.00       1.00   0.00   0.00  0.00   0.50          -       7
slowest: rank 1, its own work takes 1.25 times that of the others
)");
}

TEST(RunText, FailureDamageAndSilenceAreSaid) {
  record::RunOverview run = TwoRanks();
  run.silent_seconds = 200;
  EXPECT_NE(RenderRunText(run, false).find("nothing was heard of it for 3 min 20 s"),
            std::string::npos);
  run.silent_seconds = -1;
  run.status.state = record::RunState::kFailed;
  run.status.error = "error[COMM-0002]: rank 0: lost a peer\nhelp: see the log";
  run.skipped_lines = 3;
  const std::string text = RenderRunText(run, false);
  EXPECT_NE(text.find("run 4f2a91: failed\n"), std::string::npos);
  EXPECT_NE(text.find("COMM-0002"), std::string::npos);
  EXPECT_NE(text.find("damaged metric lines, left out: 3"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(RenderRunText(run, true).find("\x1b[31mfailed\x1b[0m"), std::string::npos);
}

TEST(RunText, ManyRanksStayOnePageAndTheRestIsCounted) {
  record::RunOverview run = TwoRanks();
  run.ranks.resize(1000, run.ranks.front());
  const std::string text = RenderRunText(run, false);
  EXPECT_NE(text.find("and 968 more ranks"), std::string::npos);
  EXPECT_LT(base::Split(text, '\n').size(), 60U);
  for (const std::string_view line : base::Split(text, '\n')) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

}  // namespace
}  // namespace stepslack::render
