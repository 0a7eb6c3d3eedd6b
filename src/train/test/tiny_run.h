// A run folder with a tiny data set whose drop follows from its channels, for tests.
#pragma once

#include <string>
#include <vector>

#include "stepslack/record/train_plan.h"

namespace stepslack::train {

class TinyRun {
 public:
  static constexpr int64_t kMaps = 14;
  static constexpr int64_t kChannels = 3;  // current, class of 2, quantity
  static constexpr int64_t kSide = 16;

  // Makes the folder and its data; the plan is for 8 training, 3 validation and 3 test
  // maps and takes a second or so.
  explicit TinyRun(const std::string& name);
  ~TinyRun();
  TinyRun(const TinyRun&) = delete;
  TinyRun& operator=(const TinyRun&) = delete;

  const std::string& folder() const { return folder_; }
  std::string Path(const std::string& file) const;
  void WritePlan() const;    // what `plan` says now
  void WriteArrays() const;  // what `inputs` and `targets` hold now

  record::TrainPlan plan;
  std::vector<float> inputs;   // [kMaps, kChannels, kSide, kSide]
  std::vector<float> targets;  // [kMaps, kSide, kSide]

 private:
  std::string folder_;
};

}  // namespace stepslack::train
