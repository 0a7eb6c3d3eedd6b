// Relations between the values of a log that must hold, compared while it is read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

// The values of one record (a line, a row) that relations speak of.
struct RecordValues {
  int64_t step = 0;
  int32_t segment = 0;
  std::optional<int64_t> time_ns;
  std::map<std::string, double, std::less<>> by_metric;

  // Finite value of a metric.
  std::optional<double> Of(std::string_view metric) const;
};

// Logs print three to four digits: 1 % is above the rounding of what they print and
// below any mistake of unit or factor.
inline constexpr double kCheckTolerance = 0.01;

class SelfChecks {
 public:
  void Add(const RecordValues& record);
  // Appends checks, and what they tell of the run (world size, tokens of a step).
  void Finish(SeriesSet& set);

 private:
  struct Sample {
    int64_t step = 0;
    double value = 0;
  };

  void Compare(const char* name, const char* formula, int64_t step, double expected,
               double found);
  // All samples against their median.
  std::optional<double> CompareConstant(const char* name, const char* formula,
                                        const std::vector<Sample>& samples);
  void Between(const RecordValues& before, const RecordValues& after);

  std::vector<Check> checks_;
  std::vector<Sample> tokens_per_step_;  // of one device
  std::vector<Sample> world_sizes_;
  std::vector<Sample> eval_samples_;
  std::optional<RecordValues> before_;
};

}  // namespace stepslack::logs
