#include "stepslack/base/file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "stepslack/base/digest.h"

namespace stepslack::base {
namespace {

TEST(FileTest, AtomicWriteReplacesContentAndLeavesNoTemporary) {
  std::string folder = testing::TempDir() + "/fileXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/a/b.txt";
  ASSERT_TRUE(WriteFileAtomic(path, "one").has_value());
  ASSERT_TRUE(WriteFileAtomic(path, "two").has_value());
  EXPECT_EQ(ReadFile(path).value(), "two");
  EXPECT_EQ(ListFolder(folder + "/a").value(), (std::vector<std::string>{"b.txt"}));
  std::filesystem::remove_all(folder);
}

TEST(FileTest, AFileInPiecesAppearsWholeOrNotAtAll) {
  std::string folder = testing::TempDir() + "/piecesXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/x";
  ASSERT_TRUE(WriteFileAtomic(path, "old").has_value());
  {
    auto dropped = AtomicFile::Create(path);
    ASSERT_TRUE(dropped.has_value());
    ASSERT_TRUE(dropped->Append("half").has_value());
  }
  EXPECT_EQ(ReadFile(path).value(), "old");
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->Append("one ").has_value());
  ASSERT_TRUE(file->Append("two").has_value());
  EXPECT_EQ(ReadFile(path).value(), "old");
  ASSERT_TRUE(file->Commit().has_value());
  EXPECT_EQ(ReadFile(path).value(), "one two");
  EXPECT_EQ(ListFolder(folder).value(), (std::vector<std::string>{"x"}));
  std::filesystem::remove_all(folder);
}

TEST(FileTest, UnwritableFolderIsAnEnvironmentError) {
  const Status status = WriteFileAtomic("/dev/full/x", "data");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().id, "BASE-0002");
  EXPECT_EQ(status.error().exit_code, ExitCode::kEnvironment);
}

TEST(FileTest, ResultGoesThroughSymlinksAndIntoDevices) {
  std::string folder = testing::TempDir() + "/resultXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(WriteFileAtomic(folder + "/target", "old").has_value());
  std::filesystem::create_symlink(folder + "/target", folder + "/link");
  ASSERT_TRUE(WriteResult(folder + "/link", "new").has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(ReadFile(folder + "/target").value(), "new");
  std::filesystem::create_symlink("/dev/null", folder + "/null");
  ASSERT_TRUE(WriteResult(folder + "/null", "gone").has_value());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::remove_all(folder);
}

TEST(FileTest, PipeIsRefusedInsteadOfWaitedFor) {
  const std::string path = testing::TempDir() + "/file_test_pipe";
  ::unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(path).error().id, "BASE-0011");
  ::unlink(path.c_str());
}

TEST(FileTest, MissingFileIsNamed) {
  const auto content = ReadFile("/nonexistent/x");
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().id, "BASE-0001");
  EXPECT_EQ(content.error().where, "/nonexistent/x");
}

TEST(FileTest, FolderInsteadOfFileIsAnError) {
  EXPECT_EQ(ReadFile("/").error().id, "BASE-0008");
}

RC_GTEST_PROP(GzipTest, GunzipInvertsGzip, (const std::string& bytes)) {
  RC_ASSERT(Gunzip(Gzip(bytes), "x").value() == bytes);
}

TEST(GzipTest, TruncatedDataIsAnErrorNotAShortResult) {
  const std::string packed = Gzip(std::string(100000, 'a') + "b");
  const auto out =
      Gunzip(std::string_view(packed).substr(0, packed.size() - 9), "t.gz");
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().id, "BASE-0003");
}

TEST(GzipTest, ConcatenatedMembersAreJoined) {
  EXPECT_EQ(Gunzip(Gzip("ab") + Gzip("cd"), "x").value(), "abcd");
}

TEST(GzipTest, SameInputSameBytes) { EXPECT_EQ(Gzip("abc"), Gzip("abc")); }

TEST(DigestTest, MatchesThePublishedTestVector) {
  EXPECT_EQ(Sha256Of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace stepslack::base
