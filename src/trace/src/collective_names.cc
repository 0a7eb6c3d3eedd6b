#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "stepslack/base/text.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Spellings without separators, longest first where one contains another.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSpellings = {{
    {"reducescatter", "reduce_scatter"},
    {"allreduce", "all_reduce"},
    {"allgather", "all_gather"},
    {"alltoall", "all_to_all"},
    {"sendrecv", "send_recv"},
    {"broadcast", "broadcast"},
    {"barrier", "barrier"},
    {"gather", "gather"},
    {"scatter", "scatter"},
    {"reduce", "reduce"},
    {"send", "send"},
    {"recv", "recv"},
}};

}  // namespace

bool IsCollectiveSpan(std::string_view name, std::string_view category,
                      bool has_collective_args) {
  if (name == "record_param_comms" || category == "gpu_user_annotation") return false;
  if (has_collective_args) return true;
  if (name.starts_with("gloo:") || name.starts_with("mpi:") ||
      name.starts_with("shm:") || name.starts_with("ucc:")) {
    return true;
  }
  // On a GPU the kernel is the collective, the host-side "nccl:" span only its launch.
  const bool kernel = category == "kernel" || category == "Kernel";
  return kernel &&
         (name.starts_with("ncclKernel") || name.starts_with("ncclDevKernel"));
}

std::string CanonicalCollectiveName(std::string_view name) {
  std::string lower = LowerCase(name);
  std::string squeezed;
  for (const char c : lower) {
    if (c != '_' && c != '-' && c != ' ') squeezed.push_back(c);
  }
  for (const auto& [spelling, canonical] : kSpellings) {
    if (squeezed.find(spelling) != std::string::npos) return std::string(canonical);
  }
  return lower;
}

int64_t ElementBytes(std::string_view dtype) {
  const std::string lower = LowerCase(dtype);
  const auto is = [&lower](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), lower) != names.end();
  };
  if (is({"double", "float64", "f64", "long", "int64", "i64", "uint64",
          "complexfloat"})) {
    return 8;
  }
  if (is({"float", "float32", "f32", "int", "int32", "i32", "uint32"})) return 4;
  if (is({"half", "float16", "f16", "bfloat16", "bf16", "short", "int16"})) return 2;
  if (is({"byte", "char", "uint8", "int8", "u8", "i8", "bool", "float8_e4m3fn",
          "float8_e5m2"})) {
    return 1;
  }
  return 0;
}

}  // namespace stepslack::trace
