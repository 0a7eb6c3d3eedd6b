// One entry of ../shared/reference/statistics.json, and the checks made of it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"

namespace stepslack::stats {

using Values = std::vector<double>;

inline Values Numbers(const base::Json& json) {
  Values values;
  for (const base::Json& item : json.AsArray()) values.push_back(item.AsDouble(NAN));
  return values;
}

inline std::vector<int> Labels(const base::Json& json) {
  std::vector<int> labels;
  for (const base::Json& item : json.AsArray()) {
    labels.push_back(static_cast<int>(item.AsInt(-1)));
  }
  return labels;
}

class Entry {
 public:
  explicit Entry(base::Json json) : json_(std::move(json)) {}

  const base::Json& inputs() const { return json_["inputs"]; }
  const base::Json& expected() const { return json_["expected"]; }
  double tolerance() const { return json_["tol"].AsDouble(); }

  Values Input(std::string_view key) const {
    EXPECT_TRUE(inputs()[key].is_array()) << key;
    return Numbers(inputs()[key]);
  }
  double Number(std::string_view key) const {
    EXPECT_TRUE(expected()[key].is_number()) << key;
    return expected()[key].AsDouble(NAN);
  }
  Values List(std::string_view key) const {
    EXPECT_TRUE(expected()[key].is_array()) << key;
    return Numbers(expected()[key]);
  }

  void ExpectNumber(double value, std::string_view key) const {
    EXPECT_NEAR(value, Number(key), tolerance()) << key;
  }
  void ExpectValues(const Values& values, const Values& expected_values) const {
    ASSERT_EQ(values.size(), expected_values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected_values[i], tolerance()) << i;
    }
  }
  void ExpectInterval(const base::Estimate& estimate,
                      const Values& expected_ends) const {
    ASSERT_TRUE(estimate.low.has_value() && estimate.high.has_value())
        << estimate.method;
    ASSERT_EQ(expected_ends.size(), 2U);
    EXPECT_NEAR(*estimate.low, expected_ends[0], tolerance());
    EXPECT_NEAR(*estimate.high, expected_ends[1], tolerance());
  }

 private:
  base::Json json_;
};

struct ReferenceCheck {
  const char* id;
  void (*check)(Entry&);
};
inline void PrintTo(const ReferenceCheck& check, std::ostream* out) {
  *out << check.id;
}
using ReferenceChecks = std::vector<ReferenceCheck>;

ReferenceChecks InferenceChecks();
ReferenceChecks DriftChecks();
ReferenceChecks CalibrationChecks();
ReferenceChecks DecisionChecks();
ReferenceChecks EvidenceChecks();

}  // namespace stepslack::stats
