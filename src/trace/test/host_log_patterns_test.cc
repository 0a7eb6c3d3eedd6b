#include "stepslack/trace/host_log_patterns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

const std::string kGood = R"([[pattern]]
id = "fan"
match = "fan {n:int} failed"
subject = "fan {n}"
severity = "error"
layer = "hardware"
meaning = "A fan stands still"
)";

TEST(HostLogPatterns, TheShippedFileIsGoodAndSaysWhatEachMeans) {
  const auto patterns = ShippedHostLogPatterns();
  ASSERT_TRUE(patterns.has_value()) << base::Describe(patterns.error());
  EXPECT_GE(patterns->patterns.size(), 55u);
  const std::regex cause_id("[DMRH][0-9]{2}");
  for (const HostLogPattern& pattern : patterns->patterns) {
    EXPECT_GT(pattern.meaning.size(), 20u) << pattern.id;
    EXPECT_TRUE(pattern.cause.empty() || std::regex_match(pattern.cause, cause_id))
        << pattern.id;
    std::set<std::string> codes;
    for (const HostLogCode& code : pattern.codes) {
      EXPECT_TRUE(codes.insert(code.code).second) << pattern.id << " " << code.code;
    }
  }
}

TEST(HostLogPatterns, AUserFileComesFirstAndKeepsTheShippedOnes) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            fmt::format("hostlogs-{}.toml", getpid()))
                               .string();
  const std::string own = kGood + R"([[pattern]]
id = "known_noise"
match = "NVRM: Xid (PCI:{pci:pci}): 31"
subject = "gpu {pci}"
severity = "info"
layer = "model"
meaning = "Our test program does this on purpose"
)";
  ASSERT_TRUE(base::WriteFileAtomic(path, own).has_value());
  const auto patterns = LoadHostLogPatterns(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(patterns.has_value());
  const HostReport report = ParseKernelLog(
      "[ 1.000001] NVRM: Xid (PCI:0000:19:00): 31, pid=1\n"
      "[ 2.000001] NVRM: Xid (PCI:0000:19:00): 48, pid=1\n"
      "[ 3.000001] fan 3 failed\n",
      *patterns);
  ASSERT_EQ(report.evidence.size(), 3u);
  EXPECT_EQ(report.evidence[0].kind, "known_noise");
  EXPECT_EQ(report.evidence[1].kind, "xid");
  EXPECT_EQ(report.evidence[1].severity, Severity::kError);
  EXPECT_EQ(report.evidence[2].subject, "fan 3");
}

struct Refusal {
  const char* name;
  std::string from;
  std::string to;
  const char* what;
};

class HostLogPatternRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(HostLogPatternRefusals, NamesThePlaceAndTheKey) {
  std::string text = kGood;
  text.replace(text.find(GetParam().from), GetParam().from.size(), GetParam().to);
  const auto patterns = ParseHostLogPatterns(text, "own.toml");
  ASSERT_FALSE(patterns.has_value());
  const std::string message = base::Describe(patterns.error());
  EXPECT_NE(message.find(GetParam().what), std::string::npos) << message;
  EXPECT_NE(message.find("own.toml:"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, HostLogPatternRefusals,
    testing::Values(Refusal{"severity", "\"error\"", "\"bad\"", "`bad`"},
                    Refusal{"layer", "\"hardware\"", "\"cooling\"", "`cooling`"},
                    Refusal{"hole", "fan {n}\"", "fan {m}\"", "`m`"},
                    Refusal{"template", "{n:int} failed", "{n:int failed", "without"},
                    Refusal{"key", "layer =", "colour = \"red\"\nlayer =", "colour"},
                    Refusal{"missing", "match = \"fan {n:int} failed\"", "", "match"}),
    [](const testing::TestParamInfo<Refusal>& tested) {
      return std::string(tested.param.name);
    });

TEST(HostLogPatterns, AFileWithoutPatternsIsRefused) {
  const auto patterns = ParseHostLogPatterns("# nothing\n", "own.toml");
  ASSERT_FALSE(patterns.has_value());
  EXPECT_EQ(patterns.error().id, "TRACE-0176");
}

}  // namespace
}  // namespace stepslack::trace
