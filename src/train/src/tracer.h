// Collects what a rank did in the traced steps, for the Kineto file.
#pragma once

#include <cstdint>
#include <string>
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
  bool empty() const { return events_.empty(); }

  // A phase of the training thread.
  void AddSpan(std::string name, int64_t start_ns, int64_t end_ns);
  // Tensor operations of one step; at most kMaxOps in all, the rest is counted.
  void AddOps(const std::vector<model::OpEvent>& ops, int64_t dropped);
  void AddCollectives(const std::vector<comm::CollectiveRecord>& records,
                      std::string_view transport, int world_size);

  // Room left for operations, so that recording can stop at the cap.
  int64_t ops_left() const { return kMaxOps - ops_; }

  base::Status Write(const std::string& path, const record::TraceHeader& header) const;

 private:
  static constexpr int64_t kMaxOps = 40'000;
  int64_t first_step_;
  int64_t steps_;
  int64_t ops_ = 0;
  int64_t dropped_ops_ = 0;
  std::vector<record::TraceEvent> events_;
};

}  // namespace stepslack::train
