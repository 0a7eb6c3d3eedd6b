#include "command_template.h"

#include <gtest/gtest.h>

namespace stepslack::study {
namespace {

TEST(CommandTemplate, PutsValuesInAndQuotesWhatTheShellWouldTakeApart) {
  const Settings values = {{"lr", 0.5}, {"n", 3}, {"name", "it's; rm -rf /"}};
  EXPECT_EQ(FillIn("run --lr {lr} -n {n} {name}", values),
            "run --lr 0.5 -n 3 'it'\\''s; rm -rf /'");
}

TEST(CommandTemplate, DoubledBracesAreBraces) {
  EXPECT_EQ(FillIn("awk '{{print ${n}}}'", {{"n", 1}}), "awk '{print $1}'");
  EXPECT_EQ(*Placeholders("awk '{{print ${n}}}'"), std::set<std::string>{"n"});
}

TEST(CommandTemplate, RefusesHalfABrace) {
  for (const char* text : {"a {b", "a b}", "{}", "{{{a}"}) {
    const auto names = Placeholders(text);
    if (std::string(text) == "{{{a}") {
      EXPECT_TRUE(names.has_value());  // a brace, then a name
    } else {
      ASSERT_FALSE(names.has_value()) << text;
      EXPECT_EQ(names.error().id, "STUDY-0200");
    }
  }
}

}  // namespace
}  // namespace stepslack::study
