#include "stepslack/study/study_file.h"

#include <gtest/gtest.h>

namespace stepslack::study {
namespace {

constexpr const char* kArms = R"(
title = "two"
kind = "arms"
seeds = [4, 5]
[run]
command = "t.py --lr {lr} --seed {seed}"
[objective]
metric = "loss"
[[arm]]
name = "a"
values = {lr = 0.1}
[[arm]]
name = "b"
values = {lr = 0.2}
)";

std::string With(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

base::Error ErrorOf(const std::string& text) {
  const auto study = ParseStudyFile(text, "s.toml");
  EXPECT_FALSE(study.has_value()) << text;
  return study ? base::Error{} : study.error();
}

TEST(StudyFile, ReadsArmsInTheOrderOfTheFile) {
  const auto study = ParseStudyFile(kArms, "s.toml");
  ASSERT_TRUE(study.has_value());
  ASSERT_EQ(study->arms.size(), 2u);
  EXPECT_EQ(study->arms[1].name, "b");
  EXPECT_EQ(study->arms[1].values.at("lr").AsDouble(), 0.2);
  EXPECT_EQ(study->seeds, (std::vector<uint64_t>{4, 5}));
}

TEST(StudyFile, NamesTheLineOfAnUnknownKeyAndWhatWasMeant) {
  const auto error = ErrorOf(With(kArms, "seeds", "sedes"));
  EXPECT_EQ(error.where, "s.toml:4");
  EXPECT_NE(error.help.find("seeds"), std::string::npos);
}

TEST(StudyFile, RefusesAPlaceholderWithoutAValue) {
  const auto error = ErrorOf(With(kArms, "{lr}", "{lrr}"));
  EXPECT_NE(error.what.find("{lrr}"), std::string::npos);
}

TEST(StudyFile, RefusesAnArmThatChangesNothing) {
  const auto error = ErrorOf(With(kArms, "--lr {lr}", ""));
  EXPECT_NE(error.what.find("{lr} is not in the command"), std::string::npos);
}

TEST(StudyFile, RefusesSeedsThatTheCommandDoesNotTake) {
  const auto error = ErrorOf(With(kArms, "--seed {seed}", ""));
  EXPECT_NE(error.what.find("{seed}"), std::string::npos);
}

TEST(StudyFile, RefusesAPatternWithoutAGroup) {
  const auto error = ErrorOf(
      With(kArms, "metric = \"loss\"", "metric = \"loss\"\npattern = 'loss .*'"));
  EXPECT_NE(error.what.find("one group"), std::string::npos);
}

TEST(StudyFile, RefusesTheSameSeedTwice) {
  EXPECT_EQ(ErrorOf(With(kArms, "[4, 5]", "[4, 4]")).where, "s.toml:4");
}

}  // namespace
}  // namespace stepslack::study
