#include "stepslack/eda/pnr_dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "pnr_text.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

namespace fs = std::filesystem;

std::string ReadWhole(const std::string& path) {
  return base::ReadFile(path).value_or("");
}

TEST(PlaceableNetlist, ConstantsLeaveItAndOddNamesAreReplaced) {
  const auto netlist = ReadPlaceableNetlist(
      "# comment\n.model odd\n.inputs clk a[0]\n.outputs y_0_ y_1_\n"
      ".names $false\n.names $true\n1\n.names $undef\n"
      ".gate BUFX2 A=$false Y=y_1_\n.gate AOI21X1 A=a[0] B=n0_ C=$true Y=y_0_\n"
      ".gate BUFX2 A=clk Y=n0_\n.end\n",
      "BUFX2");
  ASSERT_TRUE(netlist.has_value());
  EXPECT_EQ(netlist->blif,
            ".model top\n.inputs clk n1_\n.outputs y_0_\n"
            ".gate AOI21X1 A=n1_ B=n0_ Y=y_0_\n.gate BUFX2 A=clk Y=n0_\n.end\n");
  EXPECT_EQ(netlist->cells, 2);
  EXPECT_EQ(netlist->constant_pins, 2);
}

TEST(PlaceableNetlist, LogicThatIsNotMappedIsRefused) {
  EXPECT_FALSE(ReadPlaceableNetlist(".names a b\n1 1\n.gate X A=a\n", "BUFX2"));
  EXPECT_FALSE(ReadPlaceableNetlist(".latch a b\n.gate X A=a\n", "BUFX2"));
  EXPECT_FALSE(ReadPlaceableNetlist(".gate X A=\n", "BUFX2"));
  EXPECT_FALSE(ReadPlaceableNetlist(".model top\n.end\n", "BUFX2"));
}

TEST(RouterLog, HasFailuresOfTheFirstStageAndOfTheEnd) {
  const RouterOutcome outcome = ReadRouterLog(
      "Progress: Stage 1 total routes completed: 3646\nFailed net routes: 93\n---\n"
      "Progress: Stage 2 total routes completed: 9000\nFailed net routes: 31\n"
      "Final: Failed net routes: 30\n");
  EXPECT_EQ(outcome.stage1_routes, 3646);
  EXPECT_EQ(outcome.stage1_failed_nets, 93);
  EXPECT_EQ(outcome.failed_nets, 30);
  const RouterOutcome cut =
      ReadRouterLog("Progress: Stage 1 total routes completed: 5\nNo failed routes!\n");
  EXPECT_EQ(cut.stage1_failed_nets, 0);
  EXPECT_FALSE(cut.failed_nets.has_value());
}

TEST(PlacementParameters, HaveOneSeed) {
  EXPECT_EQ(WithPlacementSeed("*gridX : 160\n*random.seed\t : 12345\nA", 7),
            "*gridX : 160\nA\n*random.seed : 7\n");
}

class RealFlow : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* need : {"/usr/bin/yosys", "/usr/bin/graywolf", "/usr/bin/qrouter",
                             "/usr/bin/tclsh", "/usr/lib/qflow/scripts/place2def.tcl",
                             "/usr/share/qflow/tech/osu035/osu035_stdcells.lef"}) {
      if (!fs::exists(need)) GTEST_SKIP() << need << " is not installed";
    }
    std::string name = (fs::temp_directory_path() / "pnr-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.count = 2;
    options_.designs = {
        {"mult", "mult_w2",
         "module top(input clk, input [1:0] a, b, output reg [3:0] p, output z);\n"
         "  assign z = 1'b0;\n"
         "  always @(posedge clk) p <= a * b;\nendmodule\n"}};
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  // A program that does `command`, then what the real one does.
  std::string Script(const std::string& name, const std::string& command) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(base::WriteFileAtomic(
        path, "#!/bin/sh\n" + command + "\nexec /usr/bin/" + name + " \"$@\"\n"));
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string folder_;
  PnrOptions options_;
};

TEST_F(RealFlow, TwoPlacementsOfADesignAreRoutedAndRepeatToTheByte) {
  options_.out = folder_ + "/a";
  options_.threads = 2;
  const auto report = MakePnr(options_, {}, nullptr);
  ASSERT_TRUE(report.has_value()) << base::Describe(report.error());
  EXPECT_EQ(report->outcomes, (std::map<std::string, int64_t>{{"ok", 2}}));
  EXPECT_EQ(report->samples_with_failed_nets, 0);
  EXPECT_EQ(report->designs, 1);
  const std::string stages = ReadWhole(options_.out + "/stages.csv");
  const auto lines = base::Split(stages, '\n');
  ASSERT_EQ(lines.size(), 4U);
  const auto cells = base::Split(lines[1], ',');
  ASSERT_EQ(cells.size(), base::Split(lines[0], ',').size());
  EXPECT_EQ(cells[7], "1");                                  // the constant output
  EXPECT_EQ(cells[16], "0");                                 // failed nets
  EXPECT_GT(base::ParseDouble(cells[10]).value_or(0), 0.0);  // placer's CPU time
  // A resumed run takes both from the cache, and makes the damaged one again.
  options_.resume = true;
  options_.threads = 1;
  const std::string tiles = ReadWhole(options_.out + "/tiles.csv");
  const std::string nets = ReadWhole(options_.out + "/nets.csv");
  EXPECT_EQ(MakePnr(options_, {}, nullptr)->from_cache, 2);
  EXPECT_EQ(ReadWhole(options_.out + "/stages.csv"), stages);
  for (const auto& entry : fs::directory_iterator(options_.out + "/cache")) {
    ASSERT_TRUE(base::WriteFileAtomic(entry.path().string(), "{\"outcome\":"));
    break;
  }
  EXPECT_EQ(MakePnr(options_, {}, nullptr)->from_cache, 1);
  EXPECT_EQ(ReadWhole(options_.out + "/tiles.csv"), tiles);
  EXPECT_EQ(ReadWhole(options_.out + "/nets.csv"), nets);
  EXPECT_EQ(static_cast<int64_t>(std::count(tiles.begin(), tiles.end(), '\n')),
            report->tiles + 1);
}

TEST_F(RealFlow, ToolThatHangsOrCrashesIsAStatusOfTheSample) {
  options_.count = 1;
  options_.out = folder_ + "/crash";
  options_.graywolf = Script("graywolf", "case \"$1\" in -n) kill -SEGV $$;; esac");
  const auto crashed = MakePnr(options_, {}, nullptr);
  ASSERT_TRUE(crashed.has_value()) << base::Describe(crashed.error());
  EXPECT_EQ(crashed->outcomes,
            (std::map<std::string, int64_t>{{"crashed in graywolf", 1}}));
  EXPECT_EQ(crashed->tiles, 0);
  options_.out = folder_ + "/hang";
  options_.graywolf = "graywolf";
  options_.yosys = Script("yosys", "case \"$1\" in -q) sleep 60;; esac");
  options_.timeout_s = 1;
  const auto hung = MakePnr(options_, {}, nullptr);
  ASSERT_TRUE(hung.has_value()) << base::Describe(hung.error());
  EXPECT_EQ(hung->outcomes, (std::map<std::string, int64_t>{{"timeout in yosys", 1}}));
  EXPECT_NE(ReadWhole(options_.out + "/stages.csv").find(",137,"), std::string::npos);
}

TEST(PnrDataset, MissingToolNamesItsPackageAndLeavesNoFolder) {
  const std::string out = (fs::temp_directory_path() / "pnr-missing").string();
  fs::remove_all(out);
  const auto report =
      MakePnr({.count = 1, .out = out, .yosys = "/nowhere/yosys"}, {}, nullptr);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "EDA-0107");
  EXPECT_EQ(report.error().exit_code, base::ExitCode::kEnvironment);
  EXPECT_EQ(report.error().help, "install the package yosys");
  EXPECT_FALSE(fs::exists(out));
}

TEST(PnrDataset, CountBeyondAllPlacementsIsRefused) {
  const auto report = MakePnr({.count = 17,
                               .out = "/nowhere/pnr",
                               .designs = {{"f", "d", "module top; endmodule"}}},
                              {}, nullptr);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "EDA-0261");
}

TEST(PnrDataset, FiveRoutingLayersAreRefused) {
  PnrOptions options{.count = 1, .out = "/nowhere/pnr"};
  options.route_layers = 5;
  const auto report = MakePnr(options, {}, nullptr);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "EDA-0263");
}

}  // namespace
}  // namespace stepslack::eda
