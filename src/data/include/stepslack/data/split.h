// Divides maps into training, validation and test. The division depends on names and
// the seed only; the order of the maps does not change it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

enum class SplitPolicy {
  kByGroup,           // whole groups; the honest one
  kRandom,            // single maps; exists only to show what a leak would claim
  kLeaveOneGroupOut,  // one fold per group of a source
};
std::string_view ToString(
    SplitPolicy policy);  // "by_group", "random", "leave_one_group_out"

struct SplitOptions {
  SplitPolicy policy = SplitPolicy::kByGroup;
  uint64_t seed = 1;
  double validation_fraction = 0.15;  // of groups (maps for kRandom), at least one
  double test_fraction = 0.2;         // not used by kLeaveOneGroupOut
  std::string source = {};            // kLeaveOneGroupOut: whose groups are held out;
                                      // empty: of all sources
};

// Positions in MapCollection::maps, each list ordered by map id.
struct Fold {
  std::string name;  // the group held out, else the policy
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
  std::vector<int64_t> test;
};

struct Split {
  std::string policy;
  uint64_t seed = 0;
  double validation_fraction = 0;
  double test_fraction = 0;
  std::string source;
  std::vector<Fold> folds;
};

// Every part of every fold holds at least one group (one map for kRandom). DATA-0060
// too few groups or maps, DATA-0061 fractions out of range, DATA-0062 unknown source.
base::Result<Split> MakeSplit(const MapCollection& collection,
                              const SplitOptions& options = {});

// With map ids, so that the file means the same in any order of maps.
base::Json ToJson(const Split& split, const MapCollection& collection);
std::string Describe(const Split& split, const MapCollection& collection);

}  // namespace stepslack::data
