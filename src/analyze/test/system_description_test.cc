#include "stepslack/analyze/system_description.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepslack::analyze {
namespace {

TEST(SystemDescription, CountsAreReadOutOfText) {
  EXPECT_EQ(CountInText("16"), 16);
  EXPECT_EQ(CountInText("8x H100 (SXM5)"), 8);
  EXPECT_EQ(CountInText("about 1,024 in 4 racks"), 1024);
  EXPECT_EQ(CountInText("4, 8 or 16"), 4);
  EXPECT_EQ(CountInText("12,34"), 12);
  EXPECT_FALSE(CountInText("N/A").has_value());
  EXPECT_FALSE(CountInText("").has_value());
  EXPECT_FALSE(CountInText("0").has_value());
  EXPECT_FALSE(CountInText("99999999999999999999").has_value());
}

TEST(SystemDescription, WorldSizeIsNodesTimesAccelerators) {
  const auto system = ParseSystemDescription(
      "{\"number_of_nodes\": \"2 (one rack)\", \"accelerators_per_node\": 4, "
      "\"system_name\": \"Box\", \"submitter\": \"Acme Inc.\"}",
      "in/systems/v9.1__Acme__box_n2.json");
  ASSERT_TRUE(system.has_value());
  EXPECT_EQ(system->world_size(), 8);
  EXPECT_EQ(system->name, "box_n2");
  EXPECT_EQ(system->round, "v9.1");
  EXPECT_EQ(system->submitter, "Acme");
  EXPECT_EQ(system->system_name, "Box");
}

TEST(SystemDescription, WithoutCountsItIsRefused) {
  const auto none = ParseSystemDescription(
      "{\"number_of_nodes\": \"2\", \"accelerators_per_node\": \"none\"}", "a.json");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().id, "ANL-0181");
  EXPECT_NE(none.error().what.find("accelerators_per_node"), std::string::npos);
  EXPECT_EQ(ParseSystemDescription("[1]", "a.json").error().id, "ANL-0180");
}

TEST(SystemDescription, LineOfALogIsADescription) {
  const std::string log =
      "x\n0: :::SYSJSON {broken\n0: :::SYSJSON {\"number_of_nodes\":\"3\","
      "\"accelerators_per_node\":\"8\",\"system_name\":\"Box\"} \nmore\n";
  const auto system = SystemInLog(log, "log");
  ASSERT_TRUE(system.has_value());
  EXPECT_EQ(system->world_size(), 24);
  EXPECT_EQ(system->name, "Box");
  EXPECT_FALSE(SystemInLog("no such line", "log").has_value());
}

TEST(SystemDescription, PathPartsAreDividedBySlashBangAndBars) {
  EXPECT_EQ(PathParts("/a/b.tar!c__d/e_f"),
            (std::vector<std::string_view>{"a", "b.tar", "c", "d", "e_f"}));
  EXPECT_TRUE(PathParts("").empty());
}

SystemDescription Make(std::string name, std::string submitter, int64_t nodes,
                       std::string system_name = "Box") {
  SystemDescription system;
  system.name = std::move(name);
  system.submitter = std::move(submitter);
  system.system_name = std::move(system_name);
  system.nodes = nodes;
  system.accelerators_per_node = 8;
  return system;
}

TEST(SystemDescription, MatchesTheComponentOfThePathNotAPartOfIt) {
  const std::vector<SystemDescription> systems = {Make("box", "Acme", 1),
                                                  Make("box_n2", "Acme", 2)};
  EXPECT_EQ(MatchSystem(systems, "r/box_n2/bert/r.txt", "", "").index, 1u);
  EXPECT_EQ(MatchSystem(systems, "r/box/bert/r.txt", "", "").index, 0u);
  const SystemMatch none = MatchSystem(systems, "r/box_n4/bert/r.txt", "", "");
  EXPECT_FALSE(none.index.has_value());
  EXPECT_EQ(none.reason, "no system description goes with this path");
}

TEST(SystemDescription, PlatformDecidesWhereThePathDoesNot) {
  const std::vector<SystemDescription> systems = {Make("one", "Acme", 1),
                                                  Make("two", "Acme", 2)};
  EXPECT_EQ(MatchSystem(systems, "r.txt", "2xbox", "").index, 1u);
  const SystemMatch either = MatchSystem(systems, "r.txt", "Box", "");
  EXPECT_FALSE(either.index.has_value());
  EXPECT_EQ(either.reason,
            "2 system descriptions of different sizes go with this path");
}

TEST(SystemDescription, SubmitterDecidesBetweenEqualNames) {
  const std::vector<SystemDescription> systems = {Make("box", "Acme", 1),
                                                  Make("box", "Bolt", 2)};
  EXPECT_EQ(MatchSystem(systems, "r/box/bert/r.txt", "", "bolt").index, 1u);
  EXPECT_EQ(MatchSystem(systems, "Acme/box/bert/r.txt", "", "").index, 0u);
}

}  // namespace
}  // namespace stepslack::analyze
