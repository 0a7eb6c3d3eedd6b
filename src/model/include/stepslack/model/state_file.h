// Named float arrays and one text in the file format of torch.save, in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::model {

struct StateArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

struct StateFile {
  std::string text;  // JSON of whoever writes it
  std::map<std::string, StateArray> arrays;
};

// Takes the next bytes of a file.
using ByteSink = std::function<base::Status(std::string_view)>;

// A zip archive that holds the tuple (text, {name: float32 tensor}, SHA-256 of both).
// The sink gets the arrays as they lie in `state`: nothing of their size is allocated.
// Errors: MODEL-0005 cannot encode, else the first of the sink, which is not called
// again.
base::Status EncodeState(const StateFile& state, const ByteSink& sink);
base::Result<std::string> EncodeState(const StateFile& state);
// MODEL-0004: damaged, or of another structure.
base::Result<StateFile> DecodeState(std::string_view bytes, std::string_view name);

}  // namespace stepslack::model
