// stepslack-worker bench-comm: one rank of `stepslack bench comm`.
#pragma once

#include <span>

#include "stepslack/base/result.h"

namespace stepslack::train {

// `arguments` after the word bench-comm: --backends a,b --bytes 4096,... --out FILE
// [--collectives a,b] [--timeout SECONDS]. Rank 0 writes the table of costs as JSON.
// TRAIN-0100: misused.
base::Status RunBenchCommand(std::span<char* const> arguments);

}  // namespace stepslack::train
