// Facts that follow from what an NCCL log says.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "stepslack/trace/nccl_debug.h"

namespace stepslack::trace {

// How often something was said, and where first.
struct NcclMention {
  int64_t lines = 0;
  int64_t first_offset = 0;
};

// Fills `log.facts`. `mentions` are by name of the fact for what single lines say.
void DeriveNcclFacts(const std::map<std::string, NcclMention>& mentions,
                     NcclDebugLog& log);

}  // namespace stepslack::trace
