// What the last collectives of a rank were, written as PyTorch's Flight Recorder writes
// it (JSON form, dump version 2.4), so that `stepslack measure` and PyTorch's own
// analyser can say which rank did not come to which collective.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"

namespace stepslack::comm {

struct FlightFacts {
  int rank = 0;
  int world_size = 1;
  std::string group = "0";  // the same on every rank
  std::string group_description = "world";
  std::string transport;  // "shm", "gloo"; in the operation's name
  double timeout_seconds = 60;
};

// "flight.rank3.json".
std::string FlightFileName(int rank);

// `records` have ended, oldest first (a failed one counts as in flight); `in_flight`
// have not: a start_ns of 0 means that the operation is still queued. Times of the
// records (monotonic) become wall-clock. The file is replaced as a whole. COMM-0050: it
// can not be written.
base::Status WriteFlightRecord(const std::string& path,
                               std::span<const CollectiveRecord> records,
                               std::span<const CollectiveRecord> in_flight,
                               const FlightFacts& facts);

// Calls `dump` on a thread of its own when a SIGUSR1 reaches the process; signals that
// come together count as one. At most one at a time.
class DumpOnSignal {
 public:
  explicit DumpOnSignal(std::function<void()> dump);
  ~DumpOnSignal();
  DumpOnSignal(const DumpOnSignal&) = delete;
  DumpOnSignal& operator=(const DumpOnSignal&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::comm
