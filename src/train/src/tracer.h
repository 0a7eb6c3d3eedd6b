// Collects what a rank did in the traced steps, for the Kineto file. While training
// runs, only numbers are kept, in memory that is there beforehand; names and arguments
// are made into text by Write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/op_trace.h"
#include "stepslack/record/kineto_writer.h"

namespace stepslack::train {

class Tracer {
 public:
  // Traces steps first_step .. first_step + steps - 1.
  Tracer(int64_t first_step, int64_t steps);

  bool Covers(int64_t step) const;
  // The step before was not traced in this process: what it left is not wanted.
  bool Opens(int64_t step) const { return step != last_step_ + 1; }

  // Around a covered step, on the training thread: records its tensor operations.
  void Begin();
  void End(int64_t step, int64_t start_ns, int64_t end_ns);

  // A phase of the training thread; `name` must be a literal.
  void AddSpan(std::string_view name, int64_t start_ns, int64_t end_ns);
  // Those that were queued from `exchange_start_ns` on are the buckets of the gradient,
  // numbered in this order. Evaluations have none: pass a time after all of them.
  void AddCollectives(std::span<const comm::CollectiveRecord> records,
                      int64_t exchange_start_ns);

  // A collective is named by its transport, else by the header's backend:
  // "gloo:all_reduce".
  base::Status Write(const std::string& path, const record::TraceHeader& header) const;

 private:
  // A name that is a literal, or a step's number.
  struct Span {
    std::string_view name;  // empty: "ProfilerStep#" and the number
    int64_t step = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  struct Collective {
    comm::CollectiveRecord record;
    int64_t bucket = -1;  // -1: none
  };

  void AppendSpans(std::vector<record::TraceEvent>& events) const;
  void AppendOps(std::vector<record::TraceEvent>& events) const;
  void AppendCollectives(const record::TraceHeader& header,
                         std::vector<record::TraceEvent>& events,
                         std::vector<record::TraceFlow>& flows) const;

  int64_t first_step_;
  int64_t steps_;
  int64_t last_step_ = -2;
  std::optional<model::OpTrace> ops_;  // none when nothing is traced
  std::vector<Span> spans_;
  std::vector<Collective> collectives_;
};

}  // namespace stepslack::train
