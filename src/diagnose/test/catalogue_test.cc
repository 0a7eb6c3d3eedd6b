#include "stepslack/diagnose/catalogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace stepslack::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ten lines; `id` on line 2, the layer on line 3.
std::string OneCause(const std::string& id, const std::string& layer) {
  return fmt::format(
      "[[cause]]\nid = \"{}\"\nlayer = \"{}\"\ntitle = \"t\"\naffects = [\"quality\"]\n"
      "discriminating_test = \"d\"\nexperiment = \"e\"\nfix = \"f\"\nowner = \"o\"\n"
      "when = [{{fact = \"split.leaked_rows\", op = \">\", value = 0}}]\n",
      id, layer);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Catalogue, ReadsACauseWithItsSignatureAndShares) {
  const auto parsed = ParseCatalogue(
      Replaced(OneCause("R1", "runtime"), "quality", "efficiency") +
          "[[cause.explains]]\nfor = \"efficiency\"\npart = \"comm.wait_share\"\n"
          "of_lost = \"scaling.strong_efficiency\"\n",
      "causes.toml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
  ASSERT_EQ(parsed->causes.size(), 1U);
  const Cause& cause = parsed->causes[0];
  EXPECT_EQ(cause.layer, "runtime");
  ASSERT_EQ(cause.when.size(), 1U);
  EXPECT_EQ(cause.when[0].fact, "split.leaked_rows");
  EXPECT_EQ(cause.when[0].op, Operator::kAbove);
  EXPECT_EQ(cause.when[0].value, 0.0);
  ASSERT_EQ(cause.explains.size(), 1U);
  EXPECT_EQ(cause.explains[0].of_lost, "scaling.strong_efficiency");
}

TEST(Catalogue, KeepsTreeOrderWhateverTheFileOrder) {
  const auto parsed =
      ParseCatalogue(OneCause("H1", "hardware") + OneCause("M1", "model") +
                         OneCause("D1", "data") + OneCause("D0", "data"),
                     "causes.toml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
  std::vector<std::string> ids;
  for (const Cause& cause : parsed->causes) ids.push_back(cause.id);
  EXPECT_THAT(ids, ElementsAre("D1", "D0", "M1", "H1"));
  EXPECT_EQ(parsed->Find("M1")->layer, "model");
  EXPECT_EQ(parsed->Find("M9"), nullptr);
}

struct Refusal {
  std::string name;
  std::string text;
  std::string where;
  std::string what;
  std::string help;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class RefusedCatalogue : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedCatalogue, NamesTheLineAndTheNextStep) {
  const Refusal& refusal = GetParam();
  const auto parsed = ParseCatalogue(refusal.text, "causes.toml");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().exit_code, base::ExitCode::kUsage);
  EXPECT_EQ(parsed.error().where, refusal.where);
  EXPECT_THAT(parsed.error().what, HasSubstr(refusal.what));
  EXPECT_THAT(parsed.error().help, HasSubstr(refusal.help));
}

const std::string kGood = OneCause("D1", "data");

INSTANTIATE_TEST_SUITE_P(
    All, RefusedCatalogue,
    ::testing::Values(
        Refusal{"unknown_key", Replaced(kGood, "title", "titel"), "causes.toml:1",
                "`title` is missing", "title"},
        Refusal{"extra_key", kGood + "onwer = \"x\"\n", "causes.toml:11",
                "unknown key `onwer`", "did you mean `owner`?"},
        Refusal{"duplicate_id", kGood + OneCause("D1", "model"), "causes.toml:12",
                "`D1` is given twice", "causes.toml:2"},
        Refusal{"unknown_layer", OneCause("D1", "software"), "causes.toml:3",
                "`software` is not a known layer", "known: data, model"},
        Refusal{
            "unknown_fact", Replaced(kGood, "split.leaked_rows", "split.leaked_row"),
            "causes.toml:10", "not a known fact", "did you mean `split.leaked_rows`?"},
        Refusal{"bad_op", Replaced(kGood, "\">\"", "\"=>\""), "causes.toml:10",
                "`=>` is not a comparison", ">="},
        Refusal{"value_is_text", Replaced(kGood, "value = 0", "value = \"0\""),
                "causes.toml:10", "must be a number", ""},
        Refusal{"value_is_nan", Replaced(kGood, "value = 0", "value = nan"),
                "causes.toml:10", "must be a number", ""},
        Refusal{"unknown_category", Replaced(kGood, "quality", "qualty"),
                "causes.toml:5", "`qualty` is not a known category",
                "did you mean `quality`?"},
        Refusal{"no_category", Replaced(kGood, "\"quality\"", ""), "causes.toml:5",
                "at least one", "affects"},
        Refusal{"no_signature", kGood.substr(0, kGood.find("when")), "causes.toml:1",
                "`D1` has no signature", "[[cause.when]]"},
        Refusal{"unknown_competitor", kGood + "competitors = [\"D9\"]\n",
                "causes.toml:11", "`D9` is not a known cause", "D1"},
        Refusal{"empty_fix", Replaced(kGood, "\"f\"", "\" \""), "causes.toml:8",
                "`fix` is empty", "sentence"},
        Refusal{
            "share_of_another_metric",
            kGood + "[[cause.explains]]\nfor = \"leak\"\npart = \"comm.wait_share\"\n",
            "causes.toml:12", "`leak` is not a known category of this cause", ""},
        Refusal{"share_of_two_things",
                kGood + "[[cause.explains]]\nfor = \"quality\"\npart = "
                        "\"comm.wait_share\"\nof = \"comm.exposed_share\"\n"
                        "of_lost = \"scaling.weak_efficiency\"\n",
                "causes.toml:15", "together", "keep one"},
        Refusal{"no_cause", "# nothing\n", "causes.toml", "names no cause",
                "[[cause]]"},
        Refusal{"syntax", "[[cause]\n", "causes.toml:1", "", "TOML"}),
    [](const auto& row) { return row.param.name; });

TEST(Catalogue, MissingFileIsNamed) {
  const auto loaded = LoadCatalogue("/nonexistent/causes.toml");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().id, "BASE-0001");
  EXPECT_EQ(loaded.error().where, "/nonexistent/causes.toml");
}

}  // namespace
}  // namespace stepslack::diagnose
