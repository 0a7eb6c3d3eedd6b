// Known answers on public sets; see the INDEX of the shared data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "stepslack/audit/data_audit.h"

namespace stepslack::audit {
namespace {

std::filesystem::path Vlsi() {
  const char* source = std::getenv("STEPSLACK_SOURCE");
  return std::filesystem::path(source != nullptr ? source : ".") /
         "../shared/data/vlsi";
}

const Finding* Find(const DataAudit& audit, const std::string& id) {
  const auto found = std::ranges::find(audit.findings, id, &Finding::id);
  return found == audit.findings.end() ? nullptr : &*found;
}

class KnownSets : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Vlsi())) {
      GTEST_SKIP() << "no shared data at " << Vlsi();
    }
  }
};

TEST_F(KnownSets, CircuitNetManifestHas4216DistinctMapsOf10606) {
  const auto audit = AuditData(Vlsi() / "circuitnet-n14-manifest/manifest.json.gz", {});
  ASSERT_TRUE(audit.has_value());
  const Finding* same = Find(*audit, "exact_duplicates");
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(audit->rows, 10606);
  EXPECT_EQ(same->facts.at("distinct"), 4216);
  EXPECT_EQ(same->rows, 10280);
  EXPECT_EQ(same->facts.at("largest_group"), 4);
  EXPECT_EQ(same->facts.at("groups_across_leakage_units"), 0);
  const Finding* leak = Find(*audit, "random_split_leak");
  ASSERT_NE(leak, nullptr);
  // 85.5 % under another shuffle; the deviation between shuffles is 0.7 points.
  EXPECT_NEAR(leak->share, 0.855, 0.02);
}

TEST_F(KnownSets, IccadPairsShareCurrentAndPadDistanceAndNothingElse) {
  const auto audit = AuditData(Vlsi() / "iccad23-irdrop", {});
  ASSERT_TRUE(audit.has_value());
  for (const char* id : {"exact_channel:current", "exact_channel:pad_distance"}) {
    const Finding* finding = Find(*audit, id);
    if (finding == nullptr) {  // shared by design: a warning
      const auto warned = std::ranges::find(audit->warnings, id, &Finding::id);
      ASSERT_NE(warned, audit->warnings.end()) << id;
      finding = &*warned;
    }
    EXPECT_EQ(finding->facts.at("pairs"), 3);
    EXPECT_EQ(finding->rows, 6);
  }
  EXPECT_EQ(Find(*audit, "exact_maps"), nullptr);
}

TEST_F(KnownSets, OwnIrDropMapsHoldNoCopiesAcrossFamilies) {
  const auto audit = AuditData(Vlsi() / "own-irdrop", {});
  ASSERT_TRUE(audit.has_value());
  EXPECT_EQ(audit->rows, 96);
  EXPECT_EQ(audit->groups, 24);
  EXPECT_TRUE(audit->findings.empty());
}

}  // namespace
}  // namespace stepslack::audit
