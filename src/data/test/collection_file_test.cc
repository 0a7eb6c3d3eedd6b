#include "stepslack/data/collection_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sample_maps.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/json.h"
#include "stepslack/data/lineage.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using testing::SizeIs;

std::string BytesOf(const MapCollection& collection) {
  TempFolder folder;
  EXPECT_TRUE(WriteCollection(collection, folder.Join("c.maps")));
  return *base::ReadFile(folder.Join("c.maps"));
}

// A file with a correct digest around any header and planes.
std::string Forge(const std::string& header, size_t plane_bytes, uint64_t length) {
  std::string bytes = "SSMAPS1\n";
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += header + std::string(plane_bytes, '\0');
  return bytes + base::Sha256Of(bytes);
}
std::string Forge(const std::string& header, size_t plane_bytes = 0) {
  return Forge(header, plane_bytes, header.size());
}

TEST(CollectionFile, ReadsBackWhatWasWritten) {
  TempFolder folder;
  MapCollection collection = GroupedCollection(2, 2);
  collection.target_name = "drop";
  collection.maps.push_back(RandomMap("odd \"name\"\n", "g", 9, 3, 5));
  const std::string path = folder.Join("deep/er/c.maps");
  ASSERT_TRUE(WriteCollection(collection, path));
  const auto read = ReadCollection(path);
  ASSERT_TRUE(read.has_value()) << base::Describe(read.error());
  EXPECT_EQ(DigestOf(*read), DigestOf(collection));
  EXPECT_EQ(read->maps[4].id, collection.maps[4].id);
  EXPECT_EQ(read->maps[4].channels, collection.maps[4].channels);
  EXPECT_TRUE(read->channels[1].categorical);
  EXPECT_THAT(*base::ListFolder(folder.Join("deep/er")),
              SizeIs(1));  // nothing left over
}

TEST(CollectionFile, WritesTheSameBytesAgainAndAnEmptyCollection) {
  EXPECT_EQ(BytesOf(GroupedCollection(2, 1)), BytesOf(GroupedCollection(2, 1)));
  const auto empty = ParseCollection(BytesOf(EmptyCollection()), "c");
  ASSERT_TRUE(empty.has_value());
  EXPECT_THAT(empty->maps, SizeIs(0));
  EXPECT_THAT(empty->channels, SizeIs(3));
}

TEST(CollectionFile, AMissingFileAndAFolderAreNamed) {
  TempFolder folder;
  EXPECT_EQ(ReadCollection(folder.Join("none")).error().id, "DATA-0082");
  EXPECT_EQ(ReadCollection(folder.path()).error().id, "DATA-0082");
}

TEST(CollectionFile, AFileThatCanNotBeWrittenIsAnEnvironmentError) {
  TempFolder folder;
  std::filesystem::create_directory(folder.Join("taken"));
  const auto status = WriteCollection(EmptyCollection(), folder.Join("taken"));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().id, "DATA-0083");
  EXPECT_EQ(status.error().exit_code, ExitCode::kEnvironment);
  EXPECT_THAT(*base::ListFolder(folder.path()), SizeIs(1));
}

TEST(CollectionFile, HeadersThatDoNotFitAreIntegrityErrors) {
  const std::string good =
      R"({"schema":"stepslack.maps/1","channels":[{"name":"a"}],"maps":)";
  const std::string huge = "9223372036854775807";
  const std::vector<std::string> files = {
      "",
      "SSMAPS1\n",
      "PK\x03\x04 something else",
      Forge("{}"),
      Forge("not json"),
      Forge(good + "[]}", 4),
      Forge(good + "[]}", 0, 1u << 30),
      Forge(good + R"([{"id":"m","height":1,"width":1}]})", 4),
      Forge(good + R"([{"id":"m","height":0,"width":1}]})"),
      Forge(good + R"([{"id":"m","height":-1,"width":-2}]})", 16),
      Forge(good + R"([{"id":"m","height":)" + huge + R"(,"width":)" + huge + "}]}"),
      Forge(good + R"([{"id":"m","height":1048576,"width":1048576}]})"),
      Forge(good +
                R"([{"id":"m","height":1,"width":1},{"id":"m","height":1,"width":1}]})",
            16)};
  for (const std::string& file : files) {
    const auto read = ParseCollection(file, "c.maps");
    ASSERT_FALSE(read.has_value()) << file;
    EXPECT_EQ(read.error().id, "DATA-0080") << file;
    EXPECT_EQ(read.error().exit_code, ExitCode::kIntegrity);
    EXPECT_EQ(read.error().where, "c.maps");
  }
  const auto fits =
      ParseCollection(Forge(good + R"([{"id":"m","height":1,"width":1}]})", 8), "c");
  EXPECT_TRUE(fits.has_value());
}

RC_GTEST_PROP(CollectionFile, OneFlippedBitIsRefused, ()) {
  static const std::string bytes = [] {
    MapCollection collection = EmptyCollection();
    collection.maps.push_back(RandomMap("m", "g", 1, 4, 4));
    return BytesOf(collection);
  }();
  RC_ASSERT(ParseCollection(bytes, "c").has_value());
  std::string damaged = bytes;
  const auto at = *rc::gen::inRange<size_t>(0, damaged.size());
  damaged[at] = static_cast<char>(damaged[at] ^ (1 << *rc::gen::inRange(0, 8)));
  const auto read = ParseCollection(damaged, "c");
  RC_ASSERT(!read.has_value());
  RC_ASSERT(read.error().exit_code == ExitCode::kIntegrity);
}

RC_GTEST_PROP(CollectionFile, ACutFileIsRefused, ()) {
  MapCollection collection = EmptyCollection();
  collection.maps.push_back(RandomMap("m", "g", 1, 4, 4));
  const std::string bytes = BytesOf(collection);
  const auto size = *rc::gen::inRange<size_t>(0, bytes.size());
  const auto read = ParseCollection(std::string_view(bytes).substr(0, size), "c");
  RC_ASSERT(!read.has_value());
  RC_ASSERT(read.error().exit_code == ExitCode::kIntegrity);
}

}  // namespace
}  // namespace stepslack::data
