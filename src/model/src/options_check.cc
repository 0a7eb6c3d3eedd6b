#include "options_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace stepslack::model {
namespace {

using base::ExitCode;

constexpr int64_t kMostParameters = int64_t{1} << 29;  // 2 GiB of float32
constexpr size_t kAlignment = 64;

// The first value that is not allowed.
class OptionCheck {
 public:
  void OneOf(const char* key, const std::string& value,
             std::initializer_list<const char*> allowed) {
    for (const char* name : allowed) {
      if (value == name) return;
    }
    Complain(
        fmt::format("{} is '{}', allowed is {}", key, value, fmt::join(allowed, ", ")));
  }
  void Between(const char* key, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return;
    Complain(fmt::format("{} is {}, allowed is {} to {}", key, value, low, high));
  }
  base::Status Finish() const {
    if (first_.empty()) return {};
    return base::Fail("MODEL-0002", ExitCode::kUsage, first_, "network options",
                      "correct the plan");
  }

 private:
  void Complain(std::string what) {
    if (first_.empty()) first_ = std::move(what);
  }
  std::string first_;
};

}  // namespace

base::Status CheckOptions(const NetworkOptions& options) {
  OptionCheck check;
  check.OneOf("architecture", options.architecture, {"unet", "fcn", "mlp", "gnn"});
  check.OneOf("stem", options.stem, {"shuffle", "plain"});
  check.OneOf("norm", options.norm, {"group", "batch", "sync_batch", "none"});
  check.OneOf("loss", options.loss, {"mae", "mse", "huber"});
  check.OneOf("precision", options.precision, {"float32", "bfloat16"});
  check.Between("input_planes", options.input_planes, 1, 1 << 16);
  check.Between("outputs", options.outputs, 1, 4096);
  check.Between("gradient_tail", options.gradient_tail, 0, 1 << 20);
  if (options.architecture == "unet") {
    check.Between("base_channels", options.base_channels, 1, 256);
    check.Between("levels", options.levels, 2, 8);
  } else {
    check.Between("the number of hidden layers",
                  static_cast<int64_t>(options.hidden.size()), 1, 64);
    for (const int width : options.hidden) check.Between("hidden", width, 1, 8192);
  }
  return check.Finish();
}

base::Status CheckSize(int64_t parameters) {
  if (parameters <= kMostParameters) return {};
  return base::Fail(
      "MODEL-0010", ExitCode::kUsage,
      fmt::format("{} parameters, allowed is {}", parameters, kMostParameters),
      "network options", "lower levels, base_channels or hidden");
}

base::Status CheckGradientMemory(const NetworkOptions& options, int64_t floats) {
  const std::span<float> memory = options.gradient_memory;
  if (memory.empty()) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (static_cast<int64_t>(memory.size()) >= floats && address % kAlignment == 0) {
    return {};
  }
  return base::Fail(
      "MODEL-0012", ExitCode::kInternal,
      fmt::format("gradient memory holds {} floats, needed are {}, aligned to {} bytes",
                  memory.size(), floats, kAlignment),
      "network options", "ask GradientFloats() for the size");
}

}  // namespace stepslack::model
