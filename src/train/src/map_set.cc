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
std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace

base::Result<MapSet> MapSet::Load(const record::TrainPlan& plan) {
  MapSet set;
  SS_TRY(set.inputs_, record::ReadNpy(plan.inputs_path));
  SS_TRY(set.targets_, record::ReadNpy(plan.targets_path));
  SS_RETURN_IF_ERROR(set.CheckShapes(plan));
  set.count_ = set.inputs_.shape[0];
  set.channels_ = set.inputs_.shape[1];
  set.height_ = set.inputs_.shape[2];
  set.width_ = set.inputs_.shape[3];
  set.classes_.assign(static_cast<size_t>(set.channels_), 0);
  for (size_t i = 0; i < plan.categorical_channels.size(); ++i) {
    set.classes_[static_cast<size_t>(plan.categorical_channels[i])] =
        plan.category_counts[i];
  }
  set.planes_ = 1;  // the current
  for (size_t channel = 1; channel < set.classes_.size(); ++channel) {
    set.planes_ += set.classes_[channel] > 0 ? set.classes_[channel] : kQuantityPlanes;
  }
  SS_RETURN_IF_ERROR(set.CheckIndices(plan));
  set.mean_current_.assign(static_cast<size_t>(set.count_), 0.0);
  for (const auto* list :
       {&plan.train_indices, &plan.validation_indices, &plan.test_indices}) {
    for (int64_t index : *list) SS_RETURN_IF_ERROR(set.CheckValues(plan, index));
  }
  SS_RETURN_IF_ERROR(set.ComputeEncoding(plan.train_indices));
  return set;
}

base::Status MapSet::CheckShapes(const record::TrainPlan& plan) const {
  const auto refuse = [&](std::string what) -> base::Status {
    return base::Fail("TRAIN-0003", ExitCode::kInput, std::move(what),
                      plan.inputs_path + ", " + plan.targets_path,
                      "inputs are [n, channels, height, width], targets [n, height, "
                      "width]");
  };
  const auto& in = inputs_.shape;
  const auto& out = targets_.shape;
  if (in.size() != 4 || out.size() != 3) {
    return refuse("inputs of shape " + ShapeText(in) + " and targets of shape " +
                  ShapeText(out));
  }
  if (inputs_.size() == 0) return refuse("there are no maps: shape " + ShapeText(in));
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

base::Status MapSet::CheckIndices(const record::TrainPlan& plan) const {
  constexpr std::string_view kValidation = "validation";
  constexpr std::string_view kTest = "test";
  std::vector<std::string_view> role(static_cast<size_t>(count_));
  const auto claim = [&](const std::vector<int64_t>& list,
                         std::string_view name) -> base::Status {
    for (int64_t index : list) {
      const bool inside = index >= 0 && index < count_;
      std::string_view& taken = role[static_cast<size_t>(inside ? index : 0)];
      // Validation maps may be predicted as well: their residuals calibrate intervals.
      const bool predicted_too = taken == kValidation && name == kTest;
      if (inside && (taken.empty() || predicted_too)) {
        taken = name;
        continue;
      }
      std::string what = std::string(name) + " index " + std::to_string(index);
      what += inside ? " is already a " + std::string(taken) + " index"
                     : " is outside 0 to " + std::to_string(count_ - 1);
      return base::Fail("TRAIN-0004", ExitCode::kInput, std::move(what),
                        plan.inputs_path,
                        "every sample has one role; only validation ones may be "
                        "predicted as well");
    }
    return {};
  };
  SS_RETURN_IF_ERROR(claim(plan.train_indices, "train"));
  SS_RETURN_IF_ERROR(claim(plan.validation_indices, kValidation));
  return claim(plan.test_indices, kTest);
}

base::Status MapSet::CheckValues(const record::TrainPlan& plan, int64_t index) {
  const std::string where = plan.inputs_path + ", sample " + std::to_string(index);
  const auto finite = [](std::span<const float> values) {
    return std::all_of(values.begin(), values.end(),
                       [](float value) { return std::isfinite(value); });
  };
  bool all_finite = finite(Target(index));
  for (int64_t channel = 0; channel < channels_; ++channel) {
    const std::span<const float> values = Channel(index, channel);
    all_finite = all_finite && finite(values);
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
  if (!all_finite) {
    return base::Fail("TRAIN-0005", ExitCode::kInput,
                      "a value is not finite (NaN or infinite)", where,
                      "clean the data set: `stepslack data clean`");
  }
  double sum = 0;
  for (float value : Channel(index, 0)) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(pixels());
  if (!(mean > 0)) {
    return base::Fail("TRAIN-0006", ExitCode::kInput,
                      "the mean current is not positive, so it can not scale the drop",
                      where, "leave the sample out, or check channel 0");
  }
  mean_current_[static_cast<size_t>(index)] = mean;
  return {};
}

base::Status MapSet::ComputeEncoding(const std::vector<int64_t>& train_indices) {
  // Sums in index order, so that the order of the list in the plan does not matter.
  std::vector<int64_t> sorted = train_indices;
  std::sort(sorted.begin(), sorted.end());
  const double points =
      static_cast<double>(sorted.size()) * static_cast<double>(pixels());
  encoding_.channel_scale.assign(static_cast<size_t>(channels_), 1.0);
  for (int64_t channel = 1; channel < channels_; ++channel) {
    if (classes_[static_cast<size_t>(channel)] > 0) continue;
    double sum = 0;
    for (int64_t index : sorted) {
      for (float value : Channel(index, channel)) {
        sum += std::fabs(static_cast<double>(value));
      }
    }
    if (sum > 0) encoding_.channel_scale[static_cast<size_t>(channel)] = points / sum;
  }
  double drop = 0;
  for (int64_t index : sorted) {
    double sum = 0;
    for (float value : Target(index)) sum += static_cast<double>(value);
    drop += sum / mean_current_[static_cast<size_t>(index)];
  }
  encoding_.target_scale = drop / points;
  if (!(encoding_.target_scale > 0)) {
    return base::Fail("TRAIN-0007", ExitCode::kInput,
                      "the training targets have no positive mean drop", "targets",
                      "check targets_path and its unit (mV)");
  }
  return {};
}

std::span<const float> MapSet::Channel(int64_t index, int64_t channel) const {
  const auto size = static_cast<size_t>(pixels());
  const auto at = static_cast<size_t>(index * channels_ + channel) * size;
  return std::span(inputs_.values).subspan(at, size);
}

std::span<const float> MapSet::Target(int64_t index) const {
  const auto size = static_cast<size_t>(pixels());
  return std::span(targets_.values).subspan(static_cast<size_t>(index) * size, size);
}

double MapSet::TargetUnit(int64_t index) const {
  return mean_current_[static_cast<size_t>(index)] * encoding_.target_scale;
}

void MapSet::EncodeTarget(int64_t index, int transform, std::span<float> out) const {
  const auto factor = static_cast<float>(1.0 / TargetUnit(index));
  ApplyDihedral(transform, height_, width_, Target(index).data(), out.data());
  for (float& value : out.first(static_cast<size_t>(pixels()))) value *= factor;
}

void MapSet::EncodeInputs(int64_t index, int transform, std::span<float> out) const {
  const auto size = static_cast<size_t>(pixels());
  float* plane = out.data();
  const auto factor =
      static_cast<float>(1.0 / mean_current_[static_cast<size_t>(index)]);
  ApplyDihedral(transform, height_, width_, Channel(index, 0).data(), plane);
  for (size_t i = 0; i < size; ++i) plane[i] *= factor;
  std::vector<float> turned(size);
  for (int64_t channel = 1; channel < channels_; ++channel) {
    ApplyDihedral(transform, height_, width_, Channel(index, channel).data(),
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

}  // namespace stepslack::train
