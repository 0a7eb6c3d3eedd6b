#include "stepslack/record/array_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

// A version 1.0 file as numpy.save writes it, with the given dtype and payload.
std::string MakeNpy(const std::string& descr, const std::string& shape,
                    const std::string& payload, const std::string& order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order +
                       ", 'shape': " + shape + ", }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + payload;
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

std::string ErrorId(std::string_view bytes) {
  const auto array = ParseNpy(bytes, "x.npy");
  return array ? "none" : array.error().id;
}

TEST(NpyTest, ReadsRealTypesIntoFloat) {
  const auto doubles = ParseNpy(MakeNpy("<f8", "(2,)", Bytes<double>({1.5, -2})), "x");
  ASSERT_TRUE(doubles.has_value());
  EXPECT_EQ(doubles->values, (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(doubles->shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(doubles->dtype, "<f8");
  EXPECT_EQ(ParseNpy(MakeNpy("<i8", "(1, 2)", Bytes<int64_t>({7, -9})), "x")->values,
            (std::vector<float>{7, -9}));
  EXPECT_EQ(ParseNpy(MakeNpy("|u1", "(2,)", Bytes<uint8_t>({200, 1})), "x")->values,
            (std::vector<float>{200, 1}));
}

TEST(NpyTest, ScalarShapeHoldsOneValue) {
  const auto scalar = ParseNpy(MakeNpy("<f4", "()", Bytes<float>({3})), "x");
  ASSERT_TRUE(scalar.has_value());
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->size(), 1);
}

TEST(NpyTest, DamageAndUnsupportedFormsAreToldApart) {
  const std::string good = MakeNpy("<f4", "(2,)", Bytes<float>({1, 2}));
  EXPECT_EQ(ErrorId(good), "none");
  EXPECT_EQ(ErrorId(good.substr(0, good.size() - 1)), "REC-0001");
  EXPECT_EQ(ErrorId(good.substr(0, 20)), "REC-0001");
  EXPECT_EQ(ErrorId("hello"), "REC-0001");
  EXPECT_EQ(ErrorId(MakeNpy("<f4", "(-2,)", "")), "REC-0001");
  EXPECT_EQ(ErrorId(MakeNpy("<f4", "(4294967296, 4294967296)", "")), "REC-0001");
  EXPECT_EQ(ErrorId(MakeNpy(">f4", "(2,)", Bytes<float>({1, 2}))), "REC-0002");
  EXPECT_EQ(ErrorId(MakeNpy("|O", "(2,)", Bytes<double>({1, 2}))), "REC-0002");
  EXPECT_EQ(ErrorId(MakeNpy("<f4", "(2,)", Bytes<float>({1, 2}), "True")), "REC-0002");
}

RC_GTEST_PROP(NpyTest, ParseInvertsEncode, (const std::vector<int>& numbers)) {
  const std::vector<float> values(numbers.begin(), numbers.end());
  const auto count = static_cast<int64_t>(values.size());
  const auto array = ParseNpy(EncodeNpy({count, 1}, values.data()), "x");
  RC_ASSERT(array.has_value());
  RC_ASSERT(array->values == values);
  RC_ASSERT(array->shape == (std::vector<int64_t>{count, 1}));
}

class NpzTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/npzXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Written() {
    std::map<std::string, FloatArray> arrays;
    arrays["index"] = {.shape = {2}, .values = {4, 5}};
    arrays["prediction"] = {.shape = {1, 2}, .values = {0.5F, 1.5F}};
    EXPECT_TRUE(WriteNpz(folder_ + "/p.npz", arrays).has_value());
    return base::ReadFile(folder_ + "/p.npz").value();
  }
  std::string folder_;
};

TEST_F(NpzTest, RoundTripKeepsNamesShapesAndValues) {
  Written();
  const auto arrays = ReadNpz(folder_ + "/p.npz");
  ASSERT_TRUE(arrays.has_value()) << base::Describe(arrays.error());
  EXPECT_EQ(arrays->at("index").values, (std::vector<float>{4, 5}));
  EXPECT_EQ(arrays->at("prediction").shape, (std::vector<int64_t>{1, 2}));
}

TEST_F(NpzTest, SameInputSameBytes) { EXPECT_EQ(Written(), Written()); }

TEST_F(NpzTest, EveryFlippedPayloadByteIsNoticed) {
  const std::string good = Written();
  const size_t payload = good.find(std::string("\x00\x00\x80\x40", 4));  // 4.0F
  ASSERT_NE(payload, std::string::npos);
  std::string bad = good;
  bad[payload] = '\x01';
  const auto arrays = ParseNpz(bad, "p.npz");
  ASSERT_FALSE(arrays.has_value());
  EXPECT_EQ(arrays.error().id, "REC-0005");
  EXPECT_NE(arrays.error().where.find("index.npy"), std::string::npos);
}

TEST_F(NpzTest, EveryTruncationIsAnError) {
  const std::string good = Written();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpz(good.substr(0, size), "p.npz").has_value()) << size;
  }
}

}  // namespace
}  // namespace stepslack::record
