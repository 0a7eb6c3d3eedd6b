#include "stepslack/eda/qor_dataset.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "qor_flow.h"
#include "stepslack/base/file.h"

namespace stepslack::eda {
namespace {

namespace fs = std::filesystem;

std::string ReadWhole(const std::string& path) {
  return base::ReadFile(path).value_or("");
}

TEST(VerilogDesigns, AreManyWithUniqueNamesAndOnlyMachinesDependOnTheSeed) {
  const auto designs = MakeVerilogDesigns(1);
  const auto others = MakeVerilogDesigns(2);
  std::set<std::string> names;
  std::set<std::string> families;
  ASSERT_EQ(designs.size(), others.size());
  for (size_t i = 0; i < designs.size(); ++i) {
    names.insert(designs[i].design);
    families.insert(designs[i].family);
    EXPECT_EQ(designs[i].text == others[i].text, designs[i].family != "fsm");
  }
  EXPECT_EQ(names.size(), designs.size());
  EXPECT_GE(designs.size(), 100);
  EXPECT_GE(families.size(), 18);
}

TEST(QorNetlist, CutAndReunitedDesignHasEveryCellAndArea) {
  LibertyLibrary library;
  library.cells["AND2"] = {.area = 32, .sequential = false, .pins = {}};
  library.cells["DFF"] = {
      .area = 96,
      .sequential = true,
      .pins = {{"C", {false, true}}, {"D", {}}, {"Q", {true, false}}}};
  const auto blif = ParseBlif(
      ".model top\n.inputs clk a b\n.outputs q\n.names a \\\nb d\n11 1\n"
      ".subckt DFF C=clk D=d Q=q\n.end\n",
      "and.blif");
  ASSERT_TRUE(blif.has_value());
  const auto cut = CutAtRegisters(*blif, library);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->logic,
            ".model top\n.inputs s1 s2\n.outputs s4\n.names s1 s2 s4\n11 1\n.end\n");
  const auto mapped =
      ParseBlif(".model top\n.gate AND2 A=s1 B=s2 Y=s4\n.end\n", "mapped.blif");
  const auto whole = Reunite(*cut, *mapped, library);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->area, 128);
  EXPECT_EQ(whole->cells, 2);
  EXPECT_EQ(whole->clocks, std::vector<std::string>{"n0"});
  EXPECT_NE(whole->verilog.find("DFF g1(.C(n0), .D(n3), .Q(n4));"), std::string::npos);
}

TEST(QorNetlist, ConstantsOfTheMapperAreWiresAndNoCells) {
  CutDesign cut;
  cut.outputs = {"s0"};
  const auto mapped = ParseBlif(".model top\n.gate _const1_ z=s0\n.end\n", "c.blif");
  const auto whole = Reunite(cut, *mapped, LibertyLibrary{});
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->cells, 0);
  EXPECT_NE(whole->verilog.find("assign n0 = 1'b1;"), std::string::npos);
}

TEST(QorFlow, TimerThatReportsAnErrorAndExitsWellIsNotBelieved) {
  EXPECT_FALSE(ReadTimerOutput("Error: no network\ntns 0.0\n 9.0 slack (MET)\n"));
  EXPECT_FALSE(ReadTimerOutput("tns 0.0\nNo paths found.\n"));
  const auto figures = ReadTimerOutput("tns -1.5\n   -0.25   slack (VIOLATED)\n");
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(figures->worst_slack_ns, -0.25);
  EXPECT_EQ(figures->tns_ns, -1.5);
}

class RealTools : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* need : {"/usr/bin/yosys", "/usr/bin/berkeley-abc", "/usr/bin/sta",
                             "/usr/share/qflow/tech/osu035/osu035_stdcells.lib"}) {
      if (!fs::exists(need)) GTEST_SKIP() << need << " is not installed";
    }
    std::string name = (fs::temp_directory_path() / "qor-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  // A program that notes each start in `starts` and then does `command`.
  std::string Script(const std::string& name, const std::string& command) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(base::WriteFileAtomic(
        path, "#!/bin/sh\necho \"$@\" >> " + folder_ + "/starts\n" + command + "\n"));
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  int64_t Starts(const std::string& part) const {
    const std::string text = ReadWhole(folder_ + "/starts");
    int64_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
  int64_t Kept() const {
    int64_t count = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ + "/out/cache", ignored)) {
      count += entry.path().extension() == ".json" ? 1 : 0;
    }
    return count;
  }
  std::string folder_;
};

TEST_F(RealTools, KilledRunGoesOnWithoutLossAndGivesTheSameBytes) {
  QorOptions options{.count = 10, .out = folder_ + "/out"};
  options.abc = Script("abc", "exec /usr/bin/berkeley-abc \"$@\"");
  const pid_t child = fork();
  if (child == 0) {
    (void)MakeQor(options, {}, nullptr);
    _exit(0);
  }
  // The design and three samples are finished, then the run dies.
  for (int i = 0; i < 10000 && Kept() < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const int64_t kept = Kept();
  ASSERT_GE(kept, 4);
  const int64_t before = Starts("recipe.abc");
  options.resume = true;
  const auto resumed = MakeQor(options, {}, nullptr);
  ASSERT_TRUE(resumed.has_value()) << base::Describe(resumed.error());
  EXPECT_EQ(resumed->from_cache, kept - 1);  // one of them is the design
  EXPECT_EQ(Starts("recipe.abc") - before, 10 - (kept - 1));
  QorOptions again{.count = 10, .out = folder_ + "/again", .threads = 2};
  ASSERT_TRUE(MakeQor(again, {}, nullptr).has_value());
  EXPECT_EQ(ReadWhole(folder_ + "/out/qor.csv"), ReadWhole(folder_ + "/again/qor.csv"));
}

TEST_F(RealTools, ToolThatCrashesHangsOrBabblesIsAStatusOfTheRow) {
  const std::pair<const char*, const char*> cases[] = {
      {"case \"$*\" in *time.tcl) kill -SEGV $$;; esac", "crashed in sta"},
      {"case \"$*\" in *time.tcl) sleep 30;; esac", "timeout in sta"},
      {"echo Error: nothing", "bad_output in sta"}};
  for (const auto& [command, outcome] : cases) {
    QorOptions options{.count = 1, .out = folder_ + "/" + outcome, .timeout_s = 4};
    options.sta = Script("sta", command);
    const auto report = MakeQor(options, {}, nullptr);
    ASSERT_TRUE(report.has_value()) << base::Describe(report.error());
    EXPECT_EQ(report->outcomes, (std::map<std::string, int64_t>{{outcome, 1}}));
  }
}

TEST(QorDataset, MissingToolNamesItsPackage) {
  const std::string out = (fs::temp_directory_path() / "qor-missing").string();
  fs::remove_all(out);
  const auto report =
      MakeQor({.count = 1, .out = out, .yosys = "/nowhere/yosys"}, {}, nullptr);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().id, "EDA-0107");
  EXPECT_EQ(report.error().exit_code, base::ExitCode::kEnvironment);
  EXPECT_EQ(report.error().help, "install the package yosys");
  fs::remove_all(out);
}

}  // namespace
}  // namespace stepslack::eda
