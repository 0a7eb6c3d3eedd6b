// Declared cleaning rules. A map that breaks one is moved to quarantine with the rules
// it breaks; nothing is deleted and nothing is changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

struct CleanOptions {
  double drop_tolerance =
      0.01;                   // target unit (mV); lower values than -this are negative
  int64_t tile = 0;           // smallest height and width wanted; 0: no rule
  int64_t max_examples = 10;  // ids shown per rule; all are counted
};

// One rule and what it found. Rules that found nothing are listed too, so that a reader
// sees what was checked.
struct RuleFinding {
  std::string id;           // "negative_current"
  std::string description;  // "a current value is below zero"
  int64_t count = 0;        // maps that break it (one map may break several rules)
  std::vector<std::string> examples;  // map ids, the first ones by id
};

struct QuarantinedMap {
  WholeMap map;
  std::vector<std::string> rules;  // ids, in the order of the rules
};

struct CleanResult {
  MapCollection kept;
  std::vector<QuarantinedMap> quarantined;
  std::vector<RuleFinding> rules;
  CleanOptions options;
};

// Rules, in order: plane_size, non_finite, negative_drop, negative_current,
// constant_target, class_not_integer, below_tile_size.
CleanResult Clean(MapCollection collection, const CleanOptions& options = {});

base::Json ToJson(const CleanResult& result);  // without the maps themselves
std::string Describe(const CleanResult& result);

}  // namespace stepslack::data
