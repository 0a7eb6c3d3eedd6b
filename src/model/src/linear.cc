#include "linear.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

namespace stepslack::model {
namespace {

using at::Tensor;

// Carries what the backward pass needs through autograd's own container.
struct LinearHandle : torch::CustomClassHolder {
  LinearHandle(const LinearCall& call_in, ParameterStore& store_in)
      : call(call_in), store(store_in) {}
  LinearCall call;
  ParameterStore& store;
};

Tensor ForProduct(const LinearCall& call, const Tensor& tensor) {
  return call.bfloat16 ? tensor.to(at::kBFloat16) : tensor;
}

void AddWeightGradient(LinearHandle& handle, const Tensor& slope, const Tensor& x) {
  Tensor gradient = handle.store.gradient(handle.call.weights);
  const bool overwrite = handle.store.TakeStale(handle.call.weights);
  if (handle.call.bfloat16) {
    const Tensor product = at::mm(slope.t(), x);
    overwrite ? gradient.copy_(product) : gradient.add_(product);
  } else {
    gradient.addmm_(slope.t(), x, overwrite ? 0 : 1, 1);
  }
}

void AddShiftGradient(LinearHandle& handle, const Tensor& slope) {
  Tensor gradient = handle.store.gradient(handle.call.shift);
  const Tensor sum = slope.sum(0);
  handle.store.TakeStale(handle.call.shift) ? gradient.copy_(sum) : gradient.add_(sum);
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& input,
                        const Tensor& weights, const Tensor& shift,
                        const c10::intrusive_ptr<LinearHandle>& handle) {
    const LinearCall& call = handle->call;
    const Tensor x = ForProduct(call, input);
    context->save_for_backward({x, weights});
    context->saved_data["handle"] = c10::IValue::make_capsule(handle);
    context->saved_data["input_slope"] = input.requires_grad();
    if (!call.bfloat16 && call.biased) return at::addmm(shift, x, weights.t());
    Tensor y = at::mm(x, ForProduct(call, weights).t()).to(at::kFloat);
    if (call.biased) y.add_(shift);
    return y;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list outer) {
    const auto saved = context->get_saved_variables();
    const auto handle = c10::static_intrusive_pointer_cast<LinearHandle>(
        context->saved_data["handle"].toCapsule());
    const Tensor slope = ForProduct(handle->call, outer[0].contiguous());
    if (handle->call.biased) AddShiftGradient(*handle, outer[0]);
    AddWeightGradient(*handle, slope, saved[0]);
    Tensor input_slope;
    if (context->saved_data["input_slope"].toBool()) {
      input_slope = at::mm(slope, ForProduct(handle->call, saved[1])).to(at::kFloat);
    }
    // No gradient for the parameters: they have theirs, and autograd still announces
    // that it is complete.
    return {input_slope, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor Linear(const Tensor& input, const LinearCall& call, ParameterStore& store) {
  // Autograd takes no undefined input.
  const Tensor shift =
      call.biased ? store.value(call.shift) : at::empty({0}, at::kFloat);
  return LinearFunction::apply(input, store.value(call.weights), shift,
                               c10::make_intrusive<LinearHandle>(call, store));
}

}  // namespace stepslack::model
