// How bad and how large a slice of the data is, as one number to rank slices by.
#pragma once

#include <cstdint>

namespace stepslack::stats {

struct DataSlice {
  int64_t rows = 0;
  double error_sum = 0;  // of the rows' errors, none negative
};

// Sagadeeva and Boehm 2021 (SliceLine), equation 1: alpha ((error_sum / rows) /
// mean_error - 1) - (1 - alpha)(n / rows - 1). Positive: worth a look; alpha near 1
// weighs the error, below it the size. NaN for an empty slice, n below its rows, a mean
// error that is not positive, or alpha outside (0, 1]. No unit.
double SliceScore(const DataSlice& slice, int64_t n, double mean_error, double alpha);

}  // namespace stepslack::stats
