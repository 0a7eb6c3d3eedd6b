// Walks the reference values (SciPy, R and published vectors) entry by entry. An entry
// that no check names fails EveryEntryIsChecked; a check of no entry fails its own
// test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "reference_entry.h"
#include "stepslack/base/file.h"

namespace stepslack::stats {
namespace {

std::string ReferencePath() {
  const char* shared = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  std::string folder;
  if (shared != nullptr) {
    folder = shared;
  } else if (source != nullptr) {
    folder = std::string(source) + "/../shared";
  }
  return folder + "/reference/statistics.json";
}

const ReferenceChecks& AllChecks() {
  static const ReferenceChecks checks = [] {
    ReferenceChecks all;
    for (const auto& part : {InferenceChecks(), DriftChecks(), CalibrationChecks(),
                             DecisionChecks(), EvidenceChecks()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return checks;
}

base::Json ReadReference() {
  const auto text = base::ReadFile(ReferencePath());
  if (!text.has_value()) return {};
  return base::ParseJson(*text, ReferencePath()).value_or(base::Json());
}

class Reference : public testing::TestWithParam<ReferenceCheck> {};

TEST_P(Reference, IsReproduced) {
  if (!base::PathExists(ReferencePath())) {
    GTEST_SKIP() << "no reference values at " << ReferencePath();
  }
  const base::Json root = ReadReference();
  const base::Json& json = root["values"][GetParam().id];
  ASSERT_TRUE(json.is_object()) << "no such entry: " << GetParam().id;
  Entry entry(json);
  GetParam().check(entry);
}

INSTANTIATE_TEST_SUITE_P(Entries, Reference, testing::ValuesIn(AllChecks()),
                         [](const auto& test) { return std::string(test.param.id); });

TEST(ReferenceTable, EveryEntryIsCheckedOnce) {
  std::set<std::string, std::less<>> checked;
  for (const ReferenceCheck& check : AllChecks()) {
    EXPECT_TRUE(checked.insert(check.id).second) << check.id << " is checked twice";
  }
  if (!base::PathExists(ReferencePath())) {
    GTEST_SKIP() << "no reference values at " << ReferencePath();
  }
  const base::Json root = ReadReference();
  EXPECT_EQ(root["values"].AsObject().size(), 67U);
  for (const auto& [id, entry] : root["values"].AsObject()) {
    EXPECT_TRUE(checked.contains(id)) << "no check of " << id;
  }
}

}  // namespace
}  // namespace stepslack::stats
