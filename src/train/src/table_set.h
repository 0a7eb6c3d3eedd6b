// Rows of a table: float features in, float outputs out, both standardised by the
// training rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "column_scale.h"
#include "row_shards.h"
#include "sample_source.h"
#include "stepslack/base/result.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

class TableSet : public SampleSource {
 public:
  // inputs_path [n, features], targets_path [n, outputs] or [n]. Errors: TRAIN-0052
  // shapes, TRAIN-0300 numbers of rows, TRAIN-0301 of columns, TRAIN-0302 classes,
  // TRAIN-0004 and TRAIN-0005, and those of RowShards.
  static base::Result<TableSet> Load(const record::TrainPlan& plan);

  int64_t size() const override { return inputs_.rows(); }
  int planes() const override { return features_.columns(); }
  int outputs() const override { return targets_scale_.columns(); }
  SampleSize Size(int64_t index) const override;
  base::Status Encode(int64_t index, int transform,
                      const SampleSlot& slot) const override;
  base::Json Facts() const override;
  void Decode(int64_t index, std::span<const float> output,
              std::span<float> prediction) const override;
  void AddErrors(int64_t index, std::span<const float> output,
                 ErrorSums& sums) const override;
  std::vector<int64_t> PredictionShape(std::span<const int64_t> indices) const override;

 private:
  TableSet(RowShards inputs, RowShards targets);
  base::Status CheckValues(const record::TrainPlan& plan) const;
  void ComputeScales(const record::TrainPlan& plan);

  RowShards inputs_;
  RowShards targets_;
  ColumnScale features_;
  ColumnScale targets_scale_;
};

// Adds the errors of `output`, rows of scale.columns() values in network units, against
// `target` in its own unit.
void AddScaledErrors(const ColumnScale& scale, std::span<const float> output,
                     std::span<const float> target, ErrorSums& sums);
void DecodeRows(const ColumnScale& scale, std::span<const float> output,
                std::span<float> prediction);

}  // namespace stepslack::train
