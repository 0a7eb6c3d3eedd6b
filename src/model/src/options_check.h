// Whether options describe a network that can be built.
#pragma once

#include "stepslack/base/result.h"
#include "stepslack/model/network_options.h"

namespace stepslack::model {

// MODEL-0002: a value that is not allowed.
base::Status CheckOptions(const NetworkOptions& options);
// MODEL-0010: more parameters than one machine should hold.
base::Status CheckSize(int64_t parameters);
// MODEL-0012: `floats` do not fit options.gradient_memory, or it is not aligned.
base::Status CheckGradientMemory(const NetworkOptions& options, int64_t floats);

}  // namespace stepslack::model
