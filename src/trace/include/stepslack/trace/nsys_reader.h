// Reads the SQLite files that Nsight Systems exports (`nsys export --type sqlite`). The
// tables are those of "SQLite Export Schema Reference" in NVIDIA's nsys-exporter pages.
// They differ by version and are written only when they have rows, so a missing table
// or column is normal; what is not known is left alone.
//
//   CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   "kernel", "gpu_memcpy", "gpu_memset"
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE                "kernel" named "CUDA graph N": CUDA
//       graphs are recorded as one span by default; not used when their nodes are there
//   CUPTI_ACTIVITY_KIND_RUNTIME                    "cuda_runtime", "cuda_driver"
//   NVTX_EVENTS, push-pop (59) and start-end (60)  "user_annotation"; "cpu_op" for
//   NCCL's
//       own domain and for the operators of PyTorch's emit_nvtx ("aten::",
//       "autograd::")
//   StringIds, TARGET_INFO_*                       names, host, devices, session start
//
// Times are nanoseconds since the start of the session; the session's UTC time is added
// when it is there. Device events have process = device number, thread = stream; host
// events the system's numbers. A collective kernel gets the message size from the NCCL
// range around its launch, when there is one. Offsets in ImportStats are row numbers.
//
// The file is opened read-only and immutable: nothing is written beside it. Bounded:
// views and virtual tables are not read, and work is limited by the size of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/device_traces.h"

namespace stepslack::trace {

struct NsysOptions {
  int32_t first_rank = -1;  // of the first trace, the others follow; -1: 0, or none
};

// One trace for each process and device with device events: with one process per rank
// every process may call its device 0. Order: by physical GPU when the file tells which
// and no two share one, else by device number when all differ, else by process. Without
// device events, one trace for each process. Launches stand with the device that ran
// them, other host events in the first trace of their process.
// Errors: TRACE-0172 (not readable as SQLite), TRACE-0173 (no table of Nsight Systems),
// TRACE-0174 (damaged, nothing could be read), TRACE-0175 (more work than its size
// allows).
base::Result<DeviceTraces> ReadNsysExport(const std::string& path,
                                          const NsysOptions& options = {});

// Any SQLite database; only its tables tell whether Nsight Systems wrote it.
bool LooksLikeSqlite(std::string_view bytes);

}  // namespace stepslack::trace
