// What the names of an XLA profile mean: planes, lines, ops. The names are those of
// tsl/profiler/utils/xplane_schema.cc.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::trace {

struct XlaDevice {
  char kind = 'G';  // GPU or TPU
  int32_t number = 0;
  // clang-tidy 14 takes the defaulted comparison for a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const XlaDevice&, const XlaDevice&) = default;
};

// "/device:GPU:0", "/device:TPU:3", "/gpu:0 (...)". The sparse cores of a TPU are units
// of their own and not meant.
std::optional<XlaDevice> ParseXlaDevice(std::string_view plane);
bool IsXlaHostPlane(std::string_view plane);  // with events of the program
bool IsXlaPlaneName(std::string_view plane);  // any that the profiler writes

struct XlaLineUse {
  std::vector<bool> counted;  // for each line: its events are device time
  bool nested_ops = false;    // the counted line is "XLA Ops", which nests
};
// Of the lines with events of one device plane, so that no time is counted twice.
XlaLineUse ChooseXlaLines(std::span<const std::string_view> lines);

// "Stream #13(Compute)" to 13; 0 for a line of ops; otherwise the line's id when small.
int32_t XlaStream(std::string_view line, int64_t id);

std::string_view XlaDeviceCategory(
    std::string_view name);  // "kernel", "gpu_memcpy", ..

// "all-reduce.3", "%all-gather-done = ..." to "all_reduce", "all_gather". None for
// other ops. On a TPU `-start` only issues the transfer and is none either; the kernel
// of a GPU library carries the op that started it (`also_start`).
std::optional<std::string> XlaCollective(std::string_view op, bool also_start = false);

bool IsLaunchApi(std::string_view name);  // "cuLaunchKernel", "hipModuleLaunchKernel"

}  // namespace stepslack::trace
