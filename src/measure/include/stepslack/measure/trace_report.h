// Everything that a set of traces says, with what is missing from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/base/json.h"
#include "stepslack/trace/import_stats.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::measure {

// One input and what became of it.
struct InputRow {
  std::string name;
  trace::InputFormat format = trace::InputFormat::kUnknown;
  bool used = false;
  std::string note;  // why it was not used, or how its rank was found
  int32_t rank = -1;
  int64_t events = 0;
  bool truncated = false;
};

// A part of the report that is absent or less than it seems, and why.
struct MissingPart {
  std::string part;    // key of the report ("pop"), or "input", "rank"
  std::string reason;  // one sentence
  std::string where;   // file or rank; may be empty
};

// Why a number here differs from the one that another tool prints for the same trace.
struct Footnote {
  std::string code;  // "HTA-ROUND"
  std::string text;
  std::vector<int32_t> ranks;  // where it applies
};

struct TraceReport {
  std::vector<InputRow> inputs;  // by name
  std::vector<MissingPart> missing;
  trace::ImportStats import;
  std::vector<analyze::RankTrace> ranks;  // by rank
  std::vector<Footnote> footnotes;
};

}  // namespace stepslack::measure
