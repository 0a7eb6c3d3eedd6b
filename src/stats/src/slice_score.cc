#include "stepslack/stats/slice_score.h"

#include <limits>

namespace stepslack::stats {

double SliceScore(const DataSlice& slice, int64_t n, double mean_error, double alpha) {
  if (slice.rows < 1 || n < slice.rows || !(mean_error > 0) ||
      !(alpha > 0 && alpha <= 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double rows = static_cast<double>(slice.rows);
  const double excess = slice.error_sum / rows / mean_error - 1;
  const double smallness = static_cast<double>(n) / rows - 1;
  return alpha * excess - (1 - alpha) * smallness;
}

}  // namespace stepslack::stats
