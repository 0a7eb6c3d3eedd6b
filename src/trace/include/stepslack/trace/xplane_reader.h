// Reads profiles of XLA programs (JAX, TensorFlow, PyTorch/XLA; GPU and TPU): the
// XSpace message of `*.xplane.pb`, schema tsl/profiler/protobuf/xplane.proto, plain or
// gzip.
//
// Times: an event starts at its line's timestamp_ns plus its own offset_ps; the sum is
// rounded to the nearest nanosecond, half up, so that two events which touch in
// picoseconds touch in nanoseconds. Profiles are relative to the start of the session;
// when the "Task Environment" plane tells that start, it is added.
//
// Device time is counted once. A GPU plane records streams ("Stream #13(Compute)") and
// repeats them on derived lines ("Steps", "XLA Modules", "XLA Ops", "Framework Ops",
// "Framework Name Scope", ...), which are counted and left out. A TPU plane has no
// streams: its "XLA Ops" line is the device time, and ops that hold other ops of the
// line
// (`while`, `conditional`) become "gpu_user_annotation". "Async XLA Ops" run beside the
// others and are left out; what a program waits for is in the `-done` ops.
//
// Categories: "kernel", "gpu_memcpy", "gpu_memset" on devices (process = device number,
// thread and stream = stream number); on the host "cpu_op", "cuda_runtime" for launches
// that have a correlation id, "python_function" for the Python tracer ("$file.py:12
// f"), "user_annotation" named "ProfilerStep#N" for steps (StepTraceAnnotation, or else
// the device's "Steps" line).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/device_traces.h"

namespace stepslack::trace {

constexpr int64_t kXplaneHostProcess = 1'000'000;  // `process` of events on the host

struct XplaneOptions {
  int32_t first_rank = -1;  // of the first device, the others follow; -1: see below
  int64_t max_bytes = int64_t{4} << 30;  // of the inflated file
};

// One trace for each device with events, by number; a profile without device events
// gives one trace of the host. Ranks: first_rank + k, or, when that is -1, k if there
// are several devices and -1 if there is one. Steps stand in every trace, launches with
// the device that ran them, other host events in the first. Errors: BASE-0001,
// TRACE-0170 (not an XSpace), TRACE-0002 (larger than max_bytes).
base::Result<DeviceTraces> ReadXplane(const std::string& path,
                                      const XplaneOptions& options = {});
base::Result<DeviceTraces> ParseXplane(std::string_view bytes, std::string_view name,
                                       const XplaneOptions& options = {});

// True when the bytes begin with a plane that has a name, as the profiler writes them.
bool LooksLikeXplane(std::string_view bytes);

}  // namespace stepslack::trace
