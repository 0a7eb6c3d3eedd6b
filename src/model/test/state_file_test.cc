#include "stepslack/model/state_file.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "stepslack/base/digest.h"

namespace stepslack::model {
namespace {

StateFile Example() {
  StateFile state;
  state.text = R"({"step": 9007199254740993})";
  state.arrays["b"] = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  state.arrays["a"] = {{1}, {-0.5F}};
  state.arrays["none"] = {{0}, {}};
  return state;
}

TEST(StateFile, ComesBackUnchanged) {
  const auto bytes = EncodeState(Example());
  ASSERT_TRUE(bytes.has_value()) << Describe(bytes.error());
  EXPECT_EQ(bytes->substr(0, 2), "PK");  // a zip archive, as torch.save writes
  const auto state = DecodeState(*bytes, "test");
  ASSERT_TRUE(state.has_value()) << Describe(state.error());
  EXPECT_EQ(state->text, Example().text);
  ASSERT_EQ(state->arrays.size(), 3U);
  EXPECT_EQ(state->arrays.at("b").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(state->arrays.at("b").values, Example().arrays.at("b").values);
  EXPECT_EQ(state->arrays.at("a").values, (std::vector<float>{-0.5F}));
}

c10::Dict<std::string, at::Tensor> Tensors(const StateFile& state) {
  c10::Dict<std::string, at::Tensor> arrays;
  for (const auto& [name, array] : state.arrays) {
    at::Tensor tensor = at::empty(array.shape, at::kFloat);
    std::copy(array.values.begin(), array.values.end(), tensor.data_ptr<float>());
    arrays.insert(name, tensor);
  }
  return arrays;
}

std::string DigestOf(const StateFile& state) {
  base::Sha256 digest;
  digest.Update(state.text);
  for (const auto& [name, array] : state.arrays) {
    digest.Update(name);
    digest.Update(array.shape.data(), array.shape.size() * sizeof(int64_t));
    digest.Update(array.values.data(), array.values.size() * sizeof(float));
  }
  return digest.Finish();
}

TEST(StateFile, IsReadByTorch) {
  const StateFile state = Example();
  const std::string bytes = EncodeState(state).value();
  const c10::IValue value =
      torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
  const auto& parts = value.toTupleRef().elements();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].toStringRef(), state.text);
  EXPECT_EQ(parts[2].toStringRef(), DigestOf(state));
  const auto arrays = parts[1].toGenericDict();
  ASSERT_EQ(arrays.size(), 3U);
  for (const auto& entry : Tensors(state)) {
    EXPECT_TRUE(entry.value().equal(arrays.at(entry.key()).toTensor())) << entry.key();
  }
}

TEST(StateFile, ReadsWhatTorchWrites) {
  // As older programs did.
  const StateFile state = Example();
  const std::vector<char> bytes = torch::jit::pickle_save(
      c10::ivalue::Tuple::create(state.text, Tensors(state), DigestOf(state)));
  const auto read = DecodeState(std::string_view(bytes.data(), bytes.size()), "torch");
  ASSERT_TRUE(read.has_value()) << Describe(read.error());
  EXPECT_EQ(read->text, state.text);
  EXPECT_EQ(read->arrays.at("b").values, state.arrays.at("b").values);
}

TEST(StateFile, AnErrorOfTheSinkIsPassedOnAndTheSinkIsLeftAlone) {
  int calls = 0;
  const auto status = EncodeState(Example(), [&calls](std::string_view) {
    ++calls;
    return base::Status(
        base::Fail("TEST-0001", base::ExitCode::kEnvironment, "", "", ""));
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().id, "TEST-0001");
  EXPECT_EQ(calls, 1);
}

TEST(StateFile, EveryCutIsRefused) {
  const std::string bytes = EncodeState(Example()).value();
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
    const auto state = DecodeState(std::string_view(bytes).substr(0, size), "cut.pt");
    ASSERT_FALSE(state.has_value()) << size;
    EXPECT_EQ(state.error().id, "MODEL-0004");
    EXPECT_EQ(state.error().where, "cut.pt");
  }
}

TEST(StateFile, AFlippedBitInTheDataIsRefused) {
  StateFile state;
  state.arrays["a"].shape = {1000};
  state.arrays["a"].values.assign(1000, 1.5F);
  std::string bytes = EncodeState(state).value();
  const std::string pattern(
      reinterpret_cast<const char*>(state.arrays["a"].values.data()), 64);
  const size_t at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 10] = static_cast<char>(bytes[at + 10] ^ 1);
  EXPECT_FALSE(DecodeState(bytes, "flipped.pt").has_value());
}

}  // namespace
}  // namespace stepslack::model
