#include "stepslack/comm/cost_table.h"

#include <gtest/gtest.h>

namespace stepslack::comm {
namespace {

CostPoint Point(int64_t bytes, double us) { return {bytes, us, us, us}; }

TEST(CostTable, FindsTheLineThatPointsLieOn) {
  std::vector<CostPoint> points;
  for (const int64_t bytes : {4096, 65536, 1 << 20, 100 << 20}) {
    points.push_back(Point(bytes, 20 + 0.001 * static_cast<double>(bytes)));
  }
  const CostFit fit = FitCost(points);
  EXPECT_NEAR(fit.alpha_us, 20, 1e-6);
  EXPECT_NEAR(fit.us_per_byte, 0.001, 1e-12);
  EXPECT_NEAR(fit.worst_ratio, 1, 1e-9);
}

TEST(CostTable, NeverFitsANegativeCost) {
  // A line through both points would cross zero at 900 bytes; the best line through the
  // origin, by relative error: slopes 0.1 and 1 with weights 1 (y / x each): the
  // minimum of (10 s - 1)^2 + (s - 1)^2 is at s = 11 / 101 in units of each slope.
  const CostFit steep = FitCost(std::vector{Point(1000, 100), Point(2000, 2000)});
  EXPECT_EQ(steep.alpha_us, 0);
  EXPECT_NEAR(steep.us_per_byte, 11.0 / 101.0, 1e-12);
  // Falling times: a constant, the weighted mean (1/1 + 1/2) / (1/1 + 1/4) = 1.2.
  const CostFit falling = FitCost(std::vector{Point(10, 2), Point(1000, 1)});
  EXPECT_EQ(falling.us_per_byte, 0);
  EXPECT_NEAR(falling.alpha_us, 1.2, 1e-12);
  EXPECT_EQ(FitCost({}).alpha_us, 0);
  // One size: no slope can be told.
  EXPECT_NEAR(FitCost(std::vector{Point(100, 7)}).At(100), 7, 1e-9);
}

TEST(CostTable, ChoosesTheCheapestForTheSizeOnTheSameHardware) {
  CostTable table;
  table.hardware = HardwareTag();
  table.ranks = 2;
  table.curves.push_back({"shm", "direct", "all_reduce", {Point(1, 1)}, {1, 0.001, 1}});
  table.curves.push_back(
      {"gloo", "engine", "all_reduce", {Point(1, 1)}, {300, 1e-5, 1}});
  const std::vector<std::string> both = {"shm", "gloo"};
  EXPECT_EQ(CheapestBackend(table, 2, 4096, both), "shm");
  EXPECT_EQ(CheapestBackend(table, 2, 100 << 20, both), "gloo");
  EXPECT_EQ(CheapestBackend(table, 2, 100 << 20, std::vector<std::string>{"shm"}),
            "shm");
  EXPECT_EQ(CheapestBackend(table, 3, 4096, both), std::nullopt);
  table.hardware = "another";
  EXPECT_EQ(CheapestBackend(table, 2, 4096, both), std::nullopt);
}

TEST(CostTable, TakesTheLineOfTheAlgorithmThatServesTheSize) {
  CostTable table;
  table.hardware = HardwareTag();
  table.ranks = 2;
  // At 1 MB the ring is cheap; the line of short vectors says nothing about it.
  table.curves.push_back(
      {"mpi", "recursive_doubling", "all_reduce", {Point(4096, 5)}, {0, 1.0, 1}});
  table.curves.push_back(
      {"mpi", "ring", "all_reduce", {Point(1 << 20, 90)}, {10, 0, 1}});
  table.curves.push_back(
      {"gloo", "engine", "all_reduce", {Point(4096, 50)}, {50, 0, 1}});
  const std::vector<std::string> both = {"gloo", "mpi"};
  EXPECT_EQ(CheapestBackend(table, 2, 1 << 20, both), "mpi");
  EXPECT_EQ(CheapestBackend(table, 2, 4096, both), "gloo");
}

TEST(CostTable, RulesCompareOnlyAlgorithmsThatLeaveTheSameBits) {
  CostTable table;
  table.hardware = HardwareTag();
  table.ranks = 3;
  const auto line = [&](const char* algorithm, double small, double large) {
    table.curves.push_back({"gloo",
                            algorithm,
                            "all_reduce",
                            {Point(4096, small), Point(1 << 20, large)},
                            {}});
  };
  line("ring", 1, 1);  // fastest, and of other bits
  line("doubling", 50, 900);
  EXPECT_EQ(AllReduceRulesFrom(table, 3, "gloo"), "");  // nothing to compare
  line("halving_doubling", 60, 700);
  line("tree", 2, 2);  // its bits are others for three ranks
  EXPECT_EQ(AllReduceRulesFrom(table, 3, "gloo"),
            "0:doubling,1048576:halving_doubling");
  EXPECT_EQ(AllReduceRulesFrom(table, 3, "mpi"), "");
  EXPECT_EQ(AllReduceRulesFrom(table, 4, "gloo"), "");
  table.ranks = 4;
  EXPECT_EQ(AllReduceRulesFrom(table, 4, "gloo"), "0:tree");
}

TEST(CostTable, ReadsBackWhatItWroteAndRefusesOtherFiles) {
  CostTable table;
  table.hardware = "abc";
  table.ranks = 4;
  table.curves.push_back(
      {"mpi", "ring", "all_reduce", {Point(100, 7), Point(200, 8)}, {}});
  table.curves[0].fit = FitCost(table.curves[0].points);
  const auto back = CostTableFromJson(ToJson(table), "table");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(ToJson(*back).Dump(), ToJson(table).Dump());
  const auto refused = CostTableFromJson(base::Json(), "table");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "COMM-0051");
}

}  // namespace
}  // namespace stepslack::comm
