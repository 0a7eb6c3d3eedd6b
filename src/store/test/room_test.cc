#include "stepslack/store/room.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::store {
namespace {

class RoomTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/roomXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(RoomTest, StageSurvivesClosingAndKeepsItsObjects) {
  std::string digest;
  {
    auto room = Room::Open(folder_);
    ASSERT_TRUE(room.has_value()) << base::Describe(room.error());
    digest = room->PutBytes("maps").value();
    StageOutput output;
    output.value.Set("n", 3);
    output.objects["maps"] = digest;
    ASSERT_TRUE(room->SaveStage("ingest", "k1", output, 1.5).has_value());
  }
  auto room = Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  const auto found = room->FindStage("ingest", "k1");
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->value["n"].AsInt(), 3);
  EXPECT_EQ(room->GetBytes((*found)->objects.at("maps")).value(), "maps");
  EXPECT_FALSE(room->FindStage("ingest", "k2")->has_value());
  EXPECT_EQ(digest, base::Sha256Of("maps"));
}

TEST_F(RoomTest, StageWithTruncatedObjectCountsAsNotDone) {
  auto room = Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  StageOutput output;
  output.objects["maps"] = room->PutBytes("maps").value();
  ASSERT_TRUE(room->SaveStage("ingest", "k", output, 0).has_value());
  std::filesystem::resize_file(room->ObjectPath(output.objects["maps"]), 2);
  EXPECT_FALSE(room->FindStage("ingest", "k")->has_value());
}

TEST_F(RoomTest, AlteredObjectIsAnIntegrityError) {
  auto room = Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  const std::string digest = room->PutBytes("maps").value();
  ASSERT_TRUE(base::WriteFileAtomic(room->ObjectPath(digest), "mapz").has_value());
  const auto bytes = room->GetBytes(digest);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().id, "STORE-0005");
  EXPECT_EQ(bytes.error().exit_code, base::ExitCode::kIntegrity);
}

TEST_F(RoomTest, SecondProcessIsRefusedAndKilledOwnerFreesTheRoom) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto held = Room::Open(folder_);
    [[maybe_unused]] const auto size = write(pipe_ends[1], "x", 1);
    pause();
    _exit(0);
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  const auto refused = Room::Open(folder_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "STORE-0002");
  EXPECT_EQ(refused.error().exit_code, base::ExitCode::kEnvironment);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Room::Open(folder_).has_value());
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(RoomTest, FolderWithForeignContentIsRefused) {
  ASSERT_TRUE(base::WriteFileAtomic(folder_ + "/thesis.tex", "x").has_value());
  const auto room = Room::Open(folder_);
  ASSERT_FALSE(room.has_value());
  EXPECT_EQ(room.error().id, "STORE-0001");
}

TEST_F(RoomTest, DamagedLedgerIsNamedAsIntegrityError) {
  { ASSERT_TRUE(Room::Open(folder_).has_value()); }
  ASSERT_TRUE(
      base::WriteFileAtomic(folder_ + "/.stepslack/ledger.db", std::string(8192, 'x'))
          .has_value());
  std::filesystem::remove(folder_ + "/.stepslack/ledger.db-wal");
  const auto room = Room::Open(folder_);
  ASSERT_FALSE(room.has_value());
  EXPECT_EQ(room.error().id, "STORE-0004");
  EXPECT_EQ(room.error().exit_code, base::ExitCode::kIntegrity);
}

TEST_F(RoomTest, PutFileMovesTheFileUnderItsDigest) {
  auto room = Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  const std::string path = room->ScratchFolder() + "/a";
  ASSERT_TRUE(base::WriteFileAtomic(path, "tiles").has_value());
  const auto digest = room->PutFile(path);
  ASSERT_TRUE(digest.has_value());
  EXPECT_FALSE(base::PathExists(path));
  EXPECT_EQ(room->GetBytes(*digest).value(), "tiles");
}

}  // namespace
}  // namespace stepslack::store
