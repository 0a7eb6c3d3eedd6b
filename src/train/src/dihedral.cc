#include "dihedral.h"

#include <algorithm>

namespace stepslack::train {

void ApplyDihedral(int transform, int64_t height, int64_t width, const float* in,
                   float* out) {
  const bool flip_rows = (transform & 1) != 0;
  const bool flip_columns = (transform & 2) != 0;
  const bool swap_axes = (transform & 4) != 0;
  // Walks the source with these steps while the target is written in order.
  const int64_t along_row = flip_rows ? -width : width;
  const int64_t along_column = flip_columns ? -1 : 1;
  const int64_t start =
      (flip_rows ? (height - 1) * width : 0) + (flip_columns ? width - 1 : 0);
  const int64_t outer = swap_axes ? along_column : along_row;
  const int64_t inner = swap_axes ? along_row : along_column;
  const int64_t rows = swap_axes ? width : height;
  const int64_t columns = swap_axes ? height : width;
  for (int64_t row = 0; row < rows; ++row) {
    const float* source = in + start + row * outer;
    if (inner == 1) {
      std::copy_n(source, columns, out);
    } else {
      for (int64_t column = 0; column < columns; ++column) {
        out[column] = source[column * inner];
      }
    }
    out += columns;
  }
}

}  // namespace stepslack::train
