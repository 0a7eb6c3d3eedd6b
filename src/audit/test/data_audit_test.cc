#include "stepslack/audit/data_audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "stepslack/base/random.h"
#include "stepslack/record/array_file.h"

namespace stepslack::audit {
namespace {

const Finding* Find(const DataAudit& audit, const std::string& id) {
  const auto found = std::ranges::find(audit.findings, id, &Finding::id);
  return found == audit.findings.end() ? nullptr : &*found;
}

CheckVerdict VerdictOf(const DataAudit& audit, const std::string& id) {
  const auto found = std::ranges::find(audit.checks, id, &CheckResult::id);
  return found == audit.checks.end() ? CheckVerdict::kNotRun : found->verdict;
}

class DataAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("stepslack_audit_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  // 12 groups of 20 rows, ten features, a label that follows from three of them.
  static std::string Rows(uint64_t seed = 3) {
    base::Random random(seed);
    std::string text = "id,family";
    for (int c = 0; c < 10; ++c) text += ",f" + std::to_string(c);
    text += ",label\n";
    for (int row = 0; row < 240; ++row) {
      const std::string names[] = {"adder", "crc", "fifo", "alu",   "mult", "shift",
                                   "lfsr",  "fsm", "sort", "count", "mux",  "dec"};
      text += "s" + std::to_string(row) + "," + names[row % 12];
      double label = 0;
      for (int c = 0; c < 10; ++c) {
        const double value = random.Normal() + 5;
        if (c < 3) label += value;
        text += "," + std::to_string(value);
      }
      text += "," + std::to_string(label + 0.1 * random.Normal()) + "\n";
    }
    return text;
  }

  // Whole families in test: every third.
  static std::string SplitByFamily() {
    std::string text = "id,part\n";
    for (int row = 0; row < 240; ++row) {
      text += "s" + std::to_string(row) + (row % 12 < 3 ? ",test\n" : ",train\n");
    }
    return text;
  }

  std::filesystem::path folder_;
};

TEST_F(DataAuditTest, ACleanTableWithAnHonestSplitHasNoFinding) {
  const auto audit =
      AuditData(Write("a.csv", Rows()), {.split = Write("s.csv", SplitByFamily())});
  ASSERT_TRUE(audit.has_value());
  for (const Finding& finding : audit->findings) ADD_FAILURE() << finding.id;
  EXPECT_EQ(audit->rows, 240);
  EXPECT_EQ(audit->groups, 12);
  EXPECT_EQ(VerdictOf(*audit, "near_duplicates"), CheckVerdict::kPassed);
}

TEST_F(DataAuditTest, ARandomSplitOfFamiliesIsAGroupOverlapWithItsPrice) {
  std::string split = "id,part\n";
  for (int row = 0; row < 240; ++row) {
    split += "s" + std::to_string(row) + (row % 5 == 0 ? ",test\n" : ",train\n");
  }
  const auto audit =
      AuditData(Write("a.csv", Rows()), {.split = Write("s.csv", split)});
  ASSERT_TRUE(audit.has_value());
  const Finding* finding = Find(*audit, "group_overlap");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->rows, 48);
  EXPECT_EQ(finding->leakage_type, leakage::kNonIndependence);
  EXPECT_TRUE(finding->metric_with.has_value());
  EXPECT_TRUE(finding->metric_group_split.has_value());
}

TEST_F(DataAuditTest, ACopiedRowUnderAnotherNameIsFoundAcrossTheSplit) {
  std::string rows = Rows();
  // Row s1 (test) once more as a row of train, with another id.
  const size_t start = rows.find("s1,"), end = rows.find('\n', start);
  rows += "copy," + rows.substr(start + 3, end - start - 3) + "\n";
  const auto audit =
      AuditData(Write("a.csv", rows),
                {.split = Write("s.csv", SplitByFamily() + "copy,train\n")});
  ASSERT_TRUE(audit.has_value());
  const Finding* twins = Find(*audit, "twins_across_split");
  ASSERT_NE(twins, nullptr);
  EXPECT_EQ(twins->rows, 1);
  EXPECT_EQ(twins->examples, std::vector<std::string>{"s1"});
  const Finding* same = Find(*audit, "exact_duplicates");
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->facts.at("duplicate_groups"), 1);
}

TEST_F(DataAuditTest, ARowWithOneChangedCellInTenIsANearDuplicate) {
  std::string rows = Rows();
  const size_t start = rows.find("s1,"), end = rows.find('\n', start);
  std::string copy = rows.substr(start, end - start);
  const size_t cell = copy.find(',', copy.find(',') + 1) + 1;  // f0
  copy.replace(cell, copy.find(',', cell) - cell, "123.5");
  rows += "copy" + copy.substr(2) + "\n";
  const auto audit =
      AuditData(Write("a.csv", rows),
                {.split = Write("s.csv", SplitByFamily() + "copy,train\n")});
  ASSERT_TRUE(audit.has_value());
  EXPECT_EQ(Find(*audit, "twins_across_split"), nullptr);
  const Finding* near = Find(*audit, "near_duplicates");
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(near->examples, std::vector<std::string>{"s1 ~ copy"});
}

TEST_F(DataAuditTest, FamiliesByNameAcrossTheSplitAreASuspicion) {
  std::string rows = Rows();
  for (size_t at = 0; (at = rows.find(",crc,", at)) != std::string::npos;) {
    rows.replace(at, 5, ",adder_w8,");
  }
  std::string split = SplitByFamily();  // adder and adder_w8 are both in test
  for (size_t at = 0; (at = split.find("test\n", at)) != std::string::npos; ++at) {
    const size_t line = split.rfind('\n', at) + 1;
    const int row = std::stoi(split.substr(line + 1));
    if (row % 12 == 1) split.replace(at, 4, "train");
  }
  const auto audit = AuditData(Write("a.csv", rows), {.split = Write("s.csv", split)});
  ASSERT_TRUE(audit.has_value());
  const Finding* stems = Find(*audit, "family_names");
  ASSERT_NE(stems, nullptr);
  EXPECT_EQ(stems->examples,
            std::vector<std::string>{"adder_w8 in train, adder in test"});
}

TEST_F(DataAuditTest, AContentHashColumnIsTheIdentity) {
  std::string rows = "sample_id,design,sha1\n";
  for (int i = 0; i < 40; ++i) {
    rows += "d" + std::to_string(i) + ",A,h" + std::to_string(i / 4) + "\n";
  }
  const auto audit = AuditData(Write("m.csv", rows), {});
  ASSERT_TRUE(audit.has_value());
  const Finding* same = Find(*audit, "exact_duplicates");
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->facts.at("distinct"), 10);
  EXPECT_EQ(same->rows, 40);
  EXPECT_NE(Find(*audit, "random_split_leak"), nullptr);
}

TEST_F(DataAuditTest, ALargeFileIsReadInPiecesWithTheSameCounts) {
  base::Random random(1);
  std::vector<float> values(5000 * 16);
  for (float& value : values) value = static_cast<float>(random.Below(1000));
  std::copy_n(values.begin(), 16, values.begin() + 16 * 77);
  std::copy_n(values.begin(), 16, values.begin() + 16 * 4999);
  const std::string path = folder_ / "x.npy";
  ASSERT_TRUE(record::WriteNpy(path, {5000, 16}, values.data()).has_value());
  const auto whole = AuditData(path, {});
  const auto pieces = AuditData(path, {.most_bytes = 1000});
  ASSERT_TRUE(whole.has_value() && pieces.has_value());
  const Finding *a = Find(*whole, "exact_duplicates"),
                *b = Find(*pieces, "exact_duplicates");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(b->rows, 3);
  EXPECT_EQ(a->rows, b->rows);
  EXPECT_EQ(a->facts.at("distinct"), b->facts.at("distinct"));
  EXPECT_EQ(VerdictOf(*pieces, "near_duplicates"), CheckVerdict::kNotRun);
}

TEST_F(DataAuditTest, NamesAColumnThatIsNotThereAndASplitOfOtherIds) {
  const std::string data = Write("a.csv", Rows());
  const auto column = AuditData(data, {.group = "famly"});
  ASSERT_FALSE(column.has_value());
  EXPECT_EQ(column.error().id, "AUDIT-0010");
  EXPECT_NE(column.error().help.find("family"), std::string::npos);
  const auto split =
      AuditData(data, {.split = Write("s.csv", "id,part\nx1,train\nx2,test\n")});
  ASSERT_FALSE(split.has_value());
  EXPECT_EQ(split.error().id, "AUDIT-0011");
}

}  // namespace
}  // namespace stepslack::audit
