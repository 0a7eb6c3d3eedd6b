#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>

#include "stepslack/base/config.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/event_names.h"

namespace stepslack::trace {

extern const char* const kCollectivesToml;  // knowledge/collectives.toml, made by CMake

namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string> LowerCase(std::vector<std::string> texts) {
  for (std::string& text : texts) text = LowerCase(text);
  return texts;
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

bool Matches(const CollectiveNames::Entry& entry, std::string_view lower) {
  for (const std::string& prefix : entry.prefix) {
    if (lower.starts_with(prefix)) return true;
  }
  for (const std::string& part : entry.contains) {
    if (lower.find(part) != std::string_view::npos) return true;
  }
  return false;
}

CollectiveNames::Entry ReadEntry(base::ConfigTable& table) {
  CollectiveNames::Entry entry;
  entry.library = table.String("library");
  const std::string where = table.String("where", "any");
  entry.on_device = where == "device" || where == "any";
  entry.on_cpu = where == "cpu" || where == "any";
  if (!entry.on_device && !entry.on_cpu) {
    table.Reject("where", "`where` must be \"device\", \"cpu\" or \"any\"",
                 "kernels are on the device, spans of a CPU backend on the cpu");
  }
  entry.prefix = LowerCase(table.Strings("prefix"));
  entry.contains = LowerCase(table.Strings("contains"));
  entry.op = LowerCase(table.String("op", ""));
  const auto empty = [](const std::string& text) { return text.empty(); };
  if ((entry.prefix.empty() && entry.contains.empty()) ||
      std::any_of(entry.prefix.begin(), entry.prefix.end(), empty) ||
      std::any_of(entry.contains.begin(), entry.contains.end(), empty)) {
    table.Reject("", "a collective needs a `prefix` or `contains` that is not empty",
                 "write for example prefix = [\"mycomm_\"]");
  }
  return entry;
}

}  // namespace

CategoryKind KindOfCategory(std::string_view category) {
  static constexpr std::array<std::pair<std::string_view, CategoryKind>, 20> kKinds = {{
      {"cpu_op", CategoryKind::kOperator},
      {"python_function", CategoryKind::kPython},
      {"cuda_runtime", CategoryKind::kRuntime},
      {"kernel", CategoryKind::kKernel},
      {"user_annotation", CategoryKind::kAnnotation},
      {"gpu_user_annotation", CategoryKind::kDeviceAnnotation},
      {"gpu_memcpy", CategoryKind::kCopy},
      {"gpu_memset", CategoryKind::kSet},
      {"Operator", CategoryKind::kOperator},
      {"Kernel", CategoryKind::kKernel},
      {"Runtime", CategoryKind::kRuntime},
      {"Memcpy", CategoryKind::kCopy},
      {"Memset", CategoryKind::kSet},
      {"cuda_driver", CategoryKind::kRuntime},
      {"hip_runtime", CategoryKind::kRuntime},
      {"mtia_runtime", CategoryKind::kRuntime},
      {"concurrent_kernel", CategoryKind::kKernel},
      {"mtia_ccp_events", CategoryKind::kKernel},
      {"cuda_sync", CategoryKind::kDeviceSync},
      {"User_annotation", CategoryKind::kAnnotation},
  }};
  for (const auto& [name, kind] : kKinds) {
    if (name == category) return kind;
  }
  return CategoryKind::kOther;
}

base::Result<CollectiveNames> CollectiveNames::Parse(std::string_view toml,
                                                     std::string_view name) {
  SS_TRY(base::ConfigTable root, base::ConfigTable::Parse(toml, name));
  CollectiveNames names;
  for (base::ConfigTable* table : root.Tables("collective")) {
    names.entries_.push_back(ReadEntry(*table));
  }
  if (names.entries_.empty()) root.Reject("", "no [[collective]] table", "add one");
  SS_RETURN_IF_ERROR(root.Finish());
  return names;
}

const CollectiveNames& CollectiveNames::BuiltIn() {
  static const CollectiveNames kNames = [] {
    auto parsed = Parse(kCollectivesToml, "knowledge/collectives.toml");
    return parsed ? *parsed : CollectiveNames();
  }();
  return kNames;
}

base::Result<CollectiveNames> CollectiveNames::Load() {
  CollectiveNames names = BuiltIn();
  const char* const path = std::getenv("STEPSLACK_COLLECTIVES");
  if (path == nullptr || *path == '\0') return names;
  SS_TRY(const std::string text, base::ReadFile(path));
  SS_TRY(const CollectiveNames own, Parse(text, path));
  names.Prepend(own);
  return names;
}

void CollectiveNames::Prepend(const CollectiveNames& first) {
  entries_.insert(entries_.begin(), first.entries_.begin(), first.entries_.end());
}

const CollectiveNames::Entry* CollectiveNames::Find(std::string_view name,
                                                    bool device) const {
  const std::string lower = LowerCase(name);
  for (const Entry& entry : entries_) {
    if ((device ? entry.on_device : entry.on_cpu) && Matches(entry, lower)) {
      return &entry;
    }
  }
  return nullptr;
}

bool IsCollectiveSpan(std::string_view name, CategoryKind kind,
                      bool has_collective_args, const CollectiveNames& names) {
  if (name == "record_param_comms" || kind == CategoryKind::kDeviceAnnotation ||
      kind == CategoryKind::kRuntime || kind == CategoryKind::kPython) {
    return false;
  }
  const bool device = IsDeviceWork(kind);
  // On a GPU the kernel is the collective, the host-side "nccl:" span only its launch.
  if (has_collective_args && (device || !name.starts_with("nccl:"))) return true;
  if (device && kind != CategoryKind::kKernel) return false;
  return names.Find(name, device) != nullptr;
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
