#include "line_template.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace stepslack::trace {
namespace {

// Captures of a match by name; {"", "no"} when it does not match.
std::map<std::string, std::string> Match(std::string_view pattern,
                                         std::string_view line) {
  std::string why;
  const auto compiled = LineTemplate::Parse(pattern, why);
  EXPECT_TRUE(compiled.has_value()) << why;
  std::vector<TemplateCapture> captures;
  if (!compiled || !compiled->Match(line, captures)) return {{"", "no"}};
  std::map<std::string, std::string> values;
  for (const TemplateCapture& capture : captures) {
    values[std::string(capture.name)] = std::string(capture.value);
  }
  return values;
}

using Values = std::map<std::string, std::string>;
const Values kNoMatch = {{"", "no"}};

TEST(LineTemplate, MatchesFromTheBeginningAndIgnoresTheRest) {
  EXPECT_EQ(Match("Xid {code:int}", "Xid 79, pid=3"), (Values{{"code", "79"}}));
  EXPECT_EQ(Match("Xid {code:int}", "an Xid 79"), kNoMatch);
  EXPECT_EQ(Match("Xid {code:int}", "Xid x"), kNoMatch);
  EXPECT_EQ(Match("{}Xid {code:int}", "an Xid 79"), (Values{{"code", "79"}}));
}

TEST(LineTemplate, TakesTheShortestTextUpToWhatFollows) {
  EXPECT_EQ(Match("{comm}[{pid:int}]: segfault at {}in libnccl",
                  "pt_main[7]: segfault at 7f ip 7c error 4 in libnccl.so.2[7f]"),
            (Values{{"comm", "pt_main"}, {"pid", "7"}}));
  // The first colon is not followed by a number.
  EXPECT_EQ(Match("task {comm}:{pid:int} blocked", "task kworker/u256:3:1234 blocked"),
            (Values{{"comm", "kworker/u256:3"}, {"pid", "1234"}}));
}

TEST(LineTemplate, KeepsTheColonOfTheMessageOutOfAnAddress) {
  EXPECT_EQ(Match("mlx5_core {pci:pci}: x {port:word}: Link down",
                  "mlx5_core 0000:5e:00.0: x eth2: Link down"),
            (Values{{"pci", "0000:5e:00.0"}, {"port", "eth2"}}));
}

TEST(LineTemplate, ReadsDoubledBracesAsBraces) {
  EXPECT_EQ(Match("{{{n:int}}}[Hardware Error]", "{12}[Hardware Error]: x"),
            (Values{{"n", "12"}}));
}

TEST(LineTemplate, RefusesWhatItCanNotMatchInOnePass) {
  for (const std::string_view bad :
       {"", "{x}", "{a}{b} x", "a {", "a }", "{a:float} x", "{a b} x"}) {
    std::string why;
    EXPECT_FALSE(LineTemplate::Parse(bad, why).has_value()) << bad;
    EXPECT_FALSE(why.empty());
  }
}

// Places that almost match are tried a fixed number of times, so that the work is
// bounded by the line and not by its square.
TEST(LineTemplate, GivesUpOnALineMadeToBeSlow) {
  std::string line;
  for (int i = 0; i < 100; ++i) line += "a:1";
  EXPECT_EQ(Match("{}a:{n:int}!", line + "!"), kNoMatch);
  EXPECT_EQ(Match("{}a:{n:int}!", "a:1a:2!"), (Values{{"n", "2"}}));
}

TEST(LineTemplate, FillsNamesAndLeavesOtherTextAlone) {
  const std::vector<TemplateCapture> captures = {{"pci", "9b:00", false, true}};
  EXPECT_EQ(FillTemplate("gpu {pci}", captures), "gpu 9b:00");
  EXPECT_EQ(FillTemplate("{what} {", captures), "{what} {");
}

}  // namespace
}  // namespace stepslack::trace
