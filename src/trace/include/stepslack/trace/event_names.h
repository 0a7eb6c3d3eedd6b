// What the words in a trace mean: categories of events, and the names of communication.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::trace {

// Old (2021), new, NVIDIA, AMD and MTIA spellings of an event's `cat`.
enum class CategoryKind {
  kKernel,            // "kernel", "Kernel", "concurrent_kernel", "mtia_ccp_events"
  kCopy,              // "gpu_memcpy", "Memcpy"
  kSet,               // "gpu_memset", "Memset"
  kDeviceAnnotation,  // "gpu_user_annotation": a twin on the device of a CPU span
  kDeviceSync,        // "cuda_sync": a wait, not work
  kRuntime,           // "cuda_runtime", "Runtime", "cuda_driver", "hip_runtime"
  kOperator,          // "cpu_op", "Operator"
  kAnnotation,        // "user_annotation"
  kPython,            // "python_function"
  kOther
};
CategoryKind KindOfCategory(std::string_view category);

// A copy, set or kernel: what keeps a device busy.
inline bool IsDeviceWork(CategoryKind kind) {
  return kind == CategoryKind::kKernel || kind == CategoryKind::kCopy ||
         kind == CategoryKind::kSet;
}

// knowledge/collectives.toml: which names are communication.
class CollectiveNames {
 public:
  // The table that is built in, behind the one of the file that the environment
  // variable STEPSLACK_COLLECTIVES names. A file that can not be used is an error
  // (CONF-000x, TRACE-0004).
  static base::Result<CollectiveNames> Load();
  static base::Result<CollectiveNames> Parse(std::string_view toml,
                                             std::string_view name);
  static const CollectiveNames& BuiltIn();

  struct Entry {
    std::string library;
    bool on_device = false;
    bool on_cpu = false;
    std::vector<std::string> prefix;    // lower case
    std::vector<std::string> contains;  // lower case
    std::string op;                     // empty: read from the name
  };
  // The entry of a span with this name on the device or the CPU, or null.
  const Entry* Find(std::string_view name, bool device) const;

  // Asks `first` before this one.
  void Prepend(const CollectiveNames& first);

 private:
  std::vector<Entry> entries_;
};

// True for spans that are themselves a collective on the timeline: with collective
// arguments, or named as one by a library ("gloo:all_reduce", "ncclDevKernel_...").
// The bookkeeping twins ("record_param_comms", gpu_user_annotation) are not.
bool IsCollectiveSpan(std::string_view name, CategoryKind kind,
                      bool has_collective_args, const CollectiveNames& names);

// "gloo:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce" to
// "all_reduce"; other names in lower case.
std::string CanonicalCollectiveName(std::string_view name);

// Bytes of one element: "Float" and "float32" 4, "BFloat16" 2, ...; 0 when not known.
int64_t ElementBytes(std::string_view dtype);

}  // namespace stepslack::trace
