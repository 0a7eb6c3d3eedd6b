#include "stepslack/evidence/capsule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "example_review.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::evidence {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A room with two artifacts and the capsule over them, removed at the end.
class Room {
 public:
  Room() {
    std::string name = std::filesystem::temp_directory_path() / "capsule.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ReviewInputs inputs = ExampleReview();
    inputs.artifacts = {Keep("split audit", "audit.json", "{\"leaked\": 0}\n"),
                        Keep("runtime profile", "reports/profile.json", "12 ms\n")};
    const auto review = BuildReview(inputs);
    EXPECT_TRUE(review.has_value());
    capsule_ = CapsuleJson(*review);
    Write("capsule.json", capsule_.Dump());
  }
  ~Room() { std::filesystem::remove_all(folder_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Plain writes: atomic ones sync the disk, which is slow in a loop.
  void Write(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories(base::ParentFolder(Path(path)));
    std::ofstream(Path(path), std::ios::binary) << content;
  }
  std::string Read(const std::string& path) const {
    return base::ReadFile(Path(path)).value();
  }
  std::string Path(const std::string& path) const {
    return base::JoinPath(folder_, path);
  }
  auto Verify() const { return VerifyCapsule(Path("capsule.json"), folder_); }
  const base::Json& capsule() const { return capsule_; }
  const std::string& folder() const { return folder_; }

 private:
  Artifact Keep(const std::string& name, const std::string& path,
                const std::string& content) const {
    Write(path, content);
    return {name, path, base::Sha256Of(content)};
  }

  std::string folder_;
  base::Json capsule_;
};

std::string Flip(std::string bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

TEST(Capsule, VerifiesAgainstTheFilesItNames) {
  const Room room;
  const auto check = room.Verify();
  ASSERT_TRUE(check.has_value()) << base::Describe(check.error());
  EXPECT_TRUE(check->Intact());
  ASSERT_EQ(check->artifacts.size(), 2U);
  EXPECT_EQ(check->artifacts[1].artifact.path, "reports/profile.json");
}

TEST(Capsule, CarriesFieldsTagsVerdictsAndDigests) {
  const Room room;
  const base::Json& capsule = room.capsule();
  EXPECT_EQ(capsule["schema"].AsString(), "stepslack.capsule/1");
  EXPECT_EQ(capsule["tags"]["model"].AsString(), std::string(64, 'b'));
  ASSERT_EQ(capsule["requirements"].AsArray().size(), 3U);
  EXPECT_EQ(capsule["requirements"].AsArray()[0]["verdict"].AsString(), "met");
  EXPECT_EQ(capsule["artifacts"].AsArray().size(), 2U);
  EXPECT_EQ(capsule["digest"].AsString().size(), 64U);
}

TEST(Capsule, EveryFlippedByteOfAnArtifactIsFound) {
  const Room room;
  const std::string good = room.Read("audit.json");
  for (size_t i = 0; i < good.size(); ++i) {
    room.Write("audit.json", Flip(good, i));
    const auto check = room.Verify();
    ASSERT_FALSE(check.has_value()) << "byte " << i;
    EXPECT_EQ(check.error().id, "EVID-0007");
    EXPECT_EQ(check.error().exit_code, base::ExitCode::kIntegrity);
    EXPECT_EQ(check.error().what,
              "1 of 2 artifacts do not match: audit.json is changed");
  }
}

TEST(Capsule, MissingAndChangedFilesAreAllNamed) {
  const Room room;
  std::filesystem::remove(room.Path("reports/profile.json"));
  room.Write("audit.json", "");
  const auto check = room.Verify();
  ASSERT_FALSE(check.has_value());
  EXPECT_EQ(check.error().exit_code, base::ExitCode::kIntegrity);
  EXPECT_EQ(
      check.error().what,
      "2 of 2 artifacts do not match: audit.json is changed, reports/profile.json is "
      "missing");
  const auto inspected = InspectCapsule(room.Path("capsule.json"), room.folder());
  ASSERT_TRUE(inspected.has_value());
  EXPECT_FALSE(inspected->Intact());
  EXPECT_EQ(inspected->artifacts[1].state, ArtifactState::kMissing);
}

TEST(Capsule, ChangedDecisionIsFound) {
  const Room room;
  base::Json forged = room.capsule();
  forged.Set("decision", "rollback");
  room.Write("capsule.json", forged.Dump());
  const auto check = room.Verify();
  ASSERT_FALSE(check.has_value());
  EXPECT_EQ(check.error().id, "EVID-0005");
  EXPECT_EQ(check.error().exit_code, base::ExitCode::kIntegrity);
}

// A flip either breaks the JSON, or the schema, or the digest; a flip that only changes
// white space leaves the same body.
RC_GTEST_PROP(CapsuleProperty, FlippedByteOfTheCapsuleIsRefused, ()) {
  const Room room;
  const std::string good = room.Read("capsule.json");
  const auto at = *rc::gen::inRange<size_t>(0, good.size());
  RC_PRE(good[at] != ' ' && good[at] != '\n');
  room.Write("capsule.json", Flip(good, at));
  RC_ASSERT(!room.Verify().has_value());
}

TEST(Capsule, OtherFilesAreNotCapsules) {
  const Room room;
  for (const char* text : {"", "[]", "{\"schema\": \"stepslack.review/1\"}", "{"}) {
    room.Write("capsule.json", text);
    const auto check = room.Verify();
    ASSERT_FALSE(check.has_value()) << text;
    EXPECT_EQ(check.error().id, "EVID-0004");
  }
  EXPECT_EQ(VerifyCapsule(room.Path("gone.json"), room.folder()).error().id,
            "BASE-0001");
}

TEST(Capsule, PathOutsideTheRoomIsRefusedUnread) {
  for (const char* path : {"/etc/hostname", "../x", "a/../../x", ""}) {
    const Room room;
    base::Json forged;
    forged.Set("schema", kCapsuleSchema);
    base::Json artifact;
    artifact.Set("name", "a").Set("path", path);
    forged.Set("artifacts", base::Json::Array{artifact});
    forged.Set("digest", base::Sha256Of(forged.Dump(-1)));
    room.Write("capsule.json", forged.Dump());
    const auto check = room.Verify();
    ASSERT_FALSE(check.has_value()) << path;
    EXPECT_EQ(check.error().id, "EVID-0006") << path;
  }
}

TEST(Capsule, TextShowsTheSevenFieldsInOrder) {
  base::Json capsule;
  capsule.Set("path", "a/b")
      .Set("workload_slice", "two\nlines")
      .Set("decision", "ship");
  capsule.Set("primary_artifact", "audit (audit.json)").Set("digest", "d1");
  capsule.Set("primary_metric", "m").Set("first_failing_layer", "data");
  capsule.Set("owner", "o").Set("primary_artifact_sha256", "a1");
  EXPECT_EQ(CapsuleText(capsule),
            "PATH                 a/b\n"
            "WORKLOAD SLICE       two lines\n"
            "PRIMARY METRIC       m\n"
            "FIRST FAILING LAYER  data\n"
            "OWNER                o\n"
            "PRIMARY ARTIFACT     audit (audit.json) sha256:a1\n"
            "DECISION             ship\n"
            "\n"
            "capsule sha256:d1\n");
}

}  // namespace
}  // namespace stepslack::evidence
