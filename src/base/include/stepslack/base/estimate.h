// Estimate, Requirement and Slack: the words in which every result and every gate of
// Stepslack is stated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stepslack/base/json.h"

namespace stepslack::base {

// A value that never stands alone: interval, confidence, count and method go with it.
// An absent value means "could not be estimated"; `method` then says why.
struct Estimate {
  std::optional<double> value;
  std::optional<double> low;  // absent: no interval could be computed
  std::optional<double> high;
  std::string unit;  // "mV", "s", "1" for a ratio
  double confidence = 0.95;
  int64_t n = 0;
  std::string n_of;    // what n counts: "families", "steps", "seeds"
  std::string method;  // "t interval on logs", "cluster bootstrap, seed 1"
};

// An exact count or fact: the interval is the point itself.
Estimate Exact(double value, std::string unit, int64_t n, std::string n_of,
               std::string method);

// "0.231 1 [0.214, 0.250] (95 %, n = 12 families)".
std::string Describe(const Estimate& estimate);
Json ToJson(const Estimate& estimate);
Estimate EstimateFromJson(const Json& json);

enum class Direction { kAtLeast, kAtMost };

struct Requirement {
  std::string id;      // "mae", unique in a review
  std::string title;   // "MAE on unseen families"
  std::string metric;  // key of the estimate it bounds
  Direction direction = Direction::kAtMost;
  double bound = 0;  // in the estimate's unit
  std::string unit;
  std::string owner;  // role that answers for it
};

// Fail closed: only kMet counts as met.
enum class Verdict { kMet, kViolated, kInconclusive, kError, kNotRun };
std::string_view ToString(Verdict verdict);

// Signed margin of an estimate to its requirement; positive is good.
struct Slack {
  Verdict verdict = Verdict::kNotRun;
  std::optional<double> margin;   // in the estimate's unit
  std::optional<double> percent;  // of |bound|; absent when the bound is 0
  // Samples needed in all for the interval to leave the bound, when inconclusive and
  // the point estimate is not on the bound itself: n * (half width / margin)^2.
  std::optional<int64_t> samples_to_decide;
};

// met: the whole interval is on the good side (a bound that is touched is good);
// violated: none of it is; else inconclusive. A value without interval and with n of
// one is inconclusive; an absent value is an error.
Slack Evaluate(const Requirement& requirement, const std::optional<Estimate>& estimate);

}  // namespace stepslack::base
