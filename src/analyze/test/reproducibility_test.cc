#include "stepslack/analyze/reproducibility.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "made_runs.h"

namespace stepslack::analyze {
namespace {

using V = ReproducibilityVerdict;

record::RunRecord MakeRun() { return MadeRun({StepShape{}, StepShape{}}, 10); }

TEST(Reproducibility, TheSameRunTwiceIsBitEqual) {
  const Reproducibility report = CompareRuns(MakeRun(), MakeRun());
  EXPECT_EQ(report.verdict, V::kBitEqual);
  EXPECT_EQ(report.steps_compared, 10);
  EXPECT_TRUE(*report.predictions_equal);
  EXPECT_FALSE(report.first_loss_step.has_value());
}

TEST(Reproducibility, OneBitInOneLossIsADivergenceAtThatStep) {
  record::RunRecord other = MakeRun();
  for (size_t s = 4; s < 10; ++s) {
    other.steps[0][s].loss = std::nextafter(other.steps[0][s].loss, 1e9);
  }
  const Reproducibility report = CompareRuns(MakeRun(), other);
  EXPECT_EQ(report.verdict, V::kDiverged);
  EXPECT_EQ(*report.first_loss_step, 4);
  EXPECT_FALSE(*report.losses_equal);
  EXPECT_LT(report.max_relative_loss_difference, 3e-16);
  EXPECT_GT(report.max_relative_loss_difference, 0);
}

TEST(Reproducibility, OtherSamplesExplainOtherLosses) {
  record::RunRecord other = MakeRun();
  other.steps[1][3].sample_digest = "x";
  other.steps[0][5].sample_digest = "y";
  other.steps[0][5].loss = 7;
  const Reproducibility report = CompareRuns(MakeRun(), other);
  EXPECT_EQ(report.verdict, V::kDataOrderDiffers);
  EXPECT_EQ(*report.first_sample_step, 3);
  EXPECT_EQ(report.first_sample_rank, 1);
}

TEST(Reproducibility, ParametersAloneCanDiffer) {
  record::RunRecord other = MakeRun();
  other.summary.parameters_sha256 = "other";
  EXPECT_EQ(CompareRuns(MakeRun(), other).verdict, V::kDiverged);
}

TEST(Reproducibility, MissingEvidenceIsNeverEquality) {
  record::RunRecord no_digest = MakeRun();
  no_digest.summary.parameters_sha256.clear();
  EXPECT_EQ(CompareRuns(MakeRun(), no_digest).verdict, V::kNotComparable);
  EXPECT_FALSE(CompareRuns(MakeRun(), no_digest).parameters_equal.has_value());

  record::RunRecord shorter = MakeRun();
  shorter.steps[0].pop_back();
  shorter.steps[1].pop_back();
  const Reproducibility cut = CompareRuns(MakeRun(), shorter);
  EXPECT_EQ(cut.verdict, V::kNotComparable);
  EXPECT_EQ(cut.steps_only_in_one, 1);

  record::RunRecord failed = MakeRun();
  failed.summary.status = "failed";
  EXPECT_EQ(CompareRuns(MakeRun(), failed).verdict, V::kNotComparable);
  EXPECT_EQ(CompareRuns({}, {}).verdict, V::kNotComparable);
}

TEST(Reproducibility, EqualNotANumberLossesAreEqualBits) {
  record::RunRecord a = MakeRun();
  a.steps[0][2].loss = std::numeric_limits<double>::quiet_NaN();
  record::RunRecord b = a;
  EXPECT_EQ(CompareRuns(a, b).verdict, V::kBitEqual);
  b.steps[0][2].loss = 1;
  EXPECT_EQ(CompareRuns(a, b).max_relative_loss_difference, 1e300);
}

TEST(Reproducibility, NamesRuntimeDifferences) {
  record::RunRecord a = MakeRun();
  record::RunRecord b = MakeRun();
  a.summary.runtime = {{"threads", "1"}, {"backend", "gloo"}};
  b.summary.runtime = {{"threads", "2"}, {"backend", "gloo"}, {"blas", "x"}};
  const Reproducibility report = CompareRuns(a, b);
  EXPECT_EQ(report.runtime_differences,
            (std::vector<std::string>{"blas: nothing and x", "threads: 1 and 2"}));
  EXPECT_EQ(ToJson(report)["verdict"].AsString(), "bit_equal");
}

}  // namespace
}  // namespace stepslack::analyze
