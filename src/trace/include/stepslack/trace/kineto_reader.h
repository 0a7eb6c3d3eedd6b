// Reads traces in the JSON dialect of PyTorch's Kineto, plain or gzip-compressed, our
// own
// (`record/kineto_writer.h`) included: the root is an object with `traceEvents`, or the
// array of events itself.
//
// Times are taken from the decimal text straight to int64 ns, never through a double:
// `ts` and `dur` are microseconds as an integer, with decimals, or as a string;
// `baseTimeNanoseconds` is added. Digits below a nanosecond are rounded half away from
// 0.
//
// Events with `ph` X are kept, others are counted by their phase. A text `tid` or `pid`
// gets a negative number of its own. A malformed event is counted with the offset of
// the first one and skipped; an input that ends inside (also a gzip stream that does)
// gives what came before, with `truncated` set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::trace {

struct ReadOptions {
  int32_t rank = -1;                     // used when the file does not say; -1: none
  int64_t max_bytes = int64_t{8} << 30;  // of the inflated text
};

// Errors: BASE-0001, TRACE-0001 (not a trace), TRACE-0002 (larger than max_bytes).
base::Result<EventStore> ReadKinetoTrace(const std::string& path,
                                         const ReadOptions& options = {});
base::Result<EventStore> ParseKinetoTrace(std::string_view text, std::string_view name,
                                          const ReadOptions& options = {});

// True for spans that are themselves a collective on the timeline: with collective
// arguments, or named as one by a library ("gloo:all_reduce", "ncclDevKernel_...").
// The bookkeeping twins ("record_param_comms", gpu_user_annotation) are not.
bool IsCollectiveSpan(std::string_view name, std::string_view category,
                      bool has_collective_args);

// "gloo:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce" to
// "all_reduce"; other names in lower case.
std::string CanonicalCollectiveName(std::string_view name);

// Bytes of one element: "Float" and "float32" 4, "BFloat16" 2, ...; 0 when not known.
int64_t ElementBytes(std::string_view dtype);

}  // namespace stepslack::trace
