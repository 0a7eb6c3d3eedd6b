// Reads traces in the JSON dialect of PyTorch's Kineto, plain or gzip-compressed, our
// own (`record/kineto_writer.h`) included: the root is an object with `traceEvents`, or
// the array of events itself.
//
// Times are taken from the decimal text straight to int64 ns, never through a double:
// `ts` and `dur` are microseconds as an integer, with decimals, or as a string;
// `baseTimeNanoseconds` is added. Digits below a nanosecond are rounded half away from
// 0.
//
// Events with `ph` X are kept, pairs of B and E are joined, others are counted by their
// phase. A text `tid` or `pid` gets a negative number of its own. A malformed event is
// counted with the offset of the first one and skipped; an input that ends inside (also
// a gzip stream that does) gives what came before, with `truncated` set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/trace/byte_source.h"
#include "stepslack/trace/event_names.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::trace {

// What of a trace is kept one event at a time.
enum class ReadDetail {
  kAll,      // every complete event
  kMeasure,  // device work, launches, annotations, phases and communication; operators
             // only as the union of their time, Python frames not at all
};

struct ReadOptions {
  int32_t rank = -1;  // used when the file does not say; -1: none
  ReadDetail detail = ReadDetail::kAll;
  const CollectiveNames* names = nullptr;  // null: the built-in table
};

// The text is read once, in pieces: memory follows the events that are kept.
// Errors: TRACE-0001 (not a trace), TRACE-0003 (not readable).
base::Result<EventStore> ReadKineto(ByteSource& source, std::string_view name,
                                    const ReadOptions& options = {});
base::Result<EventStore> ReadKinetoTrace(const std::string& path,
                                         const ReadOptions& options = {});
base::Result<EventStore> ParseKinetoTrace(std::string_view text, std::string_view name,
                                          const ReadOptions& options = {});

}  // namespace stepslack::trace
