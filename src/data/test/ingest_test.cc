#include "stepslack/data/ingest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_maps.h"
#include "stepslack/base/digest.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void WriteCase(const TempFolder& folder, const std::string& name,
               const std::string& current = "1e-6,2e-6\n3e-6,4e-6\n") {
  folder.Write(name + "/current_map.csv", current);
  folder.Write(name + "/eff_dist_map.csv", "0,1\n2,3\n");
  folder.Write(name + "/pdn_density.csv", "0,1\n2,3\n");
  folder.Write(name + "/ir_drop_map.csv", "1e-3,2e-3\n3e-3,5e-3\n");
}

TEST(Ingest, ReadsContestFoldersAndFlatFilesInOurUnits) {
  TempFolder folder;
  WriteCase(folder, "real/testcase1");
  folder.Write("synthetic/map07_current.csv.gz", base::Gzip("5e-6,6e-6,7e-6\n"));
  folder.Write("synthetic/map07_eff_dist.csv.gz", base::Gzip("1,1,1\n"));
  folder.Write("synthetic/map07_pdn_density.csv.gz", base::Gzip("1,1,1\n"));
  folder.Write("synthetic/map07_ir_drop.csv.gz", base::Gzip("1e-3,2e-3,4e-3\n"));
  folder.Write("spice/testcase1.sp", "R1 a b 1\n");
  const auto result = IngestFolder(folder.path());
  ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
  EXPECT_EQ(result->layout, "iccad");
  ASSERT_THAT(result->collection.channels, SizeIs(3));
  EXPECT_EQ(result->collection.channels[0].name, "current");
  EXPECT_TRUE(result->collection.channels[1].categorical);
  EXPECT_EQ(result->collection.channels[2].name, "pad_distance");
  ASSERT_THAT(result->collection.maps, SizeIs(2));
  const WholeMap& real = result->collection.maps[0];
  EXPECT_EQ(real.id, "real/testcase1");
  EXPECT_EQ(real.group, "real/testcase1");
  EXPECT_EQ(real.source, "real");
  EXPECT_THAT(real.channels[0], ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(real.target, ElementsAre(1, 2, 3, 5));
  const WholeMap& flat = result->collection.maps[1];
  EXPECT_EQ(flat.id, "synthetic/map07");
  EXPECT_EQ(flat.source, "synthetic");
  EXPECT_EQ(flat.height, 1);
  EXPECT_EQ(flat.width, 3);
  ASSERT_THAT(result->skipped, SizeIs(1));
  EXPECT_EQ(result->skipped[0].file, "spice/testcase1.sp");
  ASSERT_THAT(result->files, SizeIs(8));
  EXPECT_EQ(result->files[0].file, "real/testcase1/current_map.csv");
  EXPECT_EQ(result->files[0].sha256, base::Sha256Of("1e-6,2e-6\n3e-6,4e-6\n"));
  EXPECT_EQ(result->files[0].bytes, 20);
}

TEST(Ingest, ABadFileCostsItsMapOnlyAndIsNamed) {
  TempFolder folder;
  WriteCase(folder, "real/good");
  WriteCase(folder, "real/nan", "1e-6,nan\n1,1\n");
  WriteCase(folder, "real/ragged", "1e-6,1\n1\n");
  WriteCase(folder, "real/shape", "1e-6,1\n");
  WriteCase(folder, "real/empty", "");
  WriteCase(folder, "real/cut");
  std::string gz = base::Gzip("1e-6,2e-6\n3e-6,4e-6\n");
  std::filesystem::remove(folder.Join("real/cut/current_map.csv"));
  folder.Write("real/cut/current_map.csv.gz", gz.substr(0, gz.size() - 12));
  WriteCase(folder, "real/part");
  std::filesystem::remove(folder.Join("real/part/eff_dist_map.csv"));
  WriteCase(folder, "real/twice");
  folder.Write("real/twice/current_map.csv.gz", gz);
  for (const int threads : {1, 4}) {
    const auto result = IngestFolder(folder.path(), {.threads = threads});
    ASSERT_TRUE(result.has_value());
    ASSERT_THAT(result->collection.maps, SizeIs(1));
    EXPECT_EQ(result->collection.maps[0].id, "real/good");
    std::vector<std::string> found;
    for (const auto& problem : result->problems) {
      found.push_back(problem.id + " " + problem.where);
    }
    EXPECT_THAT(found, ElementsAre("BASE-0003 real/cut/current_map.csv.gz",
                                   "DATA-0010 real/empty/current_map.csv",
                                   "DATA-0013 real/nan/current_map.csv:1",
                                   "DATA-0020 real/part",
                                   "DATA-0012 real/ragged/current_map.csv:2",
                                   "DATA-0021 real/shape/pdn_density.csv",
                                   "DATA-0023 real/twice/current_map.csv.gz"));
    EXPECT_THAT(Describe(*result), HasSubstr("7 maps not readable"));
    EXPECT_EQ(ToJson(*result)["problems"].AsArray().size(), 7u);
  }
}

TEST(Ingest, RefusesWhatHoldsNoMaps) {
  TempFolder folder;
  EXPECT_EQ(IngestFolder(folder.Join("absent")).error().id, "DATA-0001");
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0002");
  folder.Write("readme.txt", "hello");
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0002");
  EXPECT_EQ(IngestFolder(folder.Join("readme.txt")).error().id, "DATA-0001");
  folder.Write("real/a/current_map.csv", "1,2\n");
  const auto result = IngestFolder(folder.path());
  EXPECT_EQ(result.error().id, "DATA-0004");
  EXPECT_EQ(result.error().exit_code, base::ExitCode::kInput);
  EXPECT_THAT(result.error().what, HasSubstr("DATA-0020"));
}

// Two samples, four channels, 1x2 pixels: values count up from 0.
void WriteArrays(const TempFolder& folder, const std::string& target_name) {
  std::vector<float> x(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<float> y = {1, 2, 3, 4};
  ASSERT_TRUE(record::WriteNpy(folder.Join("x.npy"), {2, 4, 1, 2}, x.data()));
  ASSERT_TRUE(record::WriteNpy(folder.Join(target_name), {2, 1, 2}, y.data()));
}

TEST(Ingest, ReadsAnArrayPairWithATableOfFamilies) {
  TempFolder folder;
  WriteArrays(folder, "y_V.npy");
  folder.Write("samples.csv", "index,Family,id\n1,7,second\n0,\"a, b\",first\n");
  const auto result = IngestFolder(folder.path());
  ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
  EXPECT_EQ(result->layout, "arrays");
  const auto& maps = result->collection.maps;
  ASSERT_THAT(maps, SizeIs(2));
  EXPECT_EQ(maps[0].id, "first");
  EXPECT_EQ(maps[0].group, "a, b");
  EXPECT_EQ(maps[1].group, "family-7");
  EXPECT_THAT(maps[1].channels[0], ElementsAre(8, 9));
  EXPECT_THAT(maps[1].channels[3], ElementsAre(14, 15));
  EXPECT_THAT(maps[1].target, ElementsAre(3000, 4000));
  EXPECT_EQ(result->collection.channels[3].name, "pad_distance");
  EXPECT_TRUE(result->collection.channels[1].categorical);
  EXPECT_THAT(result->files, SizeIs(3));
}

TEST(Ingest, ChannelTableGivesNamesAndUnits) {
  TempFolder folder;
  WriteArrays(folder, "y_mV.npy");
  folder.Write("channels.csv",
               "name,unit,categorical\ncurrent,mA,0\nkind,class,1\nmask,1,no\nd,um,\n");
  const auto result = IngestFolder(folder.path());
  ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
  const auto& collection = result->collection;
  EXPECT_EQ(collection.channels[0].unit, "uA");
  EXPECT_TRUE(collection.channels[1].categorical);
  EXPECT_FALSE(collection.channels[3].categorical);
  EXPECT_THAT(collection.maps[0].channels[0], ElementsAre(0, 1000));
  EXPECT_THAT(collection.maps[0].target, ElementsAre(1, 2));
  EXPECT_EQ(collection.maps[0].group, "sample-00000");
  ASSERT_THAT(result->notes, SizeIs(1));
  EXPECT_THAT(result->notes[0], HasSubstr("design of its own"));
}

TEST(Ingest, RefusesTablesThatDoNotFitTheArrays) {
  TempFolder folder;
  WriteArrays(folder, "y_mV.npy");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"family\n1\n", "DATA-0032"},
      {"index,family\n0,1\n0,1\n", "DATA-0035"},
      {"index,family\n0,1\n2,1\n", "DATA-0035"},
      {"id,family\na,1\na,2\n", "DATA-0036"},
      {"family,z\n1,\n,\n", "DATA-0037"},
      {"family,z\n1\n2,3\n", "DATA-0050"},
      {"family,z\n1,\"\n2,3\n", "DATA-0050"}};
  for (const auto& [table, id] : cases) {
    folder.Write("samples.csv", table);
    const auto result = IngestFolder(folder.path());
    ASSERT_FALSE(result.has_value()) << table;
    EXPECT_EQ(result.error().id, id) << table;
    EXPECT_THAT(result.error().where, HasSubstr("samples.csv"));
  }
  folder.Write("samples.csv", "family\n1\n2\n");
  folder.Write("more.csv", "design\n1\n2\n");
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0051");
  folder.Write("more.csv", "what\never\n");
  EXPECT_TRUE(IngestFolder(folder.path()).has_value());
  folder.Write("channels.csv", "name\none\n");
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0033");
}

TEST(Ingest, RefusesArraysThatDoNotBelongTogether) {
  TempFolder folder;
  const std::vector<float> values(16, 1);
  ASSERT_TRUE(record::WriteNpy(folder.Join("x.npy"), {2, 2, 2, 2}, values.data()));
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0030");
  ASSERT_TRUE(record::WriteNpy(folder.Join("y.npy"), {4, 2, 2}, values.data()));
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0031");
  ASSERT_TRUE(record::WriteNpy(folder.Join("x.npy"), {4, 0, 2, 2}, values.data()));
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "DATA-0031");
  folder.Write("y.npy", "\x93NUMPY\x01");
  EXPECT_EQ(IngestFolder(folder.path()).error().id, "REC-0001");
}

TEST(Ingest, ReadsOneNpzWithBothArraysByFileOrFolder) {
  TempFolder folder;
  record::FloatArray x{{2, 1, 1, 2}, {1, 2, 3, 4}};
  record::FloatArray y{{2, 1, 2}, {5, 6, 7, 8}};
  ASSERT_TRUE(record::WriteNpz(folder.Join("set.npz"), {{"x", x}, {"y_uV", y}}));
  for (const std::string& path : {folder.path(), folder.Join("set.npz")}) {
    const auto result = IngestFolder(path);
    ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
    EXPECT_EQ(result->layout, "arrays");
    EXPECT_THAT(result->collection.maps[1].channels[0], ElementsAre(3, 4));
    EXPECT_FLOAT_EQ(result->collection.maps[1].target[1], 8e-3f);
    EXPECT_EQ(result->collection.channels[0].name, "channel0");
  }
}

TEST(Ingest, ReadsOneNpzPerMap) {
  TempFolder folder;
  const record::FloatArray x{{2, 1, 2}, {1, 2, 3, 4}};
  const record::FloatArray y{{1, 2}, {5, 6}};
  const record::FloatArray odd{{1, 1, 2}, {1, 2}};
  ASSERT_TRUE(record::WriteNpz(folder.Join("a.npz"), {{"x", x}, {"y", y}}));
  ASSERT_TRUE(record::WriteNpz(folder.Join("b.npz"), {{"x", x}, {"y", y}}));
  ASSERT_TRUE(record::WriteNpz(folder.Join("c.npz"), {{"x", odd}, {"y", y}}));
  ASSERT_TRUE(record::WriteNpz(folder.Join("d.npz"), {{"x", x}}));
  ASSERT_TRUE(record::WriteNpz(folder.Join("e.npz"), {{"x", x}, {"y", x}}));
  folder.Write("f.npz", "not a zip");
  folder.Write("groups.csv", "file,design\na.npz,cpu\nb,dsp\n");
  const auto result = IngestFolder(folder.path());
  ASSERT_TRUE(result.has_value()) << base::Describe(result.error());
  EXPECT_EQ(result->layout, "samples");
  ASSERT_THAT(result->collection.maps, SizeIs(2));
  EXPECT_EQ(result->collection.maps[0].group, "cpu");
  EXPECT_EQ(result->collection.maps[1].group, "dsp");
  EXPECT_THAT(result->collection.maps[0].channels[1], ElementsAre(3, 4));
  EXPECT_THAT(result->collection.maps[0].target, ElementsAre(5, 6));
  std::vector<std::string> found;
  for (const auto& problem : result->problems) {
    found.push_back(problem.id + " " + problem.where.substr(0, 5));
  }
  EXPECT_THAT(found, ElementsAre("DATA-0042 c.npz", "DATA-0040 d.npz",
                                 "DATA-0041 e.npz", "REC-0005 f.npz"));
}

MapCollection ScaledCollection(const std::vector<float>& scales) {
  MapCollection collection = EmptyCollection();
  for (size_t i = 0; i < scales.size(); ++i) {
    collection.maps.push_back(RandomMap(fmt::format("m{}", i), "g", i));
    for (float& v : collection.maps.back().channels[0]) v *= scales[i];
  }
  return collection;
}

TEST(UnitCheck, NamesACurrentThatIsAThousandTimesTooLarge) {
  const auto found = FindUnitSuspicions(ScaledCollection({1, 2, 1000, 0.5f}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].map_id, "m2");
  EXPECT_EQ(found[0].plane, "current");
  EXPECT_EQ(found[0].power_of_ten, 3);
  EXPECT_THAT(found[0].text, HasSubstr("x1000: A/mA"));
}

TEST(UnitCheck, NamesADropThatIsTooSmall) {
  MapCollection collection = ScaledCollection({1, 1, 1});
  for (float& v : collection.maps[1].target) v /= 1000;
  const auto found = FindUnitSuspicions(collection);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].plane, "ir_drop");
  EXPECT_THAT(found[0].text, HasSubstr("/1000: V/mV"));
}

TEST(UnitCheck, StaysSilentForFactorsOfTenAndForTwoMaps) {
  EXPECT_THAT(FindUnitSuspicions(ScaledCollection({1, 10, 0.2f, 1})), IsEmpty());
  EXPECT_THAT(FindUnitSuspicions(ScaledCollection({1, 1000})), IsEmpty());
}

}  // namespace
}  // namespace stepslack::data
