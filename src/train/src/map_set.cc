#include "map_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dihedral.h"

namespace stepslack::train {
namespace {

using base::ExitCode;

constexpr int kMaxClasses = 64;
// Planes that a quantity other than the current becomes: itself and its logarithm,
// which spreads small values (distances next to a pad).
constexpr int kQuantityPlanes = 2;

base::Status CheckShapes(const record::TrainPlan& plan, const std::vector<int64_t>& in,
                         const std::vector<int64_t>& out) {
  const auto refuse = [&](std::string what) -> base::Status {
    return base::Fail("TRAIN-0003", ExitCode::kInput, std::move(what),
                      plan.inputs_path + ", " + plan.targets_path,
                      "inputs are [n, channels, height, width], targets [n, height, "
                      "width]");
  };
  if (in.size() != 4 || out.size() != 3) {
    return refuse("inputs of shape " + ShapeText(in) + " and targets of shape " +
                  ShapeText(out));
  }
  if (std::find(in.begin(), in.end(), 0) != in.end()) {
    return refuse("there are no maps: shape " + ShapeText(in));
  }
  if (in[0] != out[0] || in[2] != out[1] || in[3] != out[2]) {
    return refuse("inputs " + ShapeText(in) + " and targets " + ShapeText(out) +
                  " do not belong together");
  }
  for (size_t i = 0; i < plan.categorical_channels.size(); ++i) {
    const int channel = plan.categorical_channels[i];
    const int classes = plan.category_counts[i];
    if (channel < 1 || channel >= in[1] || classes < 1 || classes > kMaxClasses) {
      return refuse("categorical channel " + std::to_string(channel) + " with " +
                    std::to_string(classes) + " classes, but there are channels 1 to " +
                    std::to_string(in[1] - 1) + " and at most " +
                    std::to_string(kMaxClasses) + " classes");
    }
  }
  return {};
}

}  // namespace

MapSet::MapSet(RowShards inputs, RowShards targets)
    : inputs_(std::move(inputs)),
      targets_(std::move(targets)),
      channels_(inputs_.shape()[1]),
      height_(inputs_.shape()[2]),
      width_(inputs_.shape()[3]),
      classes_(static_cast<size_t>(channels_)),
      mean_current_(static_cast<size_t>(inputs_.rows())) {}

base::Result<MapSet> MapSet::Load(const record::TrainPlan& plan) {
  SS_TRY(RowShards inputs, RowShards::Open(plan.inputs_path));
  SS_TRY(RowShards targets, RowShards::Open(plan.targets_path));
  SS_RETURN_IF_ERROR(CheckShapes(plan, inputs.shape(), targets.shape()));
  MapSet set(std::move(inputs), std::move(targets));
  for (size_t i = 0; i < plan.categorical_channels.size(); ++i) {
    set.classes_[static_cast<size_t>(plan.categorical_channels[i])] =
        plan.category_counts[i];
  }
  set.planes_ = 1;  // the current
  for (size_t channel = 1; channel < set.classes_.size(); ++channel) {
    set.planes_ += set.classes_[channel] > 0 ? set.classes_[channel] : kQuantityPlanes;
  }
  SS_RETURN_IF_ERROR(CheckRoles(plan, set.size()));
  for (const auto* list :
       {&plan.train_indices, &plan.validation_indices, &plan.test_indices}) {
    for (int64_t index : *list) SS_RETURN_IF_ERROR(set.CheckValues(plan, index));
  }
  SS_RETURN_IF_ERROR(set.ComputeEncoding(plan));
  return set;
}

base::Status MapSet::CheckValues(const record::TrainPlan& plan, int64_t index) {
  const std::string where = plan.inputs_path + ", sample " + std::to_string(index);
  std::vector<float> scratch;
  SS_RETURN_IF_ERROR(CheckFinite(targets_.Row(index, scratch), where));
  const std::span<const float> sample = inputs_.Row(index, scratch);
  SS_RETURN_IF_ERROR(CheckFinite(sample, where));
  for (int64_t channel = 0; channel < channels_; ++channel) {
    const std::span<const float> values = Channel(sample, channel);
    const auto classes = static_cast<float>(classes_[static_cast<size_t>(channel)]);
    if (classes <= 0) continue;
    const bool known = std::all_of(values.begin(), values.end(), [&](float value) {
      return value >= 0 && value < classes && value == std::floor(value);
    });
    if (!known) {
      return base::Fail(
          "TRAIN-0008", ExitCode::kInput,
          "channel " + std::to_string(channel) + " has a value that is no class index",
          where, "check category_counts and the data");
    }
  }
  double sum = 0;
  for (float value : Channel(sample, 0)) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(pixels());
  if (!(mean > 0)) {
    return base::Fail("TRAIN-0006", ExitCode::kInput,
                      "the mean current is not positive, so it can not scale the drop",
                      where, "leave the sample out, or check channel 0");
  }
  mean_current_[static_cast<size_t>(index)] = mean;
  return {};
}

base::Status MapSet::ComputeEncoding(const record::TrainPlan& plan) {
  const std::vector<int64_t> sorted = SortedTrainIndices(plan);
  const double points =
      static_cast<double>(sorted.size()) * static_cast<double>(pixels());
  std::vector<double> sums(static_cast<size_t>(channels_));
  double drop = 0;
  std::vector<float> scratch;
  for (int64_t index : sorted) {  // one pass: the data may be larger than memory
    const std::span<const float> sample = inputs_.Row(index, scratch);
    for (int64_t channel = 1; channel < channels_; ++channel) {
      if (classes_[static_cast<size_t>(channel)] > 0) continue;
      for (float value : Channel(sample, channel)) {
        sums[static_cast<size_t>(channel)] += std::fabs(static_cast<double>(value));
      }
    }
    double sum = 0;
    for (float value : targets_.Row(index, scratch)) sum += static_cast<double>(value);
    drop += sum / mean_current_[static_cast<size_t>(index)];
  }
  for (double sum : sums) {
    encoding_.channel_scale.push_back(sum > 0 ? points / sum : 1.0);
  }
  encoding_.target_scale = drop / points;
  if (!(encoding_.target_scale > 0)) {
    return base::Fail("TRAIN-0007", ExitCode::kInput,
                      "the training targets have no positive mean drop", "targets",
                      "check targets_path and its unit (mV)");
  }
  return {};
}

std::span<const float> MapSet::Channel(std::span<const float> sample,
                                       int64_t channel) const {
  const auto size = static_cast<size_t>(pixels());
  return sample.subspan(static_cast<size_t>(channel) * size, size);
}

double MapSet::TargetUnit(int64_t index) const {
  return mean_current_[static_cast<size_t>(index)] * encoding_.target_scale;
}

void MapSet::EncodeTarget(int64_t index, int transform, std::span<float> out) const {
  const auto factor = static_cast<float>(1.0 / TargetUnit(index));
  std::vector<float> scratch;
  ApplyDihedral(transform, height_, width_, targets_.Row(index, scratch).data(),
                out.data());
  for (float& value : out.first(static_cast<size_t>(pixels()))) value *= factor;
}

void MapSet::EncodeInputs(int64_t index, int transform, std::span<float> out) const {
  const auto size = static_cast<size_t>(pixels());
  std::vector<float> scratch;
  const std::span<const float> sample = inputs_.Row(index, scratch);
  float* plane = out.data();
  const auto factor =
      static_cast<float>(1.0 / mean_current_[static_cast<size_t>(index)]);
  ApplyDihedral(transform, height_, width_, Channel(sample, 0).data(), plane);
  for (size_t i = 0; i < size; ++i) plane[i] *= factor;
  std::vector<float> turned(size);
  for (int64_t channel = 1; channel < channels_; ++channel) {
    ApplyDihedral(transform, height_, width_, Channel(sample, channel).data(),
                  turned.data());
    const int classes = classes_[static_cast<size_t>(channel)];
    const auto scale =
        static_cast<float>(encoding_.channel_scale[static_cast<size_t>(channel)]);
    for (int c = 0; c < classes; ++c) {
      plane += size;
      const auto wanted = static_cast<float>(c);
      for (size_t i = 0; i < size; ++i) plane[i] = turned[i] == wanted ? 1.0F : 0.0F;
    }
    if (classes > 0) continue;
    plane += size;
    for (size_t i = 0; i < size; ++i) plane[i] = turned[i] * scale;
    const float* quantity = plane;
    plane += size;
    for (size_t i = 0; i < size; ++i) {
      plane[i] = std::copysign(std::log1p(std::fabs(quantity[i])), quantity[i]);
    }
  }
}

int MapSet::Transforms(bool turns) const {
  return turns ? DihedralCount(height_, width_) : kFlipCount;
}

SampleSize MapSet::Size(int64_t /*index*/) const {
  return {planes_ * pixels(), pixels(), 0, 0};
}

base::Status MapSet::Encode(int64_t index, int transform,
                            const SampleSlot& slot) const {
  EncodeInputs(index, transform, slot.inputs);
  if (!slot.targets.empty()) EncodeTarget(index, transform, slot.targets);
  return {};
}

base::Json MapSet::Facts() const {
  const std::vector<double>& scale = encoding_.channel_scale;
  base::Json json;
  json.Set("kind", "map");
  json.Set("channel_scale", base::Json(base::Json::Array(scale.begin(), scale.end())));
  json.Set("target_scale", encoding_.target_scale);
  return json;
}

void MapSet::Decode(int64_t index, std::span<const float> output,
                    std::span<float> prediction) const {
  const double unit = TargetUnit(index);
  std::transform(output.begin(), output.end(), prediction.begin(), [unit](float value) {
    return static_cast<float>(static_cast<double>(value) * unit);
  });
}

void MapSet::AddErrors(int64_t index, std::span<const float> output,
                       ErrorSums& sums) const {
  const double unit = TargetUnit(index);
  std::vector<float> scratch;
  const std::span<const float> target = targets_.Row(index, scratch);
  double error = 0;
  double magnitude = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    const auto truth = static_cast<double>(target[i]);
    error += std::fabs(static_cast<double>(output[i]) * unit - truth);
    magnitude += std::fabs(truth);
  }
  sums.error[0] += error;
  sums.magnitude[0] += magnitude;
  sums.loss += error / unit;
  sums.values += static_cast<double>(output.size());
}

std::vector<int64_t> MapSet::PredictionShape(std::span<const int64_t> indices) const {
  return {static_cast<int64_t>(indices.size()), height_, width_};
}

}  // namespace stepslack::train
