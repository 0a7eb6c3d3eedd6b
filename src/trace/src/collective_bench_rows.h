// The three kinds of text that ParseCollectiveBench reads, one function each. Each
// appends rows and counts what it could not use.
#pragma once

#include <string_view>

#include "stepslack/trace/collective_bench.h"

namespace stepslack::trace {

void ReadNcclTests(std::string_view text, CollectiveBench& bench);
void ReadBenchCsv(std::string_view text, CollectiveBench& bench);
void ReadPerRankText(std::string_view text, CollectiveBench& bench);

// True for a line "bytes,time_us,busbw_gbps" with at least bytes and one of the others.
bool IsBenchCsvHeader(std::string_view line);

}  // namespace stepslack::trace
