#include "batch_norm.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>

#include "batch_norm_math.h"

namespace stepslack::model {
namespace {

using at::Tensor;

// Carries a pointer through autograd's own container of saved values. The network owns
// the function and outlives every graph.
struct SumHandle : torch::CustomClassHolder {
  explicit SumHandle(const SumOverRanks* sum_in) : sum(sum_in) {}
  const SumOverRanks* sum;
};

void AddUp(const SumOverRanks* sum, std::vector<double>& values) {
  if (sum == nullptr || !*sum) return;
  const base::Status status = (*sum)(values);
  // Autograd offers no other way out of a backward pass; Network turns it back into
  // the Error.
  if (!status.has_value()) throw RankSumFailure(status.error());
}

ChannelView ViewOf(const Tensor& tensor) {
  ChannelView view;
  view.samples = tensor.size(0);
  view.channels = tensor.size(1);
  view.inner =
      view.samples == 0
          ? 0
          : tensor.numel() / (view.samples * std::max<int64_t>(1, tensor.size(1)));
  return view;
}

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& input,
                        const Tensor& gain, const Tensor& shift, const Tensor& mean,
                        const Tensor& variance, const SumOverRanks* sum, bool relu) {
    const Tensor x = input.contiguous();
    const ChannelView view = ViewOf(x);
    const auto channels = static_cast<size_t>(view.channels);
    std::vector<double> sums(2 * channels + 1, 0.0);
    SumMoments(view, x.data_ptr<float>(), sums);
    sums.back() = static_cast<double>(view.samples * view.inner);
    AddUp(sum, sums);
    ChannelMoments moments = MomentsOf(sums);
    UpdateRunning(moments, {mean.data_ptr<float>(), channels},
                  {variance.data_ptr<float>(), channels});
    Tensor output = at::empty_like(x);
    const ChannelScale scale =
        ScaleOf(moments, gain.data_ptr<float>(), shift.data_ptr<float>(), relu);
    Normalise(view, scale, x.data_ptr<float>(), output.data_ptr<float>());
    context->save_for_backward({x, gain, shift});
    context->saved_data["relu"] = relu;
    context->saved_data["mean"] = std::move(moments.mean);
    context->saved_data["inverse"] = std::move(moments.inverse);
    context->saved_data["count"] = moments.count;
    context->saved_data["sum"] =
        c10::IValue::make_capsule(c10::make_intrusive<SumHandle>(sum));
    return output;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list outer) {
    const auto saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor slope = outer[0].contiguous();
    const ChannelView view = ViewOf(x);
    ChannelMoments moments;
    moments.mean = context->saved_data["mean"].toDoubleVector();
    moments.inverse = context->saved_data["inverse"].toDoubleVector();
    moments.count = context->saved_data["count"].toDouble();
    const auto handle = c10::static_intrusive_pointer_cast<SumHandle>(
        context->saved_data["sum"].toCapsule());
    const auto channels = static_cast<size_t>(view.channels);
    const ChannelScale scale =
        ScaleOf(moments, saved[1].data_ptr<float>(), saved[2].data_ptr<float>(),
                context->saved_data["relu"].toBool());
    std::vector<double> sums(2 * channels, 0.0);
    SumSlopes(view, moments, scale, x.data_ptr<float>(), slope.data_ptr<float>(), sums);
    Tensor gain_slope = at::zeros({view.channels}, x.options());
    Tensor shift_slope = at::zeros({view.channels}, x.options());
    for (size_t c = 0; c < channels; ++c) {
      shift_slope.data_ptr<float>()[c] = static_cast<float>(sums[c]);
      gain_slope.data_ptr<float>()[c] = static_cast<float>(sums[channels + c]);
    }
    AddUp(handle->sum, sums);
    Tensor input_slope = at::empty_like(x);
    BackPropagate(view, moments, scale, sums, x.data_ptr<float>(),
                  slope.data_ptr<float>(), input_slope.data_ptr<float>());
    return {input_slope, gain_slope, shift_slope, Tensor(),
            Tensor(),    Tensor(),   Tensor()};
  }
};

}  // namespace

Tensor BatchNorm(const Tensor& input, const BatchNormState& state,
                 const SumOverRanks* sum, bool relu) {
  return BatchNormFunction::apply(input, state.gain, state.shift, state.mean,
                                  state.variance, sum, relu);
}

Tensor BatchNormOfRunning(const Tensor& input, const BatchNormState& state) {
  constexpr double kUnused = 0.1;  // momentum: nothing is updated
  return at::batch_norm(input, state.gain, state.shift, state.mean, state.variance,
                        false, kUnused, kNormEpsilon, false);
}

}  // namespace stepslack::model
