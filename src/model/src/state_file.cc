#include "stepslack/model/state_file.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "stepslack/base/digest.h"

namespace stepslack::model {
namespace {

// The archive's own check sums are not verified by LibTorch when it reads, so the
// content carries a digest of its own.
std::string Digest(const StateFile& state) {
  base::Sha256 digest;
  digest.Update(state.text);
  for (const auto& [name, array] : state.arrays) {
    digest.Update(name);
    digest.Update(array.shape.data(), array.shape.size() * sizeof(int64_t));
    digest.Update(array.values.data(), array.values.size() * sizeof(float));
  }
  return digest.Finish();
}

at::IValue ToValue(const StateFile& state) {
  c10::Dict<std::string, at::Tensor> arrays;
  for (const auto& [name, array] : state.arrays) {
    at::Tensor tensor = at::empty(array.shape, at::kFloat);
    std::copy(array.values.begin(), array.values.end(), tensor.data_ptr<float>());
    arrays.insert(name, tensor);
  }
  return c10::ivalue::Tuple::create(state.text, arrays, Digest(state));
}

StateFile FromValue(const at::IValue& value) {
  StateFile state;
  const auto tuple = value.toTuple();
  state.text = tuple->elements().at(0).toStringRef();
  for (const auto& entry : tuple->elements().at(1).toGenericDict()) {
    const at::Tensor tensor = entry.value().toTensor().contiguous();
    StateArray& array = state.arrays[entry.key().toStringRef()];
    array.shape = tensor.sizes().vec();
    const float* values = tensor.data_ptr<float>();
    array.values.assign(values, values + tensor.numel());
  }
  return state;
}

std::string FirstLine(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

}  // namespace

base::Result<std::string> EncodeState(const StateFile& state) {
  try {
    const std::vector<char> bytes = torch::jit::pickle_save(ToValue(state));
    return std::string(bytes.begin(), bytes.end());
  } catch (const std::exception& error) {
    return base::Fail("MODEL-0005", base::ExitCode::kInternal,
                      "cannot encode the state: " + FirstLine(error.what()), "", "");
  }
}

base::Result<StateFile> DecodeState(std::string_view bytes, std::string_view name) {
  std::string reason;
  try {
    const at::IValue value =
        torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
    StateFile state = FromValue(value);
    if (value.toTuple()->elements().at(2).toStringRef() == Digest(state)) return state;
    reason = "its digest does not match its content";
  } catch (const std::exception& error) {
    reason = FirstLine(error.what());
  }
  return base::Fail("MODEL-0004", base::ExitCode::kIntegrity,
                    "damaged checkpoint: " + reason, std::string(name),
                    "delete it to train from the beginning");
}

}  // namespace stepslack::model
