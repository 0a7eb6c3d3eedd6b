// Tables as CSV (RFC 4180).
#pragma once

#include <string>

#include "stepslack/render/report.h"

namespace stepslack::render {

// Header line, CRLF line ends, quotes where needed. Numbers are shortest and exact;
// what is not finite is empty. A column that holds an estimate is followed by its
// "low", "high", "n" and "unit" columns.
std::string RenderCsv(const Table& table);

}  // namespace stepslack::render
