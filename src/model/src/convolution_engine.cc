#include "convolution_engine.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <map>
#include <utility>
#include <vector>

#include "convolution_plan.h"

namespace stepslack::model {
namespace {

using at::Tensor;

// Shapes kept per layer: training, evaluation, and the last short batch of each.
constexpr size_t kPlansOfALayer = 4;

// Carries what the backward pass needs through autograd's own container.
struct ConvolutionHandle : torch::CustomClassHolder {
  ConvolutionHandle(std::shared_ptr<const ConvolutionPlan> plan_in, size_t kernel_in,
                    ParameterStore& store_in, dnnl::stream stream_in)
      : plan(std::move(plan_in)),
        kernel(kernel_in),
        store(store_in),
        stream(std::move(stream_in)) {}
  // Shared with the engine, which may forget a shape while its graph still lives.
  std::shared_ptr<const ConvolutionPlan> plan;
  size_t kernel;
  ParameterStore& store;
  dnnl::stream stream;
};

class ConvolutionFunction : public torch::autograd::Function<ConvolutionFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& input,
                        const Tensor& kernel,
                        const c10::intrusive_ptr<ConvolutionHandle>& handle) {
    RECORD_FUNCTION("stepslack::convolution", c10::ArrayRef<const c10::IValue>());
    const ConvolutionPlan& plan = *handle->plan;
    const ConvolutionShape& shape = plan.shape();
    const Tensor x = input.contiguous();
    const Tensor packed = at::empty({plan.packed_input_floats()}, x.options());
    plan.PackInput(handle->stream, x.data_ptr<float>(), packed.data_ptr<float>());
    Tensor y =
        at::empty({shape.samples, shape.out, shape.height, shape.width}, x.options());
    plan.Forward(handle->stream, packed.data_ptr<float>(), kernel.data_ptr<float>(),
                 y.data_ptr<float>());
    context->save_for_backward({packed, kernel});
    context->saved_data["handle"] = c10::IValue::make_capsule(handle);
    context->saved_data["input_slope"] = input.requires_grad();
    return y;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list outer) {
    RECORD_FUNCTION("stepslack::convolution_backward",
                    c10::ArrayRef<const c10::IValue>());
    const auto saved = context->get_saved_variables();
    const auto handle = c10::static_intrusive_pointer_cast<ConvolutionHandle>(
        context->saved_data["handle"].toCapsule());
    const ConvolutionShape& shape = handle->plan->shape();
    const Tensor slope = outer[0].contiguous();
    Tensor input_slope;
    if (context->saved_data["input_slope"].toBool()) {
      input_slope = at::empty({shape.samples, shape.in, shape.height, shape.width},
                              slope.options());
    }
    Tensor gradient = handle->store.gradient(handle->kernel);
    const bool overwrite = handle->store.TakeStale(handle->kernel);
    const Tensor fresh =
        overwrite ? gradient : at::empty(gradient.sizes(), gradient.options());
    handle->plan->Backward(
        handle->stream, saved[0].data_ptr<float>(), saved[1].data_ptr<float>(),
        slope.data_ptr<float>(),
        input_slope.defined() ? input_slope.data_ptr<float>() : nullptr,
        fresh.data_ptr<float>());
    if (!overwrite) gradient.add_(fresh);
    return {input_slope, Tensor(), Tensor()};
  }
};

class OneDnnEngine final : public ConvolutionEngine {
 public:
  Tensor Apply(size_t kernel, const Tensor& input, ParameterStore& store) override {
    const Tensor& weights = store.value(kernel);
    const ConvolutionShape shape{input.size(0), input.size(1), weights.size(0),
                                 input.size(2), input.size(3)};
    return ConvolutionFunction::apply(
        input, weights,
        c10::make_intrusive<ConvolutionHandle>(PlanOf(kernel, shape), kernel, store,
                                               stream_));
  }

 private:
  std::shared_ptr<const ConvolutionPlan> PlanOf(size_t kernel,
                                                const ConvolutionShape& shape) {
    auto& plans = plans_[kernel];
    for (const auto& plan : plans) {
      if (plan->shape() == shape) return plan;
    }
    if (plans.size() == kPlansOfALayer) plans.erase(plans.begin());
    plans.push_back(std::make_shared<const ConvolutionPlan>(engine_, shape));
    return plans.back();
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<size_t, std::vector<std::shared_ptr<const ConvolutionPlan>>> plans_;
};

}  // namespace

std::unique_ptr<ConvolutionEngine> ConvolutionEngine::Create() {
  return std::make_unique<OneDnnEngine>();
}

}  // namespace stepslack::model
