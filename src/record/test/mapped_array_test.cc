#include "stepslack/record/mapped_array.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"

namespace stepslack::record {
namespace {

class MappedArrayTest : public testing::Test {
 protected:
  MappedArrayTest()
      : folder_(testing::TempDir() + "mapped_" + std::to_string(::getpid())) {
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~MappedArrayTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, std::string_view bytes) {
    const std::string path = base::JoinPath(folder_, name);
    EXPECT_TRUE(base::WriteFileAtomic(path, bytes).has_value());
    return path;
  }
  std::string folder_;
};

// A header of `size` bytes in all, so that the data begin there.
std::string Npy(const std::string& dtype, const std::string& shape, size_t size,
                std::string_view data) {
  std::string header =
      "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + "}";
  header.resize(size - 10, ' ');
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + header + std::string(data);
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

int64_t PrivateMemoryKb() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    std::istringstream words(line);
    std::string key;
    int64_t kb = 0;
    if (words >> key >> kb && key == "RssAnon:") return kb;
  }
  return -1;
}

TEST_F(MappedArrayTest, AlignedFloatsAreAViewOfTheFile) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::string path = Write("a.npy", EncodeNpy({3, 2}, values.data()));
  const auto array = MapNpy(path);
  ASSERT_TRUE(array.has_value()) << Describe(array.error());
  EXPECT_EQ(array->shape(), (std::vector<int64_t>{3, 2}));
  std::vector<float> scratch;
  const auto middle = array->Floats(2, 3, scratch);
  EXPECT_EQ(std::vector<float>(middle.begin(), middle.end()),
            (std::vector<float>{3, 4, 5}));
  EXPECT_TRUE(scratch.empty());
}

TEST_F(MappedArrayTest, OtherTypesAndOddAlignmentAreConverted) {
  std::vector<float> scratch;
  const auto odd =
      MapNpy(Write("odd.npy", Npy("<f4", "(2,)", 81, Bytes<float>({1.5F, -2}))));
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->Floats(0, 2, scratch)[1], -2.0F);
  EXPECT_EQ(scratch.size(), 2U);
  const auto wide =
      MapNpy(Write("f8.npy", Npy("<f8", "(2,)", 80, Bytes<double>({0.25, 4}))));
  ASSERT_TRUE(wide.has_value());
  EXPECT_FALSE(wide->is_integer());
  EXPECT_EQ(wide->Floats(0, 1, scratch)[0], 0.25F);
}

TEST_F(MappedArrayTest, LargeIntegersKeepEveryDigit) {
  const int64_t large = (int64_t{1} << 40) + 1;
  const auto ids =
      MapNpy(Write("ids.npy", Npy("<i8", "(2,)", 81, Bytes<int64_t>({-3, large}))));
  ASSERT_TRUE(ids.has_value());
  ASSERT_TRUE(ids->is_integer());
  std::vector<int64_t> out(2);
  ids->Integers(0, out);
  EXPECT_EQ(out, (std::vector<int64_t>{-3, large}));
}

TEST_F(MappedArrayTest, AnArchiveIsMappedAndDamageInItIsFound) {
  std::map<std::string, FloatArray> arrays;
  arrays["x"] = {{2}, {7, 8}, "<f4"};
  arrays["y"] = {{1, 1}, {9}, "<f4"};
  const std::string path = base::JoinPath(folder_, "a.npz");
  ASSERT_TRUE(WriteNpz(path, arrays).has_value());
  std::vector<float> scratch;
  {
    const auto mapped = MapNpz(path);
    ASSERT_TRUE(mapped.has_value()) << Describe(mapped.error());
    ASSERT_EQ(mapped->size(), 2U);
    EXPECT_EQ(mapped->at("x").Floats(1, 1, scratch)[0], 8.0F);
    EXPECT_EQ(mapped->at("y").Floats(0, 1, scratch)[0], 9.0F);
  }
  std::string bytes = base::ReadFile(path).value();
  const size_t at = bytes.find(Bytes<float>({7, 8}));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  const auto damaged = MapNpz(Write("damaged.npz", bytes));
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().id, "REC-0005");
}

TEST_F(MappedArrayTest, NamesWhatIsNoArrayFile) {
  EXPECT_EQ(MapNpy(folder_ + "/absent.npy").error().id, "REC-0007");
  EXPECT_EQ(MapNpy(folder_).error().id, "REC-0007");
  EXPECT_EQ(MapNpy(Write("empty.npy", "")).error().id, "REC-0001");
  EXPECT_EQ(MapNpy(Write("cut.npy", Npy("<f4", "(3,)", 80, "12345678"))).error().id,
            "REC-0001");
  EXPECT_EQ(MapNpy(Write("big.npy", Npy(">f4", "(1,)", 80, "1234"))).error().id,
            "REC-0002");
  EXPECT_EQ(MapNpz(Write("empty.npz", "")).error().id, "REC-0005");
}

TEST_F(MappedArrayTest, ALargeFileTakesNoMemoryOfItsOwn) {
  // A gigabyte of zeros that the file system does not store either.
  constexpr int64_t kRows = 1 << 18;
  constexpr int64_t kWidth = 1 << 10;
  std::string path = Write("large.npy", Npy("<f4", "(262144, 1024)", 128, ""));
  ASSERT_EQ(::truncate(path.c_str(), 128 + kRows * kWidth * 4), 0);
  const int64_t before_kb = PrivateMemoryKb();
  const auto array = MapNpy(path);
  ASSERT_TRUE(array.has_value()) << Describe(array.error());
  std::vector<float> scratch;
  double sum = 0;
  for (int64_t row = 0; row < kRows; row += kRows / 64) {
    for (float value : array->Floats(row * kWidth, kWidth, scratch)) {
      sum += static_cast<double>(value);
    }
  }
  EXPECT_EQ(sum, 0.0);
  EXPECT_EQ(array->size(), kRows * kWidth);
  EXPECT_LT(PrivateMemoryKb() - before_kb, 16 << 10);
}

}  // namespace
}  // namespace stepslack::record
