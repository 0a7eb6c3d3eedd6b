#include "stepslack/model/state_file.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <exception>
#include <string>
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

// Views of the arrays: nothing writes to them.
at::IValue ToValue(const StateFile& state) {
  c10::Dict<std::string, at::Tensor> arrays;
  for (const auto& [name, array] : state.arrays) {
    auto* values = const_cast<float*>(array.values.data());
    arrays.insert(name, values == nullptr
                            ? at::empty(array.shape, at::kFloat)
                            : at::from_blob(values, array.shape, at::kFloat));
  }
  return c10::ivalue::Tuple::create(state.text, arrays, Digest(state));
}

// As torch::jit::pickle_save does, but the archive goes out piece by piece.
void WriteArchive(const at::IValue& value, const ByteSink& sink, base::Status& status) {
  std::string pickled;
  torch::jit::Pickler pickler(
      [&pickled](const char* bytes, size_t size) { pickled.append(bytes, size); });
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();
  // The archive's writer would write its end even after a failure, from its destructor,
  // so it never gets to know of one.
  caffe2::serialize::PyTorchStreamWriter archive(
      [&sink, &status](const void* bytes, size_t size) {
        if (status.has_value()) status = sink({static_cast<const char*>(bytes), size});
        return size;
      });
  size_t number = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    archive.writeRecord("data/" + std::to_string(number++), tensor.data_ptr(),
                        tensor.nbytes());
  }
  archive.writeRecord("data.pkl", pickled.data(), pickled.size());
  archive.writeEndOfFile();
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

base::Status EncodeState(const StateFile& state, const ByteSink& sink) {
  base::Status status;
  try {
    WriteArchive(ToValue(state), sink, status);
    return status;
  } catch (const std::exception& error) {
    return base::Fail("MODEL-0005", base::ExitCode::kInternal,
                      "cannot encode the state: " + FirstLine(error.what()), "", "");
  }
}

base::Result<std::string> EncodeState(const StateFile& state) {
  std::string bytes;
  SS_RETURN_IF_ERROR(EncodeState(state, [&bytes](std::string_view piece) {
    bytes.append(piece);
    return base::Status();
  }));
  return bytes;
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
