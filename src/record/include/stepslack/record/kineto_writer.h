// Writes a rank's trace in the JSON dialect of PyTorch's Kineto, so that Perfetto and
// Holistic Trace Analysis open it: "X" events, ts and dur in microseconds with three
// decimals, `baseTimeNanoseconds`, `distributedInfo`, steps as "ProfilerStep#N".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::record {

struct TraceEvent {
  std::string name;  // "gloo:all_reduce", "forward", "ProfilerStep#12", "aten::conv2d"
  std::string category;  // "user_annotation", "cpu_op"
  int64_t start_ns = 0;  // monotonic clock
  int64_t duration_ns = 0;
  int64_t thread = 0;  // 1: training thread, 2: communication thread
  base::Json::Object args;
};

// An arrow from a slice on one thread to a slice on another, drawn by Perfetto: each
// end binds to the slice of its thread that covers its time.
struct TraceFlow {
  int64_t id = 0;  // unique in the file
  int64_t from_thread = 0;
  int64_t from_ns = 0;  // monotonic clock
  int64_t to_thread = 0;
  int64_t to_ns = 0;
};

struct TraceHeader {
  int rank = 0;
  int world_size = 1;
  std::string backend;       // "gloo"
  int64_t base_time_ns = 0;  // subtracted from every event
};

// Collective events carry args "Collective name", "In msg nelems", "dtype", "Group
// size", "Seq" and "Process Group Name" as PyTorch does. Written gzip-compressed and
// atomically. HTA finds the rank by the text `"rank": N`, with its blank.
base::Status WriteKinetoTrace(const std::string& path, const TraceHeader& header,
                              const std::vector<TraceEvent>& events,
                              const std::vector<TraceFlow>& flows = {});

// One trace of many processes, written event by event, so that memory does not follow
// its size. Gzip-compressed when the path ends in ".gz"; the same calls give the same
// bytes. The file appears under its name in Finish() and not before; a stream that is
// dropped leaves nothing behind. A path that is a device or a pipe is written directly.
class KinetoStream {
 public:
  struct Span {
    int64_t process = 0;
    int64_t thread = 0;
    std::string_view category;
    std::string_view name;
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
    const base::Json::Object* args = nullptr;  // null or empty: none
  };

  // `base_time_ns` is subtracted from every start and stated in the file. `facts` are
  // further members of the root. Errors: RENDER-0153 (cannot write).
  static base::Result<KinetoStream> Open(const std::string& path, int64_t base_time_ns,
                                         const base::Json::Object& facts = {});
  KinetoStream(KinetoStream&&) noexcept;
  KinetoStream& operator=(KinetoStream&&) noexcept;
  ~KinetoStream();

  // Metadata for viewers: names, and the place of a process among the others.
  void NameProcess(int64_t process, std::string_view name, int64_t sort_index);
  void NameThread(int64_t process, int64_t thread, std::string_view name,
                  int64_t sort_index);
  void Add(const Span& span);

  // Closes the file; gives its bytes. A write that did not succeed is reported here:
  // RENDER-0154 (cannot write).
  base::Result<int64_t> Finish();

 private:
  struct State;
  explicit KinetoStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::record
