// Reads a table of the synthesis data set (qor.csv).
#pragma once

#include <string>

#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::eda {

// Comma separated, a header line, no quotes. A column is a number when every cell that
// is not empty is one; an empty number is NaN. Labels (area, cells, wc_delay, tns10,
// n_end), costs (t_*) and outcomes (status, stage) get their roles; family and design
// are groups. EDA-0112: a row of another length than the header.
base::Result<data::Table> ReadQorTable(const std::string& path);

}  // namespace stepslack::eda
