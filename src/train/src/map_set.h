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

#include "row_shards.h"
#include "sample_source.h"
#include "stepslack/base/result.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// Constants computed from the training samples only.
struct Encoding {
  std::vector<double> channel_scale;  // 1 / mean |value| of a quantity; else 1
  double target_scale = 1;            // mean of drop / mean current
  friend bool operator==(const Encoding&, const Encoding&) = default;
};

class MapSet : public SampleSource {
 public:
  // Maps and checks everything a rank needs. Errors: TRAIN-0003 shapes, TRAIN-0004 and
  // TRAIN-0005, TRAIN-0006 a mean current that is not positive, TRAIN-0007 targets
  // without drop, TRAIN-0008 a class out of range, and those of RowShards.
  static base::Result<MapSet> Load(const record::TrainPlan& plan);

  int64_t size() const override { return inputs_.rows(); }
  int planes() const override { return planes_; }
  int64_t height() const override { return height_; }
  int64_t width() const override { return width_; }
  int Transforms(bool turns) const override;
  SampleSize Size(int64_t index) const override;
  base::Status Encode(int64_t index, int transform,
                      const SampleSlot& slot) const override;
  base::Json Facts() const override;
  void Decode(int64_t index, std::span<const float> output,
              std::span<float> prediction) const override;
  void AddErrors(int64_t index, std::span<const float> output,
                 ErrorSums& sums) const override;
  std::vector<int64_t> PredictionShape(std::span<const int64_t> indices) const override;

  int64_t pixels() const { return height_ * width_; }
  const Encoding& encoding() const { return encoding_; }

  // Writes planes() * pixels() floats.
  void EncodeInputs(int64_t index, int transform, std::span<float> out) const;
  // Writes pixels() floats.
  void EncodeTarget(int64_t index, int transform, std::span<float> out) const;
  // Drop in mV that one unit of network output stands for.
  double TargetUnit(int64_t index) const;

 private:
  MapSet(RowShards inputs, RowShards targets);
  base::Status CheckValues(const record::TrainPlan& plan, int64_t index);
  base::Status ComputeEncoding(const record::TrainPlan& plan);
  // One channel of a sample as read.
  std::span<const float> Channel(std::span<const float> sample, int64_t channel) const;

  RowShards inputs_;
  RowShards targets_;
  int64_t channels_, height_, width_;
  int planes_ = 0;
  std::vector<int> classes_;          // by channel; 0: a quantity
  std::vector<double> mean_current_;  // by sample; 0 where the plan does not use it
  Encoding encoding_;
};

}  // namespace stepslack::train
