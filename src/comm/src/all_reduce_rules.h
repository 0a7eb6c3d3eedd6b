// Which all-reduce algorithm for how many bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "all_reduce_schedule.h"

namespace stepslack::comm {

class AllReduceRules {
 public:
  // As GlooOptions::all_reduce; nothing when it makes no sense.
  static std::optional<AllReduceRules> Parse(std::string_view text);

  AllReduceAlgorithm For(int ranks, size_t bytes) const;

 private:
  // By first byte count, ascending from 0; empty: the usual ones.
  std::vector<std::pair<size_t, AllReduceAlgorithm>> from_;
};

}  // namespace stepslack::comm
