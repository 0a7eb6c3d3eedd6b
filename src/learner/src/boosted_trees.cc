#include "boosted_trees.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace stepslack::learner {
namespace {

using base::ExitCode;

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};
using MatrixHandle = std::unique_ptr<void, FreeMatrix>;
using BoosterHandle = std::unique_ptr<void, FreeBooster>;

base::Status Checked(int status, const char* where) {
  if (status == 0) return {};
  const std::string message = XGBGetLastError();
  return base::Fail("LEARN-0005", ExitCode::kEnvironment,
                    fmt::format("XGBoost says: {}", message.substr(0, 200)), where,
                    "this is not expected of valid tables; check the installed "
                    "libxgboost and the memory left");
}

// XGBoost refuses infinities; its cut points double the largest value.
std::vector<float> WithoutInfinities(const std::vector<float>& values) {
  constexpr float kLargest = std::numeric_limits<float>::max() / 8;
  std::vector<float> out(values);
  for (float& value : out) {
    if (!std::isnan(value)) value = std::clamp(value, -kLargest, kLargest);
  }
  return out;
}

base::Result<MatrixHandle> ToXgboost(const Matrix& matrix) {
  const std::vector<float> values = WithoutInfinities(matrix.values);
  const std::string array = fmt::format(
      R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
      reinterpret_cast<uintptr_t>(values.data()), matrix.rows, matrix.columns);
  void* handle = nullptr;
  SS_RETURN_IF_ERROR(
      Checked(XGDMatrixCreateFromDense(array.c_str(),
                                       R"({"missing": NaN, "nthread": 1})", &handle),
              "matrix"));
  return MatrixHandle(handle);
}

// Labels on a scale of 1: XGBoost compares gains with absolute constants, and a label
// may be of the order of 1e-12 s.
struct LabelScale {
  double centre = 0;
  double deviation = 1;  // 0: all labels are equal
};

LabelScale ScaleOf(std::span<const double> labels, Task task) {
  if (task == Task::kBinary) return {};
  const double rows = static_cast<double>(labels.size());
  double largest = 0;
  for (double y : labels) largest = std::max(largest, std::abs(y));
  if (largest == 0) return {0, 0};
  double mean = 0;
  for (double y : labels) mean += y / largest / rows;
  double squares = 0;
  for (double y : labels) squares += (y / largest - mean) * (y / largest - mean) / rows;
  return {mean * largest, std::sqrt(squares) * largest};
}

base::Status SetOptions(void* booster, const LearnerOptions& options) {
  const bool binary = options.task == Task::kBinary;
  const std::vector<std::pair<const char*, std::string>> settings = {
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", binary ? "binary:logistic" : "reg:squarederror"},
      {"base_score", binary ? "0.5" : "0"},
      {"max_depth", fmt::format("{}", options.depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"lambda", fmt::format("{}", options.l2)},
      {"seed", fmt::format("{}", options.seed & 0x7fffffff)},
      {"nthread", "1"},
      {"verbosity", "0"}};
  for (const auto& [name, value] : settings) {
    SS_RETURN_IF_ERROR(Checked(XGBoosterSetParam(booster, name, value.c_str()), name));
  }
  return {};
}

base::Result<std::vector<double>> Predict(void* booster, void* test, int64_t rows,
                                          const LabelScale& scale) {
  const char* config =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0,
          "strict_shape": false})";
  bst_ulong const* shape = nullptr;
  bst_ulong dimensions = 0;
  float const* values = nullptr;
  SS_RETURN_IF_ERROR(Checked(
      XGBoosterPredictFromDMatrix(booster, test, config, &shape, &dimensions, &values),
      "predict"));
  std::vector<double> out(values, values + rows);
  for (double& value : out) value = scale.centre + scale.deviation * value;
  return out;
}

}  // namespace

base::Result<std::vector<double>> BoostedTrees(const Matrix& train,
                                               std::span<const double> labels,
                                               const Matrix& test,
                                               const LearnerOptions& options) {
  const LabelScale scale = ScaleOf(labels, options.task);
  if (!(scale.deviation > 0)) {
    return std::vector<double>(static_cast<size_t>(test.rows), scale.centre);
  }
  // Of this thread; before the first call that may speak.
  SS_RETURN_IF_ERROR(Checked(XGBSetGlobalConfig(R"({"verbosity": 0})"), "verbosity"));
  SS_TRY(const MatrixHandle rows, ToXgboost(train));
  SS_TRY(const MatrixHandle unseen, ToXgboost(test));
  std::vector<float> targets;
  targets.reserve(labels.size());
  for (double y : labels) {
    targets.push_back(static_cast<float>((y - scale.centre) / scale.deviation));
  }
  SS_RETURN_IF_ERROR(Checked(
      XGDMatrixSetFloatInfo(rows.get(), "label", targets.data(), targets.size()),
      "label"));
  const DMatrixHandle cached[] = {rows.get()};
  void* raw = nullptr;
  SS_RETURN_IF_ERROR(Checked(XGBoosterCreate(cached, 1, &raw), "booster"));
  const BoosterHandle booster(raw);
  SS_RETURN_IF_ERROR(SetOptions(booster.get(), options));
  for (int round = 0; round < options.rounds; ++round) {
    SS_RETURN_IF_ERROR(
        Checked(XGBoosterUpdateOneIter(booster.get(), round, rows.get()), "training"));
  }
  return Predict(booster.get(), unseen.get(), test.rows, scale);
}

}  // namespace stepslack::learner
