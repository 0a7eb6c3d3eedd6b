#include "table_set.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace stepslack::train {
namespace {

constexpr int64_t kMostColumns = 1 << 20;

base::Status CheckShapes(const record::TrainPlan& plan, const RowShards& inputs,
                         const RowShards& targets) {
  const auto& in = inputs.shape();
  const auto& out = targets.shape();
  const std::string where = plan.inputs_path + ", " + plan.targets_path;
  if (in.size() != 2 || out.size() > 2) {
    return base::Fail("TRAIN-0052", base::ExitCode::kInput,
                      "inputs of shape " + ShapeText(in) + " and targets of shape " +
                          ShapeText(out) + " are no table",
                      where, "inputs are [n, features], targets [n, outputs] or [n]");
  }
  if (in[0] != out[0] || in[0] == 0) {
    return base::Fail("TRAIN-0300", base::ExitCode::kInput,
                      "there are " + std::to_string(in[0]) + " rows of inputs and " +
                          std::to_string(out[0]) + " rows of targets",
                      where,
                      "every row of inputs has one row of targets; at least one");
  }
  for (const RowShards* rows : {&inputs, &targets}) {
    if (rows->row_size() >= 1 && rows->row_size() <= kMostColumns) continue;
    return base::Fail("TRAIN-0301", base::ExitCode::kInput,
                      "a row has " + std::to_string(rows->row_size()) + " columns",
                      rows == &inputs ? plan.inputs_path : plan.targets_path,
                      "give 1 to " + std::to_string(kMostColumns) + " columns");
  }
  if (plan.categorical_channels.empty()) return {};
  return base::Fail("TRAIN-0302", base::ExitCode::kUsage,
                    "categorical_channels do not go with a table", plan.inputs_path,
                    "leave them out; encode classes as columns of 0 and 1");
}

}  // namespace

TableSet::TableSet(RowShards inputs, RowShards targets)
    : inputs_(std::move(inputs)),
      targets_(std::move(targets)),
      features_(static_cast<int>(inputs_.row_size())),
      targets_scale_(static_cast<int>(targets_.row_size())) {}

base::Result<TableSet> TableSet::Load(const record::TrainPlan& plan) {
  SS_TRY(RowShards inputs, RowShards::Open(plan.inputs_path));
  SS_TRY(RowShards targets, RowShards::Open(plan.targets_path));
  SS_RETURN_IF_ERROR(CheckShapes(plan, inputs, targets));
  SS_RETURN_IF_ERROR(CheckRoles(plan, inputs.rows()));
  TableSet set(std::move(inputs), std::move(targets));
  SS_RETURN_IF_ERROR(set.CheckValues(plan));
  set.ComputeScales(plan);
  return set;
}

base::Status TableSet::CheckValues(const record::TrainPlan& plan) const {
  std::vector<float> scratch;
  for (const auto* list :
       {&plan.train_indices, &plan.validation_indices, &plan.test_indices}) {
    for (int64_t index : *list) {
      const std::string place = ", row " + std::to_string(index);
      SS_RETURN_IF_ERROR(
          CheckFinite(inputs_.Row(index, scratch), plan.inputs_path + place));
      SS_RETURN_IF_ERROR(
          CheckFinite(targets_.Row(index, scratch), plan.targets_path + place));
    }
  }
  return {};
}

void TableSet::ComputeScales(const record::TrainPlan& plan) {
  std::vector<float> scratch;
  for (int64_t index : SortedTrainIndices(plan)) {
    features_.Add(inputs_.Row(index, scratch));
    targets_scale_.Add(targets_.Row(index, scratch));
  }
  features_.Finish();
  targets_scale_.Finish();
}

SampleSize TableSet::Size(int64_t /*index*/) const {
  return {inputs_.row_size(), targets_.row_size(), 0, 0};
}

base::Status TableSet::Encode(int64_t index, int /*transform*/,
                              const SampleSlot& slot) const {
  std::vector<float> scratch;
  features_.Encode(inputs_.Row(index, scratch), slot.inputs);
  if (slot.targets.empty()) return {};
  targets_scale_.Encode(targets_.Row(index, scratch), slot.targets);
  return {};
}

base::Json TableSet::Facts() const {
  base::Json json;
  json.Set("kind", "table");
  json.Set("features", features_.ToJson());
  json.Set("targets", targets_scale_.ToJson());
  return json;
}

void TableSet::Decode(int64_t /*index*/, std::span<const float> output,
                      std::span<float> prediction) const {
  DecodeRows(targets_scale_, output, prediction);
}

void TableSet::AddErrors(int64_t index, std::span<const float> output,
                         ErrorSums& sums) const {
  std::vector<float> scratch;
  AddScaledErrors(targets_scale_, output, targets_.Row(index, scratch), sums);
}

std::vector<int64_t> TableSet::PredictionShape(std::span<const int64_t> indices) const {
  return {static_cast<int64_t>(indices.size()), targets_.row_size()};
}

void DecodeRows(const ColumnScale& scale, std::span<const float> output,
                std::span<float> prediction) {
  const auto columns = static_cast<size_t>(scale.columns());
  for (size_t i = 0; i < output.size(); ++i) {
    prediction[i] = static_cast<float>(scale.Decode(i % columns, output[i]));
  }
}

void AddScaledErrors(const ColumnScale& scale, std::span<const float> output,
                     std::span<const float> target, ErrorSums& sums) {
  const auto columns = static_cast<size_t>(scale.columns());
  for (size_t i = 0; i < output.size(); ++i) {
    const size_t column = i % columns;
    const auto truth = static_cast<double>(target[i]);
    const double error = std::fabs(scale.Decode(column, output[i]) - truth);
    sums.error[column] += error;
    sums.magnitude[column] += std::fabs(truth);
    sums.loss += error / scale.deviation(column);
  }
  sums.values += static_cast<double>(output.size());
}

}  // namespace stepslack::train
