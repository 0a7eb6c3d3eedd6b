#include "arguments.h"

#include <gtest/gtest.h>

namespace stepslack::cli {
namespace {

base::Result<Arguments> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "stepslack");
  return ParseArguments(static_cast<int>(words.size()), words.data());
}

TEST(ArgumentsTest, ReadsPositionalOptionsAndFlags) {
  const auto arguments = Parse({"review", "r.toml", "--room", "x", "--quiet"});
  ASSERT_TRUE(arguments.has_value()) << base::Describe(arguments.error());
  EXPECT_EQ(arguments->Value("FILE"), "r.toml");
  EXPECT_EQ(arguments->Value("--room"), "x");
  EXPECT_TRUE(arguments->Has("--quiet"));
  EXPECT_EQ(arguments->Value("--format"), "text");
}

TEST(ArgumentsTest, ShortOutputFlagIsTheLongOne) {
  EXPECT_EQ(Parse({"doctor", "-o", "f"})->Value("--output"), "f");
}

TEST(ArgumentsTest, UnknownVerbAndOptionGetSuggestions) {
  const auto verb = Parse({"reveiw"});
  ASSERT_FALSE(verb.has_value());
  EXPECT_EQ(verb.error().help, "did you mean `review`?");
  const auto option = Parse({"review", "r.toml", "--rooom", "x"});
  ASSERT_FALSE(option.has_value());
  EXPECT_EQ(option.error().id, "CLI-0002");
  EXPECT_EQ(option.error().help, "did you mean `--room`?");
  EXPECT_EQ(option.error().exit_code, base::ExitCode::kUsage);
}

TEST(ArgumentsTest, ValueOutsideTheChoicesIsRefused) {
  const auto arguments = Parse({"doctor", "--format", "jsno"});
  ASSERT_FALSE(arguments.has_value());
  EXPECT_EQ(arguments.error().id, "CLI-0003");
  EXPECT_EQ(arguments.error().help, "did you mean `json`?");
}

TEST(ArgumentsTest, MissingFileIsNamed) {
  const auto arguments = Parse({"review"});
  ASSERT_FALSE(arguments.has_value());
  EXPECT_EQ(arguments.error().id, "CLI-0004");
}

TEST(ArgumentsTest, OptionWithoutItsValueIsAUsageError) {
  EXPECT_EQ(Parse({"review", "r.toml", "--room"}).error().exit_code,
            base::ExitCode::kUsage);
}

TEST(ArgumentsTest, BareCommandAsksForHelp) {
  EXPECT_TRUE(Parse({})->help);
  EXPECT_TRUE(Parse({"review", "--help"})->help);
}

TEST(OptionTableTest, HelpStartsWithExamplesAndEndsWithExitCodes) {
  for (const VerbInfo& verb : Verbs()) {
    const std::string help = VerbHelp(verb);
    EXPECT_TRUE(help.starts_with("examples\n  stepslack ")) << verb.name;
    EXPECT_TRUE(help.ends_with("130 interrupted\n")) << verb.name;
  }
}

}  // namespace
}  // namespace stepslack::cli
