#include "optimizer.h"

#include <utility>

#include "adamw.h"
#include "lamb.h"
#include "sgd.h"
#include "stepslack/base/result.h"

namespace stepslack::train {

std::unique_ptr<Optimizer> MakeOptimizer(const record::TrainPlan& plan,
                                         std::vector<model::ParameterInfo> parameters,
                                         size_t buffer_floats) {
  if (plan.optimizer == "sgd") {
    SgdOptions options;
    options.momentum = plan.momentum;
    options.weight_decay = plan.weight_decay;
    return std::make_unique<Sgd>(options, std::move(parameters), buffer_floats);
  }
  if (plan.optimizer == "lamb") {
    LambOptions options;
    options.weight_decay = plan.weight_decay;
    return std::make_unique<Lamb>(options, std::move(parameters), buffer_floats);
  }
  SS_CHECK(plan.optimizer == "adamw");
  AdamWOptions options;
  options.weight_decay = plan.weight_decay;
  return std::make_unique<AdamW>(options, std::move(parameters), buffer_floats);
}

}  // namespace stepslack::train
