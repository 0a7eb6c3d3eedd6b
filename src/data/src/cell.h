// What the text of one cell of a table stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepslack/data/table.h"

namespace stepslack::data {

struct CellValue {
  Missing missing = Missing::kPresent;
  bool is_number = false;
  double number = 0;  // NaN when missing
};

// `codes`: further spellings of "not available".
CellValue ReadCell(std::string_view text, const std::vector<std::string>& codes = {});

}  // namespace stepslack::data
