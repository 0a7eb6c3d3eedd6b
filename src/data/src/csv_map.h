// One map stored as a matrix of numbers in text, as the ICCAD-2023 contest does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::data {

struct CsvMap {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<float> values;  // row-major
};

// Parses lines of numbers divided by commas, semicolons or tabs (decided by the first
// line). Each value is multiplied by `scale` in double precision. Blank lines at the
// end are allowed. Errors name the line: DATA-0010 empty, DATA-0011 not a number,
// DATA-0012 ragged rows, DATA-0013 NaN, infinite or beyond float32.
base::Result<CsvMap> ParseCsvMap(std::string_view text, std::string_view name,
                                 double scale = 1.0);

}  // namespace stepslack::data
