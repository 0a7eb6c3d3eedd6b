#include "data_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/record/mapped_array.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::Fail;
using Shape = std::vector<int64_t>;

std::string ShapeText(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Of all shards together.
base::Result<Shape> JoinedShape(const std::string& path) {
  SS_TRY(const std::vector<std::string> files, record::ListShards(path, ".npy"));
  Shape joined;
  for (const std::string& file : files) {
    SS_TRY(const record::MappedArray shard, record::MapNpy(file));
    const Shape& shape = shard.shape();
    if (joined.empty()) joined.assign(shape.size(), 0);
    const bool first = &file == &files.front();
    if (first && !shape.empty()) std::copy(shape.begin(), shape.end(), joined.begin());
    const bool same = !shape.empty() && shape.size() == joined.size() &&
                      std::equal(shape.begin() + 1, shape.end(), joined.begin() + 1);
    if (!same) {
      return Fail("TRAIN-0310", ExitCode::kInput,
                  fmt::format("shape {} has no rows, or rows unlike {} of the first "
                              "shard",
                              ShapeText(shape), ShapeText(joined)),
                  file, "all shards are [rows, ...] with the same rest");
    }
    if (!first) joined[0] += shape[0];
  }
  return joined;
}

bool FitsModel(std::string_view model, const Shape& inputs, const Shape& targets) {
  if (model == "mlp") return inputs.size() == 2 && targets.size() <= 2;
  return inputs.size() == 4 && targets.size() == 3 && inputs[2] == targets[1] &&
         inputs[3] == targets[2];
}

}  // namespace

base::Status CheckArrayShapes(const TrainJob& job) {
  const std::string& model = job.plan.model;
  if (job.data.targets.empty() || model == "gnn") return {};  // read as graphs
  SS_TRY(const Shape inputs, JoinedShape(job.data.inputs));
  SS_TRY(const Shape targets, JoinedShape(job.data.targets));
  const std::string where = job.data.inputs + ", " + job.data.targets;
  if (!FitsModel(model, inputs, targets)) {
    return Fail("TRAIN-0311", ExitCode::kInput,
                fmt::format("inputs of shape {} and targets of shape {} are not what "
                            "the model {} takes",
                            ShapeText(inputs), ShapeText(targets), model),
                where,
                model == "mlp"
                    ? "inputs are [n, features], targets [n, outputs] or [n]"
                    : "inputs are [n, channels, height, width], targets [n, height, "
                      "width]; for tables set name = \"mlp\" under [model]");
  }
  if (inputs[0] == targets[0]) return {};
  return Fail("TRAIN-0312", ExitCode::kInput,
              fmt::format("there are {} inputs and {} targets", inputs[0], targets[0]),
              where, "every row of inputs has one row of targets");
}

base::Status CheckBatch(const TrainJob& job) {
  const auto samples = static_cast<int64_t>(job.plan.train_indices.size());
  if (job.plan.global_batch <= samples) return {};
  return Fail("TRAIN-0313", ExitCode::kUsage,
              fmt::format("a batch of {} is larger than the {} training samples",
                          job.plan.global_batch, samples),
              job.file, "lower global_batch under [train], or give more data");
}

}  // namespace stepslack::study
