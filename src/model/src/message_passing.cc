#include "message_passing.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

namespace stepslack::model {
namespace {

using at::Tensor;

// 1 / number of entries that point at each row; 0 where there is none.
Tensor InverseCounts(const Tensor& to, int64_t rows) {
  Tensor inverse = at::zeros({rows}, at::kFloat);
  float* values = inverse.data_ptr<float>();
  const int64_t* index = to.data_ptr<int64_t>();
  for (int64_t i = 0; i < to.numel(); ++i) values[index[i]] += 1.0F;
  for (int64_t r = 0; r < rows; ++r) {
    if (values[r] > 0) values[r] = 1.0F / values[r];
  }
  return inverse;
}

struct Entries {
  const int64_t* from;
  const int64_t* to;
  int64_t count;
};

// y[to] += scale[scaled] * x[from], row by row.
void AddRows(const Entries& entries, const int64_t* scaled, const float* scale,
             const Tensor& x, Tensor& y) {
  const int64_t width = x.size(1);
  const float* source = x.data_ptr<float>();
  float* sink = y.data_ptr<float>();
  for (int64_t i = 0; i < entries.count; ++i) {
    const float factor = scale[scaled[i]];
    const float* in = source + entries.from[i] * width;
    float* out = sink + entries.to[i] * width;
    for (int64_t k = 0; k < width; ++k) out[k] += factor * in[k];
  }
}

class MeanFunction : public torch::autograd::Function<MeanFunction> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& input,
                        const Tensor& from, const Tensor& to, int64_t rows) {
    const Tensor x = input.contiguous();
    const Tensor inverse = InverseCounts(to, rows);
    Tensor y = at::zeros({rows, x.size(1)}, x.options());
    const auto* sinks = to.data_ptr<int64_t>();
    AddRows({from.data_ptr<int64_t>(), sinks, from.numel()}, sinks,
            inverse.data_ptr<float>(), x, y);
    context->save_for_backward({from, to, inverse});
    context->saved_data["rows"] = x.size(0);
    return y;
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context, torch::autograd::variable_list outer) {
    const auto saved = context->get_saved_variables();
    const Tensor slope = outer[0].contiguous();
    Tensor input_slope = at::zeros({context->saved_data["rows"].toInt(), slope.size(1)},
                                   slope.options());
    const auto* sinks = saved[1].data_ptr<int64_t>();
    AddRows({sinks, saved[0].data_ptr<int64_t>(), saved[0].numel()}, sinks,
            saved[2].data_ptr<float>(), slope, input_slope);
    return {input_slope, Tensor(), Tensor(), Tensor()};
  }
};

base::Status Refuse(std::string what) {
  return base::Fail("MODEL-0011", base::ExitCode::kInput, std::move(what),
                    "graph batch", "number nodes and graphs from 0 without gaps");
}

// Not Refuse when every index is in [0, count).
base::Status CheckIndices(const char* name, const int64_t* indices, int64_t length,
                          int64_t count) {
  if (length > 0 && indices == nullptr)
    return Refuse(fmt::format("{} is missing", name));
  for (int64_t i = 0; i < length; ++i) {
    if (indices[i] >= 0 && indices[i] < count) continue;
    return Refuse(fmt::format("{}[{}] is {}, allowed is 0 to {}", name, i, indices[i],
                              count - 1));
  }
  return {};
}

// An index array; from_blob takes no const pointer, and it is only read.
Tensor IndexView(const int64_t* values, int64_t count) {
  if (values == nullptr) return at::zeros({count}, at::kLong);
  return at::from_blob(const_cast<int64_t*>(values), {count}, at::kLong);
}

}  // namespace

Tensor MeanInto(const Tensor& x, const Tensor& from, const Tensor& to, int64_t rows) {
  return MeanFunction::apply(x, from, to, rows);
}

Tensor CountUp(int64_t count) { return at::arange(count, at::kLong); }

base::Status CheckGraph(const GraphBatch& graph, int64_t graphs) {
  if (graph.nodes < 0 || graph.edges < 0) {
    return Refuse(fmt::format("{} nodes, {} edges", graph.nodes, graph.edges));
  }
  SS_RETURN_IF_ERROR(CheckIndices("source", graph.source, graph.edges, graph.nodes));
  SS_RETURN_IF_ERROR(CheckIndices("sink", graph.sink, graph.edges, graph.nodes));
  if (graph.graph_of_node == nullptr) {
    if (graphs <= 1 && (graphs == 1 || graph.nodes == 0)) return {};
    return Refuse(
        fmt::format("graph_of_node is missing in a batch of {} graphs", graphs));
  }
  return CheckIndices("graph_of_node", graph.graph_of_node, graph.nodes, graphs);
}

GraphTensors TensorsOf(const GraphBatch& graph, int64_t graphs) {
  return {IndexView(graph.source, graph.edges), IndexView(graph.sink, graph.edges),
          IndexView(graph.graph_of_node, graph.nodes), graphs};
}

}  // namespace stepslack::model
