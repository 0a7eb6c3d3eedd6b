// The maps of one plan and their encoding as network inputs and targets.
//
// Per sample, current is divided by its mean and the drop by (mean current * a
// constant), because the drop is linear in the current: the network sees shapes, not
// magnitudes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/record/array_file.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// Constants computed from the training samples only; a checkpoint carries them.
struct Encoding {
  std::vector<double> channel_scale;  // 1 / mean |value| of a quantity; else 1
  double target_scale = 1;            // mean of drop / mean current
  friend bool operator==(const Encoding&, const Encoding&) = default;
};

class MapSet {
 public:
  // Reads and checks everything a rank needs. Errors: TRAIN-0003 shapes, TRAIN-0004 an
  // index out of range or in two roles, TRAIN-0005 a value is not finite, TRAIN-0006 a
  // mean current that is not positive, TRAIN-0007 targets without drop, TRAIN-0008 a
  // class out of range, and those of ReadNpy.
  static base::Result<MapSet> Load(const record::TrainPlan& plan);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  int64_t pixels() const { return height_ * width_; }
  int planes() const { return planes_; }
  const Encoding& encoding() const { return encoding_; }
  void set_encoding(Encoding encoding) { encoding_ = std::move(encoding); }

  // Writes planes() * pixels() floats.
  void EncodeInputs(int64_t index, int transform, std::span<float> out) const;
  // Writes pixels() floats.
  void EncodeTarget(int64_t index, int transform, std::span<float> out) const;
  // Drop in mV that one unit of network output stands for.
  double TargetUnit(int64_t index) const;
  // The target as read, mV.
  std::span<const float> Target(int64_t index) const;

 private:
  MapSet() = default;
  base::Status CheckShapes(const record::TrainPlan& plan) const;
  base::Status CheckIndices(const record::TrainPlan& plan) const;
  base::Status CheckValues(const record::TrainPlan& plan, int64_t index);
  base::Status ComputeEncoding(const std::vector<int64_t>& train_indices);
  std::span<const float> Channel(int64_t index, int64_t channel) const;

  record::FloatArray inputs_;
  record::FloatArray targets_;
  int64_t count_ = 0, channels_ = 0, height_ = 0, width_ = 0;
  int planes_ = 0;
  std::vector<int> classes_;          // by channel; 0: a quantity
  std::vector<double> mean_current_;  // by sample; 0 where the plan does not use it
  Encoding encoding_;
};

}  // namespace stepslack::train
