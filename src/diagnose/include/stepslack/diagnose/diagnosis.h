// The root-cause tree walked over facts, data first, then model, runtime, hardware: the
// first layer that fails with evidence is the one to fix.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/diagnose/facts.h"

namespace stepslack::diagnose {

enum class CauseState {
  kSupported,  // every predicate of its signature holds
  kRefuted,    // at least one predicate is decided against it
  kUndecided   // a fact it needs is missing, or its interval straddles the threshold
};

struct CauseFinding {
  std::string id;     // "D07"
  std::string layer;  // "data", "model", "runtime", "hardware"
  std::string title;
  CauseState state = CauseState::kUndecided;
  bool relevant = false;       // can explain a requirement that fails
  bool share_asked = false;    // it must state a share of what fails
  bool share_stated = false;   // and could: explained_share below
  double explained_share = 0;  // of the lost metric, when the cause can state one
  std::vector<std::string> evidence;  // "split.leaked_rows_share = 0.98 [..] > 0.01"
  std::vector<std::string> missing;   // facts that were not there
  std::vector<std::string> competitors;
  std::string discriminating_test;
  std::string experiment;  // smallest one that would prove it
  std::string fix;         // smallest reversible fix
  std::string owner;
};

struct Diagnosis {
  std::string layer = "undetermined";  // first failing layer
  std::string reason;                  // why this layer, or why none can be named
  std::string primary;                 // cause id, "" when undetermined
  bool regressed = false;              // false: nothing that is watched fails
  std::vector<CauseFinding> causes;    // all that were walked, in tree order
  std::vector<std::string> path;       // the questions of the tree and their answers
  std::vector<std::string> missing;    // records that would decide, named
};

base::Json ToJson(const Diagnosis& diagnosis);

}  // namespace stepslack::diagnose
