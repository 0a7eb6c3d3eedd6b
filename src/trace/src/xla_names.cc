#include "xla_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

constexpr std::string_view kOps = "XLA Ops";
constexpr std::array<std::string_view, 12> kDerivedLines = {"Steps",
                                                            "XLA Modules",
                                                            "Async XLA Ops",
                                                            "Framework Ops",
                                                            "Launch Stats",
                                                            "Source code",
                                                            "Framework Name Scope",
                                                            "TensorFlow Ops",
                                                            "_counters_",
                                                            "Host Offload Ops",
                                                            "TensorFlow Name Scope",
                                                            "Tensor Core Sync Flag"};

bool IsDerived(std::string_view line) {
  return line == kOps || line.starts_with("Sparse Core") ||
         std::ranges::find(kDerivedLines, line) != kDerivedLines.end();
}

bool StartsWithNoCase(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char a, char b) {
                      return a == std::tolower(static_cast<unsigned char>(b));
                    });
}

// The digits that `text` begins with.
std::string_view Digits(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && text[size] >= '0' && text[size] <= '9') ++size;
  return text.substr(0, size);
}

std::optional<int32_t> SmallNumber(std::string_view digits) {
  const std::optional<int64_t> number = base::ParseInt(digits);
  if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
  return static_cast<int32_t>(*number);
}

}  // namespace

std::optional<XlaDevice> ParseXlaDevice(std::string_view plane) {
  for (const auto& [prefix, kind] :
       std::array<std::pair<std::string_view, char>, 4>{{{"/device:GPU:", 'G'},
                                                         {"/device:TPU:", 'T'},
                                                         {"/gpu:", 'G'},
                                                         {"/tpu:", 'T'}}}) {
    if (!plane.starts_with(prefix)) continue;
    std::string_view rest = plane.substr(prefix.size());
    const std::string_view digits = Digits(rest);
    rest.remove_prefix(digits.size());
    const std::optional<int32_t> number = SmallNumber(digits);
    if (number && (rest.empty() || rest.starts_with(" ("))) {
      return XlaDevice{kind, *number};
    }
  }
  return std::nullopt;
}

bool IsXlaHostPlane(std::string_view plane) {
  return plane.starts_with("/host:") && plane != "/host:metadata" &&
         plane != "/host:tfstreamz";
}

bool IsXlaPlaneName(std::string_view plane) {
  constexpr std::array<std::string_view, 4> kOthers = {"Task Environment", "Host CPUs",
                                                       "Syscalls", "GPU Counters"};
  return plane.starts_with("/host:") || plane.starts_with("/device:") ||
         plane.starts_with("/gpu:") || plane.starts_with("/tpu:") ||
         std::ranges::find(kOthers, plane) != kOthers.end();
}

XlaLineUse ChooseXlaLines(std::span<const std::string_view> lines) {
  const auto is_stream = [](std::string_view line) {
    return line.starts_with("Stream");
  };
  XlaLineUse use;
  const bool streams = std::ranges::any_of(lines, is_stream);
  use.nested_ops = !streams && std::ranges::find(lines, kOps) != lines.end();
  for (const std::string_view line : lines) {
    use.counted.push_back(streams          ? is_stream(line)
                          : use.nested_ops ? line == kOps
                                           : !IsDerived(line));
  }
  return use;
}

int32_t XlaStream(std::string_view line, int64_t id) {
  if (line == kOps) return 0;
  const size_t hash = line.find('#');
  if (line.starts_with("Stream") && hash != std::string_view::npos) {
    if (const auto number = SmallNumber(Digits(line.substr(hash + 1)))) return *number;
  }
  return id >= 0 && id <= 1'000'000 ? static_cast<int32_t>(id) : 0;
}

std::string_view XlaDeviceCategory(std::string_view name) {
  for (const std::string_view prefix :
       {"memcpy", "hipmemcpy", "copydeviceto", "copyhostto"}) {
    if (StartsWithNoCase(name, prefix)) return "gpu_memcpy";
  }
  for (const std::string_view prefix : {"memset", "hipmemset", "filldevice"}) {
    if (StartsWithNoCase(name, prefix)) return "gpu_memset";
  }
  return "kernel";
}

std::optional<std::string> XlaCollective(std::string_view op, bool also_start) {
  constexpr std::array<std::string_view, 7> kCollectives = {
      "all-reduce",        "all-gather",         "reduce-scatter",      "all-to-all",
      "ragged-all-to-all", "collective-permute", "collective-broadcast"};
  if (op.starts_with('%')) op.remove_prefix(1);
  op = op.substr(0, op.find_first_of(". =("));
  if (op.ends_with("-start") && !also_start) return std::nullopt;
  std::string_view found;
  for (const std::string_view collective : kCollectives) {
    if (op.starts_with(collective)) found = collective;
  }
  if (op == "send-done" || op == "recv-done") found = op.substr(0, 4);
  if (found.empty()) return std::nullopt;
  std::string name(found);
  std::ranges::replace(name, '-', '_');
  return name;
}

bool IsLaunchApi(std::string_view name) {
  const size_t prefix = name.starts_with("hip")    ? 3
                        : name.starts_with("cuda") ? 4
                        : name.starts_with("cu")   ? 2
                                                   : 0;
  return prefix > 0 && name.size() > prefix && name[prefix] >= 'A' &&
         name[prefix] <= 'Z';
}

}  // namespace stepslack::trace
